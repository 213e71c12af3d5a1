import type { Address } from "../../ffi/address.ts";
import * as ov from "../../ffi/openvino/constants.ts";
import type { Memory } from "../core/contract.ts";
import { InteropError } from "../core/errors.ts";
import type { DType } from "../core/layout/dtype.ts";
import type { Part } from "../core/tensors/tensor.ts";
import { inferenceMemory } from "../inference/context.ts";
import type { ModelValue } from "../inference/session.ts";
import { InferenceTensor } from "../inference/tensor.ts";

/** Memory that OpenVINO reads and writes in place. Its handle is an `ov_tensor_t`. */
export class OpenVINOTensor extends InferenceTensor {
  /** A part of it. */
  protected derive(part: Part): OpenVINOTensor {
    return new OpenVINOTensor(this.initOf(part));
  }
}

/** The `ov_element_type_e` of the elements of our tensors. */
export const TYPES: Readonly<Record<DType, number>> = {
  f32: ov.F32,
  u8: ov.U8,
  i8: ov.I8,
  i32: ov.I32,
  f16: ov.F16,
  i64: ov.I64,
  u16: ov.U16,
  i16: ov.I16,
  u32: ov.U32,
  u64: ov.U64,
  f64: ov.F64,
};

const DTYPES = Object.keys(TYPES) as DType[];

/** The types of elements that the CPU plugin computes with: it converts all others in a buffer of its own. */
export const NATIVE: ReadonlySet<number> = new Set([ov.F32, ov.F16, ov.BF16, ov.U8, ov.I8, ov.I32, ov.BOOLEAN]);

/** Elements that no dtype is, by OpenVINO's names, and the dtype that has their bits. */
export const OTHERS: Readonly<Record<string, { readonly type: number; readonly dtype: DType }>> = {
  boolean: { type: ov.BOOLEAN, dtype: "u8" },
  bf16: { type: ov.BF16, dtype: "u16" },
};

/** All that the host has, without gaps. */
export const ports: Memory<OpenVINOTensor, Address> = inferenceMemory(
  "an ov::Tensor",
  DTYPES,
  (init) => new OpenVINOTensor(init),
);

/** What elements of a model's are in a tensor. @throws {InteropError} for those that no tensor has: texts, 4 bits. */
export function elementsOf(type: number, argument: string): Pick<ModelValue, "dtype" | "elements"> {
  const dtype = DTYPES.find((dtype) => TYPES[dtype] === type);
  if (dtype !== undefined) return { dtype };
  const elements = Object.keys(OTHERS).find((name) => OTHERS[name].type === type);
  if (elements !== undefined) return { dtype: OTHERS[elements].dtype, elements };
  const what = type === ov.STRING ? "texts" : `elements of ov_element_type_e ${type}`;
  throw new InteropError(`${argument} has ${what}, which no tensor has.`, {
    ...{ api: "openvino", fn: "ov_port_get_element_type", hint: "Convert the model." },
  });
}
