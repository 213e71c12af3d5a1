import type { Address } from "../../ffi/address.ts";
import { PyBUF_WRITE } from "../../ffi/python/constants.ts";
import { aKind, isMade, isPlain } from "../core/argument.ts";
import { polled } from "../core/device/asking.ts";
import { owned } from "../core/life/ledger.ts";
import { registerLater, unregister } from "../core/life/finalizers.ts";
import { Resource } from "../core/life/resource.ts";
import { allOrNothing, newUndo, type Undo, undoAll } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import { viewAt } from "../core/native/pin.ts";
import { cString } from "../core/native/text.ts";
import { Printed, withFacts } from "../core/printed.ts";
import {
  assertDone,
  assertThreadsRun,
  attribute,
  called,
  cpython,
  helped,
  helping,
  holding,
  newReference,
  shared,
  textIn,
  textObject,
  tupleOf,
  withReference,
} from "./interpreter.ts";
import { API, checks } from "./library.ts";

/** A value to pass to Python: a plain value, which is copied, or one of Python's objects. */
export type PythonArgument =
  | PythonObject
  | null
  | undefined
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly PythonArgument[]
  | { readonly [name: string]: PythonArgument };

/**
 * A value that Python returns: a plain value, which is copied, or a {@link PythonObject} for anything else. An integer
 * beyond 2^53 is a bigint.
 */
export type PythonValue =
  | PythonObject
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array<ArrayBuffer>
  | PythonValue[]
  | { [name: string]: PythonValue };

/**
 * A reference to a Python object: a module, a function, an array. `python.run`, `python.import` and `call` return one for
 * anything that is not a plain value. Dispose it to drop the reference.
 */
export class PythonObject extends Printed implements Disposable {
  readonly #address: Address;
  readonly #isMade = true;
  /** The reference's end of life. */
  readonly resource: Resource;

  /** Takes over a reference. @internal */
  constructor(address: Address) {
    super();
    this.#address = address;
    this.resource = new Resource({ name: "Python object", undo: endOf(address) });
    registerLater(this, this.resource);
  }

  /** True for an instance that its class made, and not for a proxy of it. For mappers. */
  static owns(value: object): boolean {
    return #isMade in value;
  }

  /** The `PyObject*`, valid until this is disposed. @throws {DisposedError} once it was disposed. */
  get address(): Address {
    this.resource.assertLive();
    return this.#address;
  }

  /**
   * Calls a method, or a function of a module, and blocks this thread until it returns.
   *
   * @throws {PythonError} if it raises an exception.
   * @throws {ArgumentError} for an argument that Python has no value for.
   * @throws {DisposedError} once this was disposed.
   *
   * @example
   * ```ts
   * import { Python } from "@samepage/interop/python";
   *
   * const python = Python.open();
   * using math = python.import("math");
   * console.log(math.call("gcd", 12, 18)); // 6
   * ```
   */
  call<R extends PythonValue = PythonValue>(name: string, ...args: readonly PythonArgument[]): R {
    checks.assertText(name, "name");
    return holding(() => taken(this.#calling(name, args, (fn, items) => called(fn, items, name)))) as R;
  }

  /**
   * {@link call} on a thread that Python starts, while the event loop goes on. A call in progress cannot be cancelled. What a
   * library keeps for each thread, such as a current device, is that thread's.
   *
   * @throws like {@link call}, as a rejection.
   * @throws {InteropError} if other code holds Python's GIL on this thread, as a rejection.
   */
  async callAsync<R extends PythonValue = PythonValue>(name: string, ...args: readonly PythonArgument[]): Promise<R> {
    checks.assertText(name, "name");
    return await onThread(name, () =>
      this.#calling(name, args, (fn, items) => {
        const tuple = tupleOf(items);
        return [shared(fn), tuple];
      })) as R;
  }

  /** An attribute. @throws {PythonError} if the object lacks it. @throws {DisposedError} once this was disposed. */
  get<R extends PythonValue = PythonValue>(name: string): R {
    checks.assertText(name, "name");
    return holding(() => taken(attribute(this.address, name))) as R;
  }

  #calling<T>(name: string, args: readonly PythonArgument[], call: (fn: Address, items: Address[]) => T): T {
    return withReference(attribute(this.address, name), (fn) => call(fn, referencesTo(args, (i) => `args[${i}]`)));
  }

  /** Its class. */
  toString(): string {
    if (!this.resource.isLive) return withFacts(this.resource.name, [this.resource.end]);
    return `${this.resource.name} of class ${holding(() => nameOfClass(this.#address))}`;
  }

  /** Drops the reference. Idempotent. */
  [Symbol.dispose](): void {
    unregister(this.resource);
    this.resource.dispose();
  }
}

