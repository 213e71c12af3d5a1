import type { Address } from "../../ffi/address.ts";
import type { Values } from "../inference/tensor.ts";
import { thenUndo } from "../core/life/undo.ts";
import { call, numberOf, ort, resultOf } from "./library.ts";
import { elements } from "./memory.ts";

/** The shape of the object that is being made: tensors have 32 dimensions at most. */
const SHAPE = new BigInt64Array(32);

/** OrtValues over memory that an `OrtMemoryInfo` describes: the CPU's, or a CUDA GPU's. */
export function valuesIn(memory: Address): Values {
  return {
    kind: "onnxruntime.value",
    elements,
    over(address, type, shape, byteLength) {
      for (let i = 0; i < shape.length; i++) SHAPE[i] = BigInt(shape[i]);
      const fn = "CreateTensorWithDataAsOrtValue";
      const [length, rank] = [BigInt(byteLength), BigInt(shape.length)];
      return resultOf(fn, memory, address, length, SHAPE, rank, type);
    },
    infoOf(value) {
      const address = resultOf("GetTensorMutableData", value);
      return ofValue(value, (info) => ({ address, shape: shapeOf(info), type: typeOf(info) }));
    },
    shapeOf: (value) => ofValue(value, shapeOf),
    free: (value) => ort().ReleaseValue(value),
  };
}

/** Reads an OrtValue's `OrtTensorTypeAndShapeInfo`. */
function ofValue<T>(value: Address, read: (info: Address) => T): T {
  const info = resultOf("GetTensorTypeAndShape", value);
  return thenUndo("reading an OrtValue", () => read(info), [() => ort().ReleaseTensorTypeAndShapeInfo(info)]);
}

/** The `ONNXTensorElementDataType` in an `OrtTensorTypeAndShapeInfo`. */
export function typeOf(info: Address): number {
  return numberOf("GetTensorElementType", info);
}

/** The shape in an `OrtTensorTypeAndShapeInfo`; -1 for a dynamic dimension. */
export function shapeOf(info: Address): readonly number[] {
  const count = resultOf("GetDimensionsCount", info);
  const shape = new BigInt64Array(Number(count));
  call("GetDimensions", info, shape, count);
  return Array.from(shape, Number);
}
