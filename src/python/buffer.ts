import type { Address } from "../../ffi/address.ts";
import { NULL } from "../../ffi/address.ts";
import { PyBUF_RECORDS_RO } from "../../ffi/python/constants.ts";
import { Py_buffer, readPyBuffer } from "../../ffi/python/structs.ts";
import type { DType } from "../core/layout/dtype.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import type { Access } from "../core/memory/access.ts";
import type { Undo } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import { viewAt } from "../core/native/pin.ts";
import { textAt } from "../core/native/text.ts";
import { accessTo } from "../dlpack/types.ts";
import { assertDone, cpython, holding } from "./interpreter.ts";
import { API, checks } from "./library.ts";

/** Format letters of Python's `struct` module: unsigned integers, signed integers, floats. */
const [UNSIGNED, SIGNED, FLOATS] = ["?BHILQNP", "bhilqn", "efd"];

/** Memory that an object exports by Python's buffer protocol. */
export interface Buffer {
  readonly address: Address;
  readonly layout: LayoutInit;
  readonly access: Access;
}

/**
 * The memory of an object. The GIL is held. `undo` releases the buffer.
 * @throws {PythonError} for an object without a buffer. @throws {AccessError} for write access to read-only memory.
 */
export function bufferOf(object: Address, asked: Access | undefined, undo: Undo): Buffer {
  const at = new CallbackWords(Py_buffer.size / 8, undo).addressOf(0); // must not move: it has pointers into itself
  const { PyObject_GetBuffer, PyBuffer_Release } = cpython();
  assertDone(PyObject_GetBuffer(object, at, PyBUF_RECORDS_RO), "PyObject_GetBuffer");
  undo.push(() => holding(() => PyBuffer_Release(at)));
  const { buf, itemsize, format, ndim, shape, strides, readonly } = readPyBuffer(viewAt(at, Py_buffer.size, API), 0);
  const layout = {
    shape: numbersAt(shape, ndim),
    strides: numbersAt(strides, ndim),
    dtype: dtypeOf(textAt(format) ?? "B", Number(itemsize)),
  };
  return { address: buf, layout, access: accessTo(asked, readonly !== 0, API) };
}

function numbersAt(address: Address, count: number): number[] {
  if (count === 0 || address === NULL) return [];
  const view = viewAt(address, 8 * count, API);
  return Array.from({ length: count }, (_, i) => Number(view.getBigInt64(8 * i, true)));
}

/** @throws {LayoutError} for elements that samepage has no dtype for. */
function dtypeOf(format: string, itemsize: number): DType {
  const letter = /^[@=<]?(.)$/.exec(format)?.[1] ?? "";
  const kind = letter !== "" &&
    (UNSIGNED.includes(letter) ? "u" : SIGNED.includes(letter) ? "i" : FLOATS.includes(letter) && "f");
  if (kind) return `${kind}${8 * itemsize}` as DType;
  throw checks.unfit("dtype", `there is none for a buffer's elements of format "${format}".`);
}
