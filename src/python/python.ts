import type { Address } from "../../ffi/address.ts";
import { type Names, object, optionsIn, shown } from "../core/argument.ts";
import { InteropError } from "../core/errors.ts";
import { alone } from "../core/native/process_lock.ts";
import { cString } from "../core/native/text.ts";
import { Printed } from "../core/printed.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { type ArrayLibrary, arrayOf, type FromArrayOptions, tensorOf, type ToArrayOptions } from "./arrays.ts";
import {
  called,
  cpython,
  helping,
  holding,
  lookAtGil,
  makeHelper,
  newReference,
  setFunctions,
  shared,
  tupleOf,
} from "./interpreter.ts";
import {
  API,
  assertWhole,
  checks,
  defaultInstallation,
  type Installation,
  installationAt,
  installationOf,
  type OpenLibrary,
  openLibrary,
} from "./library.ts";
import { onThread, type PythonArgument, PythonObject, type PythonValue, referencesTo, taken } from "./object.ts";

/** Options of {@link Python.open}. */
export interface PythonOptions {
  /** The name or path of its shared library; by default that of `home`, else the newest one from 3.9 to 3.14. */
  readonly library?: string;
  /** The folder of a venv, or of an installation; by default the venv that VIRTUAL_ENV names, else the library's own. */
  readonly home?: string;
  /** Folders that are searched first for modules. */
  readonly path?: readonly string[];
}

const OPTIONS: Names<PythonOptions> = { library: true, home: true, path: true };

/** The interpreter of this process. */
let opened: Python | undefined;

/**
 * CPython in this process, for its arrays: NumPy, PyTorch, CuPy and JAX use samepage's memory in place, and samepage uses
 * theirs.
 *
 * A process has one interpreter, which ends with the process, because its libraries cannot start twice. It installs no signal
 * handlers. Its own threads run while no samepage call runs Python.
 *
 * @example
 * ```ts
 * import { Python } from "@samepage/interop/python";
 *
 * const python = Python.open();
 * console.log(python.run("sum(values) / len(values)", { values: [1, 2, 6] })); // 3
 * ```
 */
export class Python extends Printed {
  /** Its version: `"3.11.2"`. */
  readonly version: string;
  /** The name or path that opened its library. */
  readonly library: string;
  /** The folder of its installation or venv: `sys.prefix`. */
  readonly home: string;

  private constructor({ version, path: library }: OpenLibrary, home: string) {
    super();
    [this.version, this.library, this.home] = [version, library, home];
  }

  /**
   * Opens the interpreter, which takes 20 ms the first time. A second call returns the same object.
   *
   * If other code of this thread has initialized Python already, samepage uses that interpreter. Such code may hold the GIL:
   * then no other thread runs Python, and functions whose names end with `Async` throw.
   *
   * @throws {LibraryNotFoundError} if there is no Python.
   * @throws {ArgumentError} for wrong options, and a second call for another Python.
   * @throws {InteropError} in a Worker, for a version before 3.9, and an installation without its modules.
   * @throws {PythonError} if it does not start.
   */
  static open(options: PythonOptions = {}): Python {
    const { library, home, path = [] } = optionsIn(options, OPTIONS);
    for (const [name, text] of Object.entries({ library, home })) if (text !== undefined) checks.assertText(text, name);
    const folders = checks.itemsIn(path, "path", "an array of folders");
    folders.forEach((folder, i) => checks.assertText(folder, `path[${i}]`));
    assertNoWorker();
    if (opened !== undefined) return opened.#again(library, home, folders);
    const installation = home === undefined
      ? library === undefined ? defaultInstallation() : undefined
      : installationAt(home.replace(/(.)\/+$/, "$1"));
    const found = openLibrary(library, installation);
    setFunctions(found.functions);
    alone(() => initialize(found, installation ?? installationOf(found)));
    lookAtGil();
    const prefix = holding(() => {
      makeHelper();
      return settled(home, folders);
    });
    return opened = new Python(found, prefix);
  }

