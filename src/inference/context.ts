import type { Address } from "../../ffi/address.ts";
import type { Memory, MemoryTarget } from "../core/contract.ts";
import { DeviceContext } from "../core/graph/device_context.ts";
import type { DType } from "../core/layout/dtype.ts";
import type { LayoutInit } from "../core/layout/layout.ts";
import { mapBlock, PAGE } from "../core/native/blocks.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { allocateTensor } from "../core/tensors/over.ts";
import { samePointers } from "../core/tensors/pointer.ts";
import type { TensorInit } from "../core/tensors/tensor.ts";
import type { InferenceTensor, Values } from "./tensor.ts";

/** A runtime that is open on a device. It is the only target of its memory, which is the CPU's. */
export abstract class InferenceContext<T extends InferenceTensor = InferenceTensor> extends DeviceContext
  implements MemoryTarget<T> {
  /** The kind of memory. */
  abstract readonly kind: string;
  /** Itself. */
  readonly context: this = this;
  /** Itself. */
  override readonly targets: readonly [this] = [this];
  /** What it gives to other APIs and takes from them: host memory without gaps, in place. */
  abstract readonly ports: Memory<T, Address>;
  /** How the runtime makes its own objects over memory. For sessions. */
  abstract readonly values: Values;

  /** True for tensors of this context. */
  is(value: Mapped): value is T {
    return (value as Mapped | undefined | null)?.target === this;
  }

  /**
   * New zeroed memory, page-aligned, which the runtime and the host use in place.
   *
   * @throws {LayoutError} for an invalid layout, or one with gaps.
   * @throws {NativeCallError} where there is not enough memory.
   */
  allocate(init: LayoutInit): T {
    return allocateTensor<T>(this, init);
  }
}

/** The ports of such memory. `tensor` makes its tensors. */
export function inferenceMemory<T extends InferenceTensor>(
  name: string,
  dtypes: readonly DType[],
  tensor: (init: TensorInit<Address>) => T,
): Memory<T, Address> {
  const pointers = samePointers(tensor);
  const takes = { dtypes, dense: "all", of: name } as const;
  return {
    ...pointers,
    imports: pointers.imports.map((offer) => ({ ...offer, takes })),
    allocate(byteLength) {
      const { address, free } = mapBlock({ byteLength, align: PAGE, sharable: false, guard: false });
      return { handle: address, address, release: () => free("unused") };
    },
  };
}
