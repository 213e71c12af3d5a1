import type { Address } from "../../../ffi/address.ts";
import type { Memory, MemoryTarget } from "../contract.ts";
import { type Context, PrintedTarget } from "../graph/context.ts";
import { SAME_ADDRESS } from "../graph/mapper.ts";
import { describeLayout, type Layout, type LayoutInit } from "../layout/layout.ts";
import { Allocation, type Block } from "../memory/allocation.ts";
import { own } from "../memory/own.ts";
import type { DescribedPlane } from "./described.ts";
import type { Mapped } from "./mapped.ts";
import { firstElement, type SliceOptions, Tensor, type TensorInit } from "./tensor.ts";

/** The ports of memory that is the host's: the address is the same on both sides. `tensor` makes its tensors. */
export function samePointers<T extends Tensor & { readonly address: Address }>(
  tensor: (init: TensorInit<Address>) => T,
): Memory<T, Address> {
  return {
    exports: [{ kind: "host-pointer", verdict: SAME_ADDRESS }],
    imports: [{ kind: "host-pointer", verdict: SAME_ADDRESS }],
    import: ({ value }) => ({ handle: value as Address }),
    tensor,
    addressOf: firstElement,
  };
}

/** A block that device code reaches by its address. */
export interface PointerBlock extends Block {
  /** The address of its first byte. */
  readonly address: Address;
}

/** Memory whose handle is its address. A part has an offset, and may begin at any byte. */
export abstract class PointerTensor extends Tensor<Address> {
  /** The address of its first element, which device code gets. */
  get address(): Address {
    return firstElement({ handle: this.rawHandle, layout: this.layout });
  }

  /** The same for routes; undefined for memory that the host never reaches. */
  protected override get hostAddress(): bigint | undefined {
    return this.address;
  }

  /** Lends a part as a child. @see {@link Tensor.slice} */
  override slice(init: Layout | LayoutInit, options: SliceOptions = {}): this {
    return super.slice(init, options) as this;
  }
}

/** Where the first of some planes in the host's memory begins, and the last one ends. */
export function endsOf(planes: readonly DescribedPlane[]): readonly [start: Address, end: bigint] {
  let start = planes[0].address!;
  let end = 0n;
  for (const plane of planes) {
    const { layout: { byteLength } } = plane;
    const address = plane.address!;
    const after = address + BigInt(byteLength);
    if (address < start) start = address;
    if (after > end) end = after;
  }
  return [start as Address, end];
}

/** A kind of memory that device code reaches by address, as a target. */
export abstract class PointerMemory<T extends Tensor, C extends Context = Context> extends PrintedTarget<C>
  implements MemoryTarget<T> {
  /** What it gives to others and takes from them. `ports.tensor` makes its tensors. */
  abstract readonly ports: Memory<T, Address>;

  /** True for tensors of this memory. */
  abstract is(value: Mapped): value is T;

  /** The tensor that owns a new block. */
  protected own(block: PointerBlock, at: Layout): T {
    const { byteOffset: start, byteLength } = at;
    const name = `${this.kind} tensor ${describeLayout(at)}`;
    const owners = [this.context.resource];
    const resource = own({ name, allocation: new Allocation(block), start, end: start + byteLength, owners });
    return this.ports.tensor!({ target: this, handle: block.address, layout: at, resource });
  }
}
