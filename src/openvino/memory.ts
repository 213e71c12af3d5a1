import type { Address } from "../../ffi/address.ts";
import * as ov from "../../ffi/openvino/constants.ts";
import type { Memory } from "../core/contract.ts";
import { inferenceMemory } from "../inference/context.ts";
import { Elements } from "../inference/elements.ts";
import { InferenceTensor } from "../inference/tensor.ts";
import type { OpenVINOContext } from "./context.ts";

/** Memory that OpenVINO reads and writes in place. Its handle is an `ov_tensor_t`. */
export class OpenVINOTensor extends InferenceTensor {
  /** The context whose sessions take it. */
  declare readonly target: OpenVINOContext;
}

/** The `ov_element_type_e` of each dtype. */
export const TYPES = {
  ...{ f32: ov.F32, f16: ov.F16, f64: ov.F64, u8: ov.U8, i8: ov.I8, u16: ov.U16, i16: ov.I16 },
  ...{ u32: ov.U32, i32: ov.I32, u64: ov.U64, i64: ov.I64 },
} as const;

export const elements: Elements = new Elements({
  ...{ api: "openvino", fn: "ov_port_get_element_type", type: "ov_element_type_e", dtypes: TYPES, texts: ov.STRING },
  others: { boolean: { type: ov.BOOLEAN, dtype: "u8" }, bf16: { type: ov.BF16, dtype: "u16" } },
});

/** The element types that the CPU plugin computes with. It converts all others in a buffer of its own. */
export const NATIVE: ReadonlySet<number> = new Set([ov.F32, ov.F16, ov.BF16, ov.U8, ov.I8, ov.I32, ov.BOOLEAN]);

/** Host memory without gaps. */
export const ports: Memory<OpenVINOTensor, Address> = inferenceMemory(
  "an ov::Tensor",
  elements,
  (init) => new OpenVINOTensor(init),
);
