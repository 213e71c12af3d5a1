import { type Address, NULL } from "../../ffi/address.ts";
import * as dl from "../../ffi/dlpack/constants.ts";
import {
  DLManagedTensor,
  DLManagedTensorVersioned,
  writeDLManagedTensor,
  writeDLManagedTensorVersioned,
} from "../../ffi/dlpack/structs.ts";
import { host } from "@samepage/interop";
import { mapBlock } from "../../src/core/native/blocks.ts";
import { viewAt } from "../../src/core/native/pin.ts";

/** What a test says of a struct that a producer has made; the rest is a matrix of 2 × 3 floats. */
export interface Given extends Partial<Omit<DLManagedTensorVersioned, "shape" | "strides">> {
  readonly shape?: readonly (number | bigint)[] | Address;
  readonly strides?: readonly (number | bigint)[] | Address;
}

/** Memory that ends at a page that cannot be touched, and is never freed: a read beyond it ends the process. */
function guarded(byteLength: number): { readonly address: Address; readonly view: DataView<ArrayBuffer> } {
  const { address, start } = mapBlock({ byteLength, align: 8, guard: true, sharable: false });
  const at = address + BigInt(start) as Address;
  return { address: at, view: viewAt(at, byteLength, "test") };
}

/** The elements. */
export const DATA: Address = (() => {
  const { address, view } = guarded(4096);
  for (let i = 0; i < 1024; i++) view.setFloat32(4 * i, i, true);
  return address;
})();

const structs = [guarded(DLManagedTensor.size), guarded(DLManagedTensorVersioned.size)] as const;

/** Places for lists of so many numbers, each before a page that cannot be touched. */
const lists = new Map<string, ReturnType<typeof guarded>>();

function listOf(numbers: readonly (number | bigint)[] | Address, which: string): Address {
  if (typeof numbers === "bigint") return numbers;
  if (numbers.length === 0) return NULL;
  const key = `${which} ${numbers.length}`;
  const list = lists.get(key) ?? guarded(8 * numbers.length);
  lists.set(key, list);
  numbers.forEach((number, i) => list.view.setBigInt64(8 * i, BigInt(number), true));
  return list.address;
}

/** A struct, valid until the next one is made. */
export function structOf(given: Given = {}, version: 0 | 1 = 1): Address {
  const { shape = [2, 3], strides = [3, 1], ...others } = given;
  const { address, view } = structs[version];
  const values: DLManagedTensorVersioned = {
    ...{ major: 1, minor: 0, flags: 0n, manager_ctx: NULL, deleter: NULL, data: DATA, byte_offset: 0n },
    ...{ device_type: dl.kDLCPU, device_id: 0, code: dl.kDLFloat, bits: 32, lanes: 1 },
    ...{ ndim: Array.isArray(shape) ? shape.length : 2, shape: NULL, strides: NULL },
    ...others,
  };
  values.shape = listOf(shape, "shape");
  values.strides = listOf(strides, "strides");
  (version === 1 ? writeDLManagedTensorVersioned : writeDLManagedTensor)(view, 0, values);
  return address;
}

export const HOST = { contexts: [host] } as const;
