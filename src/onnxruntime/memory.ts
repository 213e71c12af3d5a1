import type { Address } from "../../ffi/address.ts";
import * as ort from "../../ffi/onnxruntime/constants.ts";
import type { Memory } from "../core/contract.ts";
import { inferenceMemory } from "../inference/context.ts";
import { Elements } from "../inference/elements.ts";
import { InferenceTensor } from "../inference/tensor.ts";

/** Memory that ONNX Runtime reads and writes in place. Its handle is an `OrtValue`. */
export class OnnxRuntimeTensor extends InferenceTensor {}

/** A boolean is a byte; a bfloat16 is the upper half of an f32. */
export const elements: Elements = new Elements({
  ...{ api: "onnxruntime", fn: "GetTensorElementType", type: "ONNXTensorElementDataType" },
  dtypes: {
    f32: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
    f16: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
    f64: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
    u8: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
    i8: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
    u16: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
    i16: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
    u32: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
    i32: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
    u64: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
    i64: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
  },
  others: {
    bool: { type: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, dtype: "u8" },
    bfloat16: { type: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, dtype: "u16" },
  },
  texts: ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
});

/** Host memory without gaps. */
export const ports: Memory<OnnxRuntimeTensor, Address> = inferenceMemory(
  "an OrtValue",
  elements,
  (init) => new OnnxRuntimeTensor(init),
);
