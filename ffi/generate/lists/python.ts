import { fromFileUrl } from "@std/path";
import type { FunctionEntry, Library } from "../library.ts";

/** Python's objects are passed by their addresses; texts, and what comes back beside a result, are buffers. */
function taking(address: readonly string[], ...names: readonly string[]): FunctionEntry[] {
  return names.map((name) => ({ name, address }));
}

/** CPython by its stable ABI, which is the same in every version from the one that is defined here on. */
export const python: Library = {
  name: "python",
  interface: "CPython",
  headers: ["Python.h"],
  folders: [fromFileUrl(new URL("../../../.python/include", import.meta.url))], // `deno task setup test` unpacks them
  // 3.11 has made the buffer protocol a part of it, as 3.9 has it already.
  defines: { Py_LIMITED_API: "0x030b0000" },
  functions: [
    "Py_GetVersion",
    "Py_IsInitialized",
    "Py_SetProgramName",
    "Py_InitializeEx",
    "PyEval_SaveThread",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyErr_Fetch",
    "PyErr_NormalizeException",
    ...taking(["arg0"], "Py_IncRef", "Py_DecRef"),
    "PyImport_ImportModule",
    ...taking(["o"], "PyObject_Type"),
    ...taking(["arg0"], "PyObject_GetAttrString"),
    ...taking(["callable", "args"], "PyObject_CallObject"),
    {
      name: "PyObject_CallFunctionObjArgs", // one object, and NULL behind it
      address: ["callable"],
      variadic: { object: "uintptr_t", end: "uintptr_t" },
    },
    "PyTuple_New",
    ...taking(["arg0", "arg2"], "PyTuple_SetItem"),
    "PyList_New",
    ...taking(["arg0", "arg2"], "PyList_SetItem"),
    ...taking(["o"], "PySequence_Size", "PySequence_GetItem"),
    "PyDict_New",
    ...taking(["mp", "key", "item"], "PyDict_SetItem"),
    "PyBool_FromLong",
    "PyLong_FromLongLong",
    "PyLong_FromString",
    ...taking(["arg0"], "PyLong_AsLongLongAndOverflow"),
    "PyFloat_FromDouble",
    ...taking(["arg0"], "PyFloat_AsDouble"),
    "PyUnicode_FromStringAndSize",
    ...taking(["unicode"], "PyUnicode_AsUTF8AndSize"),
    "PyBytes_FromStringAndSize",
    ...taking(["obj"], "PyBytes_AsStringAndSize"),
    ...taking(["pointer", "name", "destructor"], "PyCapsule_New"),
    ...taking(["capsule", "name"], "PyCapsule_IsValid", "PyCapsule_GetPointer", "PyCapsule_SetName"),
    ...taking(["mem"], "PyMemoryView_FromMemory"),
    ...taking(["obj", "view"], "PyObject_GetBuffer"),
    ...taking(["view"], "PyBuffer_Release"),
  ],
  constants: [{ type: "int", names: ["PyBUF_RECORDS_RO", "PyBUF_WRITE"] }],
  structs: ["Py_buffer"],
};
