import { AccessError, ArgumentError, DisposedError, host, LayoutError } from "@samepage/interop";
import { Python, PythonError, type PythonObject } from "@samepage/interop/python";
import { any, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const HOST = { contexts: [host] } as const;

const wrong = (argument: string, message: RegExp, hint?: RegExp, api = "python"): Failure => (
  { error: ArgumentError, api, argument, message, ...(hint === undefined ? {} : { hint }) }
);
const raises = (message: RegExp, type: RegExp, fn = "PyObject_CallObject"): Failure => (
  { error: PythonError, api: "python", fn, message, has: { type, traceback: /.*/ } }
);
const VALUES = /Pass numbers, texts/;

/** A row with the interpreter. */
function opened(use: (python: Python) => unknown, fails?: Failure, says?: readonly string[]): Row {
  return {
    run: () => use(Python.open()),
    ...(fails === undefined ? {} : { fails }),
    ...(says === undefined ? {} : { says }),
  };
}

/** A row with an object of Python's. */
function holding(
  code: string,
  use: (object: PythonObject, python: Python) => unknown,
  fails?: Failure,
  says?: readonly string[],
): Row {
  return opened(
    async (python) => {
      using object = python.run<PythonObject>(code);
      await use(object, python);
    },
    fails,
    says,
  );
}

export default table(import.meta, {
  "options that are none": { run: () => Python.open(any(5)), fails: wrong("options", /an object/, undefined, "core") },
  "an unknown option": {
    run: () => Python.open(any({ venv: "x" })),
    fails: wrong("options", /unknown property venv/, /library, home, path/, "core"),
  },
  "a home that is not a text": { run: () => Python.open(any({ home: 1 })), fails: wrong("home", /expected a string/) },
  "folders that are not strings": {
    run: () => Python.open(any({ path: [1] })),
    fails: wrong("path[0]", /expected a string/),
  },
  "folders as one string": {
    run: () => Python.open(any({ path: "/opt/modules" })),
    fails: wrong("path", /an array of folders, got a string/),
  },
  "a second library": opened(
    () => Python.open({ library: "libother.so" }),
    wrong("library", /is open, and a process has one Python/),
  ),
  "a second home": opened(
    () => Python.open({ home: "/tmp" }),
    wrong("home", /another Python is open already/, /Leave home out/),
  ),
  "a home that does not exist, later": opened(
    () => Python.open({ home: "/nonexistent" }),
    wrong("home", /another Python is open already/, /Leave home out/),
  ),
  "code that is not a text": opened((python) => python.run(any(5)), wrong("code", /expected a string/)),
  "code that is not Python": opened((python) => python.run("1 +"), raises(/SyntaxError/, /SyntaxError/)),
  "code with a zero in it": opened((python) => python.run("1\0"), wrong("code", /has a zero inside/)),
  "values that are not an object": opened(
    (python) => python.run("1", any(5)),
    wrong("values", /an object/, undefined, "core"),
  ),
  "a function for a value": opened(
    (python) => python.run("1", any({ f: () => {} })),
    wrong("values.f", /Python has no value for a function/, VALUES),
  ),
  "a tensor for a value": opened((python) => {
    using tensor = host.allocate({ shape: [1], dtype: "u8" });
    python.run("1", any({ tensor }));
  }, wrong("values.tensor", /Python has no value for a HostTensor/, /toArray/)),
  "half of a character": opened(
    (python) => python.run("1", { text: "\ud800" }),
    wrong("values.text", /half of a character/, /toWellFormed/),
  ),
  "a list that holds itself": opened((python) => {
    const list: unknown[] = [];
    list.push(list);
    python.run("1", any({ list }));
  }, wrong("values.list", /nested too deeply/)),
  "a getter that throws, and one that calls Python": opened(
    (python) => {
      const values = any({
        get inner() {
          return python.run("1");
        },
      });
      say(python.run("inner", values));
      try {
        python.run(
          "1",
          any({
            get inner() {
              throw new RangeError("mine");
            },
          }),
        );
      } catch (error) {
        say((error as Error).message);
      }
      say(python.run("2"));
    },
    undefined,
    ["1", "mine", "2"],
  ),
  "code that ends the process, as Python means it": opened(
    (python) => python.run("import sys; sys.exit()"),
    raises(/SystemExit/, /SystemExit/),
  ),
  "code without an end of its recursion": opened(
    (python) => python.run("def f(): return f()\nf()"),
    raises(/recursion/, /RecursionError/),
  ),
  "code that raises on another thread": opened(
    (python) => python.runAsync("1 / 0"),
    raises(/ZeroDivisionError/, /ZeroDivisionError/),
  ),
  "code that is not a text, on another thread": opened(
    (python) => python.runAsync(any(null)),
    wrong("code", /expected a string/),
  ),
  "a module that is not a text": opened((python) => python.import(any(5)), wrong("name", /expected a string/)),
  "a module that is not there": opened(
    (python) => python.import("no_such_module"),
    raises(/ModuleNotFoundError/, /ModuleNotFoundError/, "PyImport_ImportModule"),
  ),
  "a method that is not a text": holding(
    "object()",
    (object) => object.call(any(5)),
    wrong("name", /expected a string/),
  ),
  "a method that is not there": holding(
    "object()",
    (object) => object.call("no_such"),
    raises(/AttributeError/, /AttributeError/, "PyObject_GetAttrString"),
  ),
  "an attribute that cannot be called": holding(
    "object()",
    (object) => object.call("__doc__"),
    raises(/not callable/, /TypeError/),
  ),
  "too many arguments": holding("object()", (object) => object.call("__hash__", 1), raises(/argument/, /TypeError/)),
  "an argument that Python has no value for, on another thread": holding(
    "object()",
    (object) => object.callAsync("__eq__", any(Symbol())),
    wrong("args[0]", /Python has no value for a symbol/, VALUES),
  ),
  "an attribute of no text": holding("object()", (object) => object.get(any(5)), wrong("name", /expected a string/)),
  "an attribute that is not there": holding(
    "object()",
    (object) => object.get("no_such"),
    raises(/AttributeError/, /AttributeError/, "PyObject_GetAttrString"),
  ),
  "a method of an object that was disposed": holding(
    "object()",
    (object) => {
      object[Symbol.dispose]();
      say(String(object));
      object.call("__hash__");
    },
    { error: DisposedError, api: "core", message: /Python object was disposed/ },
    ["Python object (disposed)"],
  ),
  "an object that was disposed, as an argument": holding("object()", (object, python) => {
    object[Symbol.dispose]();
    python.run("object", { object });
  }, { error: DisposedError, api: "core", message: /Python object was disposed/ }),
  "the address of an object that was disposed": holding(
    "object()",
    (object, python) => {
      say(python.toString() === Deno.inspect(python), object.address > 0n);
      object[Symbol.dispose]();
      say(object.address);
    },
    { error: DisposedError, api: "core", message: /Python object was disposed/ },
    ["true true"],
  ),
  "an object that is disposed twice": holding("object()", (object) => {
    object[Symbol.dispose]();
    object[Symbol.dispose]();
  }),
  "a typed array for a tensor": opened(
    (python) => python.toArray(any(new Uint8Array(2)), "numpy"),
    wrong("tensor", /expected a tensor/, undefined, "dlpack"),
  ),
  "a library without arrays": opened((python) => {
    using tensor = host.allocate({ shape: [1], dtype: "u8" });
    python.toArray(tensor, any("pandas"));
  }, wrong("library", /expected one of "numpy", "torch", "cupy", "jax"/)),
  "a library that is not installed": opened((python) => {
    using tensor = host.allocate({ shape: [1], dtype: "u8" });
    python.run("import sys; sys.modules['cupy'] = None");
    python.toArray(tensor, "cupy");
  }, raises(/import cupy: ModuleNotFoundError/, /ModuleNotFoundError/)),
  "an unknown option of an array": opened((python) => {
    using tensor = host.allocate({ shape: [1], dtype: "u8" });
    python.toArray(tensor, "numpy", any({ copy: true }));
  }, wrong("options", /unknown property copy/, /access/, "core")),
  "a number for an array": opened(
    (python) => python.fromArray(any(5), HOST),
    wrong("array", /expected a PythonObject, got a number/),
  ),
  "an address that is none": opened((python) => python.fromArray(8n, HOST), {
    ...wrong("array", /cannot be read/, /still there/),
    fn: "process_vm_readv",
  }),
  "an array without contexts": holding(
    "memoryview(b'abc')",
    (array, python) => python.fromArray(array, any({})),
    wrong("contexts", /expected an array of contexts, got undefined/),
  ),
  "contexts without the host": holding(
    "memoryview(b'abc')",
    (array, python) => python.fromArray(array, { contexts: [] }),
    wrong("contexts", /the memory is the host's/),
  ),
  "anything but an array": holding(
    "object()",
    (array, python) => python.fromArray(array, HOST),
    raises(/bytes-like object is required/, /TypeError/, "PyObject_GetBuffer"),
  ),
  "an array backwards": holding(
    "memoryview(bytearray(4))[::-1]",
    (array, python) => python.fromArray(array, HOST),
    { error: LayoutError, api: "core", argument: "strides[0]", message: /.*/ },
  ),
  "elements that have no dtype": holding(
    "__import__('array').array('u', 'ab')",
    (array, python) => python.fromArray(array, HOST),
    { error: LayoutError, api: "python", argument: "dtype", message: /format "[uw]"/ },
  ),
  "read-only memory for writing": holding(
    "memoryview(b'abc')",
    (array, python) => python.fromArray(array, { ...HOST, access: "read-write" }),
    { error: AccessError, api: "python", argument: "access", message: /allows reading only/, hint: /Leave it out/ },
  ),
  "a producer whose capsule is none": holding(
    "type('P', (), {'__dlpack__': lambda self, **o: 5, '__dlpack_device__': lambda self: (1, 0)})()",
    (array, python) => python.fromArray(array, HOST),
    raises(/PyCapsule/, /ValueError/, "PyCapsule_GetPointer"),
  ),
  "a buffer whose owner is changed while its tensor lives": holding(
    "bytearray(4)",
    (owner, python) => {
      using tensor = python.fromArray(owner, HOST);
      say(tensor.shape);
      owner.call("append", 1);
    },
    raises(/Existing exports of data/, /BufferError/),
    ["4"],
  ),
});
