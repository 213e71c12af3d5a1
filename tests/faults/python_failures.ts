/**
 * How Python's functions fail.
 *
 * @module
 */
import type { CPython } from "../../ffi/python/functions.ts";
import type { Failure, Failures } from "./failures.ts";

const none: Failure = { result: 0n };
const minusOne: Failure = { result: -1 };
/** They take a reference over, also where they fail. */
const taking: Failure = { result: -1, release: true };

export const PYTHON: Failures<CPython> = {
  Py_GetVersion: undefined,
  Py_IsInitialized: undefined,
  Py_SetProgramName: undefined,
  Py_InitializeEx: undefined,
  PyEval_SaveThread: undefined,
  PyGILState_Ensure: undefined,
  PyGILState_Release: undefined,
  PyErr_Fetch: undefined,
  PyErr_NormalizeException: undefined,
  Py_IncRef: undefined,
  Py_DecRef: undefined,
  PyImport_ImportModule: none,
  PyObject_Type: none,
  PyObject_GetAttrString: none,
  PyObject_CallObject: none,
  PyObject_CallFunctionObjArgs: none,
  PyTuple_New: none,
  PyTuple_SetItem: taking,
  PyList_New: none,
  PyList_SetItem: taking,
  PySequence_Size: { result: -1n },
  PySequence_GetItem: none,
  PyDict_New: none,
  PyDict_SetItem: minusOne,
  PyBool_FromLong: none,
  PyLong_FromLongLong: none,
  PyLong_FromString: none,
  PyLong_AsLongLongAndOverflow: undefined, // of what is an int
  PyFloat_FromDouble: none,
  PyFloat_AsDouble: undefined, // of what is a float
  PyUnicode_FromStringAndSize: none,
  PyUnicode_AsUTF8AndSize: none,
  PyBytes_FromStringAndSize: none,
  PyBytes_AsStringAndSize: minusOne,
  PyCapsule_New: none,
  PyCapsule_IsValid: undefined,
  PyCapsule_GetPointer: none,
  PyCapsule_SetName: minusOne,
  PyMemoryView_FromMemory: none,
  PyObject_GetBuffer: minusOne,
  PyBuffer_Release: undefined,
};
