import type { Address } from "../../ffi/address.ts";
import { ov_shape_t, readOvShape, writeOvShape } from "../../ffi/openvino/structs.ts";
import { thenUndo } from "../core/life/undo.ts";
import { FixedStruct, viewAt } from "../core/native/pin.ts";
import type { Values } from "../inference/tensor.ts";
import { call, check, numberOf, ov, resultOf } from "./library.ts";
import { OUT } from "../inference/calls.ts";
import { elements } from "./memory.ts";

/** OpenVINO's own tensors over CPU memory. */
export const values: Values = {
  kind: "openvino.value",
  elements,
  over(address, type, shape) {
    check(ov().ov_tensor_create_from_host_ptr(type, shapeFor(shape), address, OUT), "ov_tensor_create_from_host_ptr");
    return OUT[0] as Address;
  },
  infoOf: (tensor) => ({
    address: resultOf("ov_tensor_data", tensor),
    type: numberOf("ov_tensor_get_element_type", tensor),
    shape: shapeOf(tensor),
  }),
  shapeOf,
  free: (tensor) => ov().ov_tensor_free(tensor),
};

/** A tensor in OpenVINO's own memory, which OpenVINO allocates anew for a larger shape. */
export function ownTensor(type: number, shape: readonly number[]): Address {
  return resultOf("ov_tensor_create", type, shapeFor(shape));
}

function shapeOf(tensor: Address): readonly number[] {
  const shape = new DataView(new ArrayBuffer(ov_shape_t.size));
  call("ov_tensor_get_shape", tensor, shape);
  return thenUndo("reading a shape", () => {
    const { rank, dims } = readOvShape(shape, 0);
    return numbersAt(dims, Number(rank));
  }, [() => call("ov_shape_free", shape)]);
}

function numbersAt(address: Address, count: number): readonly number[] {
  if (count === 0) return [];
  return Array.from(new BigInt64Array(viewAt(address, 8 * count, "openvino").buffer), Number);
}

/** Room for the 32 dimensions of a tensor, at a fixed address. OpenVINO copies them in each call. */
const DIMENSIONS = new FixedStruct(8 * 32);

const SHAPE = new DataView(new ArrayBuffer(ov_shape_t.size));

/** An `ov_shape_t`, valid until the next call. */
export function shapeFor(shape: readonly number[]): DataView<ArrayBuffer> {
  const { view, address } = DIMENSIONS;
  for (let i = 0; i < shape.length; i++) view.setBigInt64(8 * i, BigInt(shape[i]), true);
  writeOvShape(SHAPE, 0, { rank: BigInt(shape.length), dims: address });
  return SHAPE;
}
