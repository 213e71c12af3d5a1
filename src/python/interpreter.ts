import { type Address, NULL } from "../../ffi/address.ts";
import type { CPython } from "../../ffi/python/functions.ts";
import { shown } from "../core/argument.ts";
import { type ErrorFields, InteropError, NativeCallError } from "../core/errors.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { viewAt } from "../core/native/pin.ts";
import { cString } from "../core/native/text.ts";
import { HELPER } from "./helper.ts";
import { API } from "./library.ts";

/** An exception that Python code raised. */
export class PythonError extends NativeCallError {
  /** The exception's class, with its module unless that is `builtins`: `"ValueError"`, `"numpy.exceptions.AxisError"`. */
  readonly type: string;
  /** The last lines of its traceback. */
  readonly traceback: string;

  /** `type` is the exception's class. */
  constructor(message: string, type: string, traceback: string, fields: ErrorFields) {
    super(message, fields);
    [this.type, this.traceback] = [type, traceback];
  }
}

let functions: CPython | undefined;
let helper: Address | undefined;

/** Python's functions. Call it only after {@link setFunctions}. */
export function cpython(): CPython {
  return functions!;
}

export function setFunctions(opened: CPython): void {
  functions = opened;
}

/** Makes the module of {@link HELPER}. The GIL is held. */
export function makeHelper(): void {
  const { PyImport_ImportModule } = cpython();
  const make = (name: string, attributeName: string, args: () => Address[]) =>
    withReference(
      newReference(PyImport_ImportModule(cString(name)), "PyImport_ImportModule"),
      (module) => withReference(attribute(module, attributeName), (fn) => called(fn, args(), attributeName)),
    );
  const module = make("types", "ModuleType", () => [textObject("samepage")]);
  make("builtins", "exec", () => {
    return [textObject(HELPER), attribute(module, "__dict__")];
  });
  helper = module;
}

/** True if other code holds the GIL on this thread all the time, so that no other thread runs Python. */
export let isKept = false;

/** Sets {@link isKept}. Call it while no call of ours holds the GIL. */
export function lookAtGil(): void {
  const { PyGILState_Ensure, PyGILState_Release } = cpython();
  const state = PyGILState_Ensure();
  isKept = state === 0; // PyGILState_LOCKED: it was this thread's already
  PyGILState_Release(state);
}

/** @throws {InteropError} where Python's own threads cannot run. */
export function assertThreadsRun(fn: string): void {
  if (!isKept) return;
  const hint = "Open samepage's Python first, before the other code initializes it, or call without Async.";
  throw new InteropError("Other code of this thread keeps Python's GIL, so no other thread can run Python.", {
    ...{ api: API, fn, hint },
  });
}

/** Holds the GIL during a function. */
export function holding<T>(use: () => T): T {
  const { PyGILState_Ensure, PyGILState_Release } = cpython();
  const state = PyGILState_Ensure();
  try {
    return use();
  } finally {
    PyGILState_Release(state);
  }
}

/** Returns a new reference that Python returned. `doing` names the operation in messages. @throws {PythonError} for null. */
export function newReference(object: Address, fn: string, doing: string = fn): Address {
  if (object === NULL) throw raised(fn, doing);
  return object;
}

/** @throws {PythonError} for a number below zero. */
export function assertDone(returned: number | bigint, fn: string): void {
  if (returned < 0) throw raised(fn, fn);
}

/** Uses a reference of ours, and drops it. */
export function withReference<T>(object: Address, use: (object: Address) => T): T {
  try {
    return use(object);
  } finally {
    cpython().Py_DecRef(object);
  }
}

/** A new reference to the same object. */
export function shared(object: Address): Address {
  cpython().Py_IncRef(object);
  return object;
}

/** A tuple that takes over the references. */
export function tupleOf(items: readonly Address[]): Address {
  const { PyTuple_New, PyTuple_SetItem, Py_DecRef } = cpython();
  let taken = 0;
  return allOrNothing("making a tuple", (undo) => {
    const tuple = newReference(PyTuple_New(BigInt(items.length)), "PyTuple_New");
    undo.push(() => Py_DecRef(tuple));
    while (taken < items.length) assertDone(PyTuple_SetItem(tuple, BigInt(taken), items[taken++]), "PyTuple_SetItem");
    return tuple;
  }, [() => items.slice(taken).forEach(Py_DecRef)]);
}

/** Calls an object with references, which the call takes over. Returns a new reference. */
export function called(fn: Address, args: readonly Address[], name: string): Address {
  return withReference(
    tupleOf(args),
    (tuple) => newReference(cpython().PyObject_CallObject(fn, tuple), "PyObject_CallObject", name),
  );
}

/** Calls an object with one argument, without a tuple. Returns a new reference. */
export function calledOn(fn: Address, object: Address, name: string): Address {
  const { PyObject_CallFunctionObjArgs } = cpython();
  return newReference(PyObject_CallFunctionObjArgs(fn, object, NULL), "PyObject_CallFunctionObjArgs", name);
}

/** A new reference to an attribute. */
export function attribute(object: Address, name: string): Address {
  return newReference(cpython().PyObject_GetAttrString(object, cString(name)), "PyObject_GetAttrString", shown(name));
}

/** A new reference to a `str`. */
export function textObject(text: string): Address {
  const bytes = new TextEncoder().encode(text);
  const { PyUnicode_FromStringAndSize } = cpython();
  return newReference(PyUnicode_FromStringAndSize(bytes, BigInt(bytes.length)), "PyUnicode_FromStringAndSize");
}

const length = new BigInt64Array(1);

/** The text of a `str`. */
export function textIn(object: Address): string {
  const at = newReference(cpython().PyUnicode_AsUTF8AndSize(object, length), "PyUnicode_AsUTF8AndSize");
  return new TextDecoder().decode(viewAt(at, Number(length[0]), API));
}

/** Calls a function of the helper with an object. Returns a new reference. */
export function helped(name: string, object: Address, doing: string = name): Address {
  return calledOn(helping(name), object, doing);
}

/** The helper's functions and objects by name. Never freed. */
const helpers = new Map<string, Address>();

/** A borrowed reference to a function or an object of the helper. */
export function helping(name: string): Address {
  let found = helpers.get(name);
  if (found === undefined) helpers.set(name, found = attribute(helper!, name));
  return found;
}

/** An exception's class, message and traceback. @throws {NativeCallError} if Python cannot describe it. */
function described(error: Address, trace: Address): readonly string[] {
  return withReference(called(helping("describe"), [error, trace].map(shared), "describe"), textIn).split("\0");
}

/** The error for the exception that Python has raised, which this clears. */
function raised(fn: string, doing: string): NativeCallError {
  const { PyErr_Fetch, PyErr_NormalizeException, Py_DecRef } = cpython();
  const [type, value, trace] = Array.from({ length: 3 }, () => new BigUint64Array(1));
  PyErr_Fetch(type, value, trace);
  if (type[0] === 0n) return new NativeCallError(`${fn} failed, and Python does not say why.`, { api: API, fn });
  PyErr_NormalizeException(type, value, trace);
  const references = [type, value, trace].map(([word]) => word as Address).filter((word) => word !== NULL);
  try {
    const [, error, at = helping("none")] = references;
    const [name, said, traceback] = described(error, at);
    const text = said.replace(/\.$/, "") || "it says nothing";
    return new PythonError(`${doing}: ${name}: ${text}.`, name, traceback, { api: API, fn });
  } catch (cause) {
    return new PythonError(`${doing}: an exception that cannot be described.`, "", "", { api: API, fn, cause });
  } finally {
    references.forEach(Py_DecRef);
  }
}
