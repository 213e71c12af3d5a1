import type { Address } from "../../ffi/address.ts";
import type { Memory } from "../core/contract.ts";
import { SAME_ADDRESS } from "../core/graph/mapper.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import { PointerTensor, samePointers } from "../core/tensors/pointer.ts";
import type { Part, TensorInit } from "../core/tensors/tensor.ts";
import type { OnnxRuntimeContext } from "./context.ts";
import { TYPES } from "./elements.ts";
import { made, ort } from "./library.ts";

/** The longest shape that a tensor of ours has. */
const SHAPE = new BigInt64Array(32);

/** Memory as ONNX Runtime uses it: an `OrtValue`. */
export class OnnxRuntimeTensor extends PointerTensor {
  /** Those over its bytes, by the type of their elements. They are made when they are first asked for. */
  readonly #values = new Map<number, Address>();

  /** The `OrtValue` over its bytes. It ends with the tensor. */
  override get handle(): Address {
    void super.handle; // its checks
    return this.value(TYPES.get(this.dtype)!);
  }

  /** @internal The `OrtValue` over its bytes, as elements of a type that a model demands. */
  value(type: number): Address {
    const known = this.#values.get(type);
    if (known !== undefined) return known;
    const { layout: { shape, byteLength }, address } = this;
    for (let i = 0; i < shape.length; i++) SHAPE[i] = BigInt(shape[i]);
    const { memoryInfo } = this.target.context as OnnxRuntimeContext;
    const fn = "CreateTensorWithDataAsOrtValue";
    const value = made(fn, (out) => {
      return ort()[fn](memoryInfo, address, BigInt(byteLength), SHAPE, BigInt(shape.length), type, out);
    });
    const isFirst = this.#values.size === 0;
    this.#values.set(type, value);
    if (isFirst) this.resource.undo.push(releaseOf(this.#values));
    return value;
  }

  /** A part of it, over the same bytes. */
  protected derive(part: Part): OnnxRuntimeTensor {
    return new OnnxRuntimeTensor(this.initOf(part));
  }
}

/** Apart from the tensor, which a closure would keep alive. */
function releaseOf(values: ReadonlyMap<number, Address>): () => void {
  return () => {
    for (const value of values.values()) ort().ReleaseValue(value);
  };
}

/** Memory of the host, where elements lie without gaps, and at multiples of their size. */
export const ports: Memory<OnnxRuntimeTensor, Address> = {
  ...samePointers((init: TensorInit<Address>) => new OnnxRuntimeTensor(init)),
  imports: [{
    kind: "host-pointer",
    takes: { dense: "all", of: "an OrtValue" },
    judge: () => SAME_ADDRESS,
    refuse: ({ address, planes }) => {
      const [{ layout: { dtype } }] = planes;
      const size = sizeOf(dtype);
      if (address === undefined || address % BigInt(size) === 0n) return undefined;
      return { reason: `the address 0x${address.toString(16)} is no multiple of the ${size} bytes of ${dtype}.` };
    },
  }],
};
