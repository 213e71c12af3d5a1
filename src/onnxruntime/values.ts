import type { Address } from "../../ffi/address.ts";
import type { Values } from "../inference/tensor.ts";
import { TYPED_ARRAYS } from "../core/layout/dtype.ts";
import { thenUndo } from "../core/life/undo.ts";
import { check, ort, resultOf } from "./library.ts";
import { typeOf } from "./memory.ts";

/** The most dimensions that an OrtValue of ours has. */
const SHAPE = new BigInt64Array(32);

/** OrtValues over memory that an `OrtMemoryInfo` describes: the CPU's. */
export function valuesIn(memory: Address): Values {
  return {
    kind: "onnxruntime.value",
    over(address, dtype, shape, elements) {
      for (let i = 0; i < shape.length; i++) SHAPE[i] = BigInt(shape[i]);
      const { BYTES_PER_ELEMENT: size } = TYPED_ARRAYS[dtype];
      const byteLength = BigInt(shape.reduce((length, n) => length * n, size));
      const fn = "CreateTensorWithDataAsOrtValue";
      return resultOf(
        fn,
        (out) => ort()[fn](memory, address, byteLength, SHAPE, BigInt(shape.length), typeOf(dtype, elements), out),
      );
    },
    infoOf(value) {
      const address = resultOf("GetTensorMutableData", (out) => ort().GetTensorMutableData(value, out));
      const info = resultOf("GetTensorTypeAndShape", (out) => ort().GetTensorTypeAndShape(value, out));
      return thenUndo("reading an OrtValue", () => ({ address, shape: shapeOf(info) }), [
        () => ort().ReleaseTensorTypeAndShapeInfo(info),
      ]);
    },
    free: (value) => ort().ReleaseValue(value),
  };
}

/** The shape in an `OrtTensorTypeAndShapeInfo`; -1 where any number fits. */
export function shapeOf(info: Address): readonly number[] {
  const count = resultOf("GetDimensionsCount", (out) => ort().GetDimensionsCount(info, out));
  const shape = new BigInt64Array(Number(count));
  check(ort().GetDimensions(info, shape, count), "GetDimensions");
  return Array.from(shape, Number);
}