  #again(library: string | undefined, home: string | undefined, path: readonly string[]): Python {
    if (library !== undefined && library !== this.library) {
      throw checks.wrong("library", `${shown(this.library)} is open, and a process has one Python.`);
    }
    holding(() => settled(home, path));
    return this;
  }

  /**
   * Runs statements in `__main__`, and returns the value of the last one if it is an expression. Names that they assign stay
   * there for the next call.
   *
   * @param code statements as in a file
   * @param values variables of the statements, removed after the call
   * @throws {PythonError} if the statements raise an exception.
   * @throws {ArgumentError} for a value without a counterpart in Python.
   *
   * @example
   * ```ts
   * import { Python } from "@samepage/interop/python";
   *
   * const python = Python.open();
   * python.run("def twice(x):\n    return 2 * x");
   * console.log(python.run("[twice(x) for x in (1, y)]", { y: 2.5 })); // [ 2, 5 ]
   * ```
   */
  run<R extends PythonValue = PythonValue>(code: string, values: Readonly<Record<string, PythonArgument>> = {}): R {
    return holding(() => taken(called(helping("run"), argumentsOf(code, values), "run"))) as R;
  }

  /**
   * {@link run} on a thread that Python starts, while the event loop goes on. Two runs at a time share `__main__`: give their
   * values different names.
   *
   * @throws like {@link run}, as a rejection.
   * @throws {InteropError} if other code holds Python's GIL on this thread, as a rejection.
   *
   * @example
   * ```ts
   * import { Python } from "@samepage/interop/python";
   *
   * const python = Python.open();
   * await python.runAsync("import time; time.sleep(0.1)"); // the event loop goes on
   * ```
   */
  async runAsync<R extends PythonValue = PythonValue>(
    code: string,
    values: Readonly<Record<string, PythonArgument>> = {},
  ): Promise<R> {
    return await onThread("run", () => {
      const tuple = tupleOf(argumentsOf(code, values));
      return [shared(helping("run")), tuple];
    }) as R;
  }

  /**
   * Imports a module. A large one takes seconds the first time: `await python.runAsync("import torch")` imports it on another
   * thread.
   *
   * @throws {PythonError} if it cannot be imported.
   */
  import(name: string): PythonObject {
    checks.assertText(name, "name");
    const { PyImport_ImportModule } = cpython();
    return holding(() =>
      new PythonObject(
        newReference(PyImport_ImportModule(cString(name)), "PyImport_ImportModule", `import ${shown(name)}`),
      )
    );
  }

  /**
   * An array over a tensor's bytes, in place, by DLPack. The bytes are lent until Python has no reference to the array or to a
   * view of it: dispose the result, and delete what Python keeps.
   *
   * On a GPU the library's current stream waits for our work, and our next use waits for what that stream has by then.
   *
   * @param library the library of the array, which has to be installed
   * @throws {PythonError} if the library is missing, or refuses the tensor.
   * @throws {ArgumentError} for memory that DLPack has no device for.
   * @throws {AccessError} if the bytes are lent, or the tensor does not allow the access.
   *
   * @example
   * ```ts ignore
   * import { host } from "@samepage/interop";
   * import { Python } from "@samepage/interop/python";
   *
   * const python = Python.open(); // with NumPy
   * using tensor = host.allocate({ shape: [2, 3], dtype: "f32" });
   * {
   *   using array = python.toArray(tensor, "numpy");
   *   python.run("a += 1", { a: array });
   * }
   * console.log(tensor.view()); // Float32Array(6) [ 1, 1, 1, 1, 1, 1 ]
   * ```
   */
  toArray(tensor: Tensor, library: ArrayLibrary, options: ToArrayOptions = {}): PythonObject {
    return arrayOf(tensor, library, options);
  }

  /**
   * A tensor over the memory of an array, in place: by DLPack, else by Python's buffer protocol (bytes, bytearray,
   * array.array, memoryview). It keeps the array alive until it ends, after all work.
   *
   * @param array an array, or the address of a `PyObject` that other code holds
   * @throws {PythonError} for an object without DLPack and a buffer, and one that its library does not lend.
   * @throws {LayoutError} for an empty array, negative strides, and elements without a dtype.
   * @throws {ArgumentError} for a device without a context among `contexts`.
   * @throws {AccessError} for write access to read-only memory.
   *
   * @example
   * ```ts
   * import { host } from "@samepage/interop";
   * import { Python, type PythonObject } from "@samepage/interop/python";
   *
   * const python = Python.open();
   * using array = python.run<PythonObject>("import array; array.array('f', [1, 2, 3])");
   * using tensor = python.fromArray(array, { contexts: [host] });
   * console.log(tensor.dtype, tensor.shape); // f32 [ 3 ]
   * ```
   */
  fromArray(array: PythonObject | bigint, options: FromArrayOptions): Tensor {
    return tensorOf(array, options);
  }

  /** Its version and place. */
  toString(): string {
    return `Python ${this.version} at ${this.home}`;
  }
}

/** A Worker may be terminated while it holds the GIL: then nothing could ever run Python again. */
function assertNoWorker(): void {
  if (!("WorkerGlobalScope" in globalThis)) return;
  throw new InteropError("Python cannot be opened in a Worker, which may be ended in the middle of its calls.", {
    ...{ api: API, fn: "open" },
    hint: "Open it in the main thread, and send it what the Worker has made.",
  });
}

function initialize(library: OpenLibrary, installation: Installation): void {
  const { Py_IsInitialized, Py_SetProgramName, Py_InitializeEx, PyEval_SaveThread } = cpython();
  if (Py_IsInitialized() !== 0) return;
  const { minor, folder } = installation;
  if (minor !== undefined && minor !== library.minor) {
    throw checks.wrong("home", `${shown(folder)} is for Python 3.${minor}, and the library is ${library.version}.`);
  }
  assertWhole(installation, library);
  // Python looks for its modules, and a venv's pyvenv.cfg, beside this program.
  Py_SetProgramName(wideString(`${folder}/bin/python3`));
  Py_InitializeEx(0); // without signal handlers
  PyEval_SaveThread(); // this thread takes the GIL for each call
}

function wideString(text: string): Uint32Array<ArrayBuffer> {
  return Uint32Array.from([...text, "\0"], (character) => character.codePointAt(0)!);
}

/** Adds the folders to `sys.path`, and returns `sys.prefix`. */
function settled(home: string | undefined, path: readonly string[]): string {
  const args = referencesTo([home, path], (i) => ["home", "path"][i]);
  const prefix = taken(called(helping("settle"), args, "settle"));
  if (typeof prefix === "string") return prefix;
  const hint = "Leave home out to use that one, or open this one in a process of its own.";
  throw checks.wrong("home", "another Python is open already, and a process has one.", hint);
}

/** New references to the arguments of the helper's `run`. */
function argumentsOf(code: string, values: Readonly<Record<string, PythonArgument>>): Address[] {
  checks.assertText(code, "code");
  return referencesTo([code, object(values, "values")], (i) => ["code", "values"][i]);
}