function nameOfClass(object: Address): string {
  return withReference(
    newReference(cpython().PyObject_Type(object), "PyObject_Type"),
    (type) => withReference(attribute(type, "__name__"), textIn),
  );
}

/** Apart from the constructor: V8 keeps the objects of a constructor that makes closures for long. */
function endOf(address: Address): Undo {
  const undo = newUndo();
  owned("python.PyObject", undo, () => holding(() => cpython().Py_DecRef(address)));
  return undo;
}

/** The limit of nested lists, because a list that holds itself has no end. */
const DEEPEST = 100;

const REMEDY =
  "Pass numbers, texts, booleans, null, bigints, Uint8Arrays, arrays and plain objects of these, and Python's objects; a tensor by python.toArray().";

/** New references to Python's objects for values. `name` returns each value's name in messages. */
export function referencesTo(values: readonly unknown[], name: (i: number) => string): Address[] {
  const references: Address[] = [];
  return allOrNothing("passing values", () => {
    for (let i = 0; i < values.length; i++) references.push(toPython(values[i], name(i)));
    return references;
  }, [() => references.forEach((reference) => cpython().Py_DecRef(reference))]);
}

/** A new reference to Python's object for a value. @throws {ArgumentError} if Python has none. */
function toPython(value: unknown, argument: string, depth = 0): Address {
  const py = cpython();
  if (depth > DEEPEST) throw checks.wrong(outermost(argument), "it is nested too deeply, or holds itself.");
  switch (typeof value) {
    case "undefined":
      return shared(helping("none"));
    case "boolean":
      return newReference(py.PyBool_FromLong(value ? 1n : 0n), "PyBool_FromLong");
    case "number":
      return Number.isSafeInteger(value) && !Object.is(value, -0)
        ? newReference(py.PyLong_FromLongLong(BigInt(value)), "PyLong_FromLongLong")
        : newReference(py.PyFloat_FromDouble(value), "PyFloat_FromDouble");
    case "bigint":
      return newReference(py.PyLong_FromString(cString(value.toString(16)), null, 16), "PyLong_FromString");
    case "string":
      if (value.isWellFormed()) return textObject(value);
      throw checks.wrong(argument, "the text has half of a character: it is not Unicode.", "Pass text.toWellFormed().");
    case "object":
      if (value === null) return shared(helping("none"));
      if (isMade(value, PythonObject)) return shared(value.address);
      if (value instanceof Uint8Array) {
        const bytes = checks.bytesIn(value, argument);
        return newReference(py.PyBytes_FromStringAndSize(bytes, BigInt(bytes.length)), "PyBytes_FromStringAndSize");
      }
      if (Array.isArray(value)) return listObject(value, argument, depth + 1);
      if (isPlain(value)) return dictObject(value, argument, depth + 1);
  }
  throw checks.wrong(argument, `Python has no value for ${aKind(value)}.`, REMEDY);
}

/** The argument that a part belongs to. */
function outermost(part: string): string {
  return /^\w+(\[\d+\]|\.\w+)?/.exec(part)?.[0] ?? part;
}

function listObject(values: readonly unknown[], argument: string, depth: number): Address {
  const { PyList_New, PyList_SetItem, Py_DecRef } = cpython();
  return allOrNothing("passing a list", (undo) => {
    const list = newReference(PyList_New(BigInt(values.length)), "PyList_New");
    undo.push(() => Py_DecRef(list));
    for (let i = 0; i < values.length; i++) {
      assertDone(PyList_SetItem(list, BigInt(i), toPython(values[i], `${argument}[${i}]`, depth)), "PyList_SetItem");
    }
    return list;
  });
}

function dictObject(values: object, argument: string, depth: number): Address {
  const { PyDict_New, PyDict_SetItem, Py_DecRef } = cpython();
  return allOrNothing("passing an object", (undo) => {
    const dict = newReference(PyDict_New(), "PyDict_New");
    undo.push(() => Py_DecRef(dict));
    for (const [name, value] of Object.entries(values)) {
      withReference(
        toPython(name, argument),
        (key) =>
          withReference(
            toPython(value, `${argument}.${name}`, depth),
            (item) => assertDone(PyDict_SetItem(dict, key, item), "PyDict_SetItem"),
          ),
      );
    }
    return dict;
  });
}

const KINDS = ["none", "bool", "int", "float", "str", "bytes", "list", "tuple", "dict"] as const;
type Kind = typeof KINDS[number];

