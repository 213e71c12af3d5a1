import * as ort from "../../ffi/onnxruntime/constants.ts";
import type { DType } from "../core/layout/dtype.ts";

/** What elements a tensor of a model's has. */
export interface Elements {
  /** ONNX's name: `"float"`. */
  readonly name: string;
  /** What they are in a tensor of ours; undefined for those that no tensor has. */
  readonly dtype: DType | undefined;
}

/** Elements by `ONNXTensorElementDataType`. Booleans are bytes, and a bfloat16 is the upper half of an f32. */
export const ELEMENTS: ReadonlyMap<number, Elements> = new Map<number, Elements>([
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, { name: "float", dtype: "f32" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, { name: "uint8", dtype: "u8" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, { name: "int8", dtype: "i8" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, { name: "uint16", dtype: "u16" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, { name: "int16", dtype: "i16" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, { name: "int32", dtype: "i32" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, { name: "int64", dtype: "i64" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, { name: "float16", dtype: "f16" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, { name: "double", dtype: "f64" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, { name: "uint32", dtype: "u32" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, { name: "uint64", dtype: "u64" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, { name: "bool", dtype: "u8" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, { name: "bfloat16", dtype: "u16" }],
  [ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, { name: "string", dtype: undefined }],
]);

/** The elements of a tensor of ours, where a model says no other. */
export const TYPES: ReadonlyMap<DType, number> = new Map(
  [...ELEMENTS].reverse().flatMap(([type, { dtype }]) => dtype === undefined ? [] : [[dtype, type]]),
);
