import type { Address } from "../../ffi/address.ts";
import * as ort from "../../ffi/onnxruntime/constants.ts";
import type { Memory } from "../core/contract.ts";
import type { DType } from "../core/layout/dtype.ts";
import type { Part } from "../core/tensors/tensor.ts";
import { inferenceMemory } from "../inference/context.ts";
import type { ModelValue } from "../inference/session.ts";
import { InferenceTensor } from "../inference/tensor.ts";

/** Memory that ONNX Runtime reads and writes in place. Its handle is an `OrtValue`. */
export class OnnxRuntimeTensor extends InferenceTensor {
  /** A part of it. */
  protected derive(part: Part): OnnxRuntimeTensor {
    return new OnnxRuntimeTensor(this.initOf(part));
  }
}

/** The `ONNXTensorElementDataType` of the elements of our tensors. */
const TYPES: Readonly<Record<DType, number>> = {
  f32: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
  u8: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
  i8: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
  u16: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
  i16: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
  i32: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
  i64: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
  f16: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
  f64: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
  u32: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
  u64: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
};

const DTYPES = Object.keys(TYPES) as DType[];

/** All that the host has, without gaps. */
export const ports: Memory<OnnxRuntimeTensor, Address> = inferenceMemory(
  "an OrtValue",
  DTYPES,
  (init) => new OnnxRuntimeTensor(init),
);

/** Elements that no dtype is, and which tensors have them: a boolean is a byte, and a bfloat16 the upper half of an f32. */
const OTHERS: Readonly<Record<string, { readonly type: number; readonly dtype: DType }>> = {
  bool: { type: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, dtype: "u8" },
  bfloat16: { type: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, dtype: "u16" },
};

/** The `ONNXTensorElementDataType` of elements, by what a model calls them where no dtype is that. */
export function typeOf(dtype: DType, elements: string | undefined): number {
  return elements === undefined ? TYPES[dtype] : OTHERS[elements].type;
}

/** What elements of a model's are in a tensor; undefined for those that no tensor has. */
export function elementsOf(type: number): Pick<ModelValue, "dtype" | "elements"> | undefined {
  const dtype = DTYPES.find((dtype) => TYPES[dtype] === type);
  if (dtype !== undefined) return { dtype };
  const [elements, other] = Object.entries(OTHERS).find(([, other]) => other.type === type) ?? [];
  return other && { dtype: other.dtype, elements: elements! };
}

/** What a model calls elements, for messages: `"STRING"`. */
export function elementsName(type: number): string {
  const names = Object.entries(ort).flatMap(([name, value]) =>
    value === type ? [/^\w+_ELEMENT_DATA_TYPE_(\w+)/.exec(name)] : []
  );
  return names.find((name) => name !== null)?.[1] ?? `ONNXTensorElementDataType ${type}`;
}