/** The classes of plain values, by their addresses. */
let kinds: Map<Address, Kind> | undefined;

function kindOf(object: Address): Kind | undefined {
  const { PyObject_Type, PySequence_GetItem } = cpython();
  kinds ??= new Map(KINDS.map((kind, i) => {
    const type = newReference(PySequence_GetItem(helping("types"), BigInt(i)), "PySequence_GetItem");
    return [withReference(type, (type) => type), kind]; // the classes live as long as Python
  }));
  return withReference(newReference(PyObject_Type(object), "PyObject_Type"), (type) => kinds!.get(type));
}

/** The value of a new reference, which this takes over. */
export function taken(object: Address, depth = 0): PythonValue {
  return withReference(object, () => {
    const kind = kindOf(object);
    if (kind !== undefined) return fromPython(object, kind, depth);
    return withReference(helped("plain", object), (plain) => {
      const kind = kindOf(plain);
      return kind === undefined ? new PythonObject(shared(plain)) : fromPython(plain, kind, depth);
    });
  });
}

const overflow = new Int32Array(1);

/** The number of an `int` below 2^53. */
export function numberIn(object: Address): number {
  return Number(cpython().PyLong_AsLongLongAndOverflow(object, overflow));
}

const [place, size] = [new BigUint64Array(1), new BigInt64Array(1)];

function fromPython(object: Address, kind: Kind, depth: number): PythonValue {
  const py = cpython();
  if (depth > DEEPEST) throw checks.wrong("result", "it is nested too deeply, or holds itself.");
  switch (kind) {
    case "none":
      return null;
    case "bool":
      return py.PyLong_AsLongLongAndOverflow(object, overflow) !== 0n;
    case "int": {
      const number = py.PyLong_AsLongLongAndOverflow(object, overflow);
      if (overflow[0] !== 0) return BigInt(withReference(helped("str", object), textIn));
      return Number.isSafeInteger(Number(number)) ? Number(number) : number;
    }
    case "float":
      return py.PyFloat_AsDouble(object);
    case "str":
      return textIn(object);
    case "bytes":
      assertDone(py.PyBytes_AsStringAndSize(object, place, size), "PyBytes_AsStringAndSize");
      return new Uint8Array(viewAt(place[0] as Address, Number(size[0]), API).buffer.slice(0));
    case "dict": {
      const items = taken(helped("items", object), depth) as [string, PythonValue][] | null;
      return items === null ? new PythonObject(shared(object)) : Object.fromEntries(items);
    }
    default:
      return itemsOf(object, depth + 1);
  }
}

function itemsOf(object: Address, depth: number): PythonValue[] {
  const { PySequence_Size, PySequence_GetItem } = cpython();
  const length = PySequence_Size(object);
  assertDone(length, "PySequence_Size");
  const items: PythonValue[] = [];
  return allOrNothing("reading a list", () => {
    for (let i = 0n; i < length; i++) {
      items.push(taken(newReference(PySequence_GetItem(object, i), "PySequence_GetItem"), depth));
    }
    return items;
  }, [() => items.forEach(disposeAll)]);
}

/** Disposes values that will not be returned, because a later one failed. */
function disposeAll(value: PythonValue): void {
  if (value instanceof PythonObject) value[Symbol.dispose]();
  else if (typeof value === "object" && value !== null) Object.values(value).forEach(disposeAll);
}

/** Runs a Python call on a thread of its own. `name` is its name in messages; `prepare` returns new references: the function,
 * and the tuple of its arguments. */
export async function onThread(name: string, prepare: () => Address[]): Promise<PythonValue> {
  assertThreadsRun("threading");
  const undo: Undo = [];
  const words = new CallbackWords(1, undo); // the thread writes the first byte when it has finished
  const { done, box } = allOrNothing("starting a thread", () => {
    return holding(() => {
      const { PyMemoryView_FromMemory, Py_DecRef } = cpython();
      const done = newReference(
        PyMemoryView_FromMemory(words.addressOf(0), 1n, PyBUF_WRITE),
        "PyMemoryView_FromMemory",
      );
      return allOrNothing("starting a thread", () => {
        const call = prepare();
        return { done, box: called(helping("start"), [shared(done), ...call], "start") };
      }, [() => Py_DecRef(done)]);
    });
  }, undo);
  await polled(() => Atomics.load(words.all, 0) !== 0n);
  try {
    return holding(() => taken(called(helping("finish"), [done, box], name)));
  } finally {
    undoAll(undo, "ending a thread");
  }
}
