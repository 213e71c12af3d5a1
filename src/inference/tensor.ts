import type { Address } from "../../ffi/address.ts";
import { Checks } from "../core/checks.ts";
import { isGapless } from "../core/layout/layout.ts";
import { counted } from "../core/life/ledger.ts";
import { PointerTensor } from "../core/tensors/pointer.ts";
import type { InferenceContext } from "./context.ts";
import type { Elements } from "./elements.ts";

/** What a runtime reports about one of its objects over CPU memory. */
export interface ValueInfo {
  /** The address of the first element. */
  readonly address: Address;
  /** The runtime's number for the type of the elements. */
  readonly type: number;
  /** Elements along each dimension, which may be 0. A scalar has no dimension. */
  readonly shape: readonly number[];
}

/** How a runtime makes its own objects over memory: `ov::Tensor`, `OrtValue`. */
export interface Values {
  /** The objects' kind in the ledger. */
  readonly kind: string;
  /** The runtime's element types. */
  readonly elements: Elements;
  /** Makes an object over dense elements at an address. */
  over(address: Address, type: number, shape: readonly number[], byteLength: number): Address;
  /** Describes an object as it is now. */
  infoOf(object: Address): ValueInfo;
  /** Elements along each dimension, also for memory that is not the CPU's. */
  shapeOf(object: Address): readonly number[];
  /** Frees the object, and the memory if the object owns it. */
  free(object: Address): void;
}

/** A runtime's object over a tensor's bytes. Its shape may have more or fewer dimensions of 1 than the tensor's. */
interface Value {
  readonly shape: readonly number[];
  readonly elements: string | undefined;
  readonly object: Address;
  readonly older: Value | undefined;
}

/** Memory that a runtime reads and writes in place. Its handle is the runtime's own object over it. */
export abstract class InferenceTensor extends PointerTensor {
  /** The context whose sessions take it. */
  declare readonly target: InferenceContext;
  #newest: Value | undefined;
  #key: number | undefined;

  /**
   * The number by which a request remembers whose object it has. It changes when an object is forgotten. For sessions.
   */
  get key(): number {
    return this.#key ?? this.id;
  }

  /**
   * The runtime's own object over the bytes, made on first use.
   *
   * @throws {DisposedError} if the tensor was disposed.
   * @throws {AccessError} while its bytes are lent for writing.
   * @throws {LayoutError} for a slice with gaps: the runtime has no strides.
   */
  override get handle(): Address {
    this.assertUsable(this.leastAccess);
    return this.objectIn(this.shape);
  }

  /** Undefined for GPU memory. */
  protected override get hostAddress(): bigint | undefined {
    return this.target.isHost ? this.address : undefined;
  }

  /** Makes a new object over the bytes. */
  protected objectOver(type: number, shape: readonly number[]): Address {
    return this.target.values.over(this.address, type, shape, this.byteLength);
  }

  /** The object over the bytes in another shape of as many elements in the same order. For sessions. */
  objectIn(shape: readonly number[], elements?: string): Address {
    for (let value = this.#newest; value !== undefined; value = value.older) {
      if (value.elements === elements && isSameShape(value.shape, shape)) return value.object;
    }
    const { layout, target } = this;
    if (!isGapless(layout)) {
      throw new Checks(target.api).unfit("layout", "there are gaps between its elements.", DENSE);
    }
    const { values } = target;
    const type = values.elements.typeOf(layout.dtype, elements);
    const object = this.objectOver(type, shape);
    this.resource.undo.push(counted(values.kind, () => values.free(object)));
    this.know(object, shape, elements);
    return object;
  }

  /** Remembers an object over the bytes that its owner frees after the tensor's end. For contexts. */
  know(object: Address, shape: readonly number[], elements?: string): void {
    this.#newest = { shape, elements, object, older: this.#newest };
  }

  /** Forgets an object whose shape the runtime has changed. For sessions. */
  forget(object: Address): void {
    let kept: Value | undefined;
    for (let value = this.#newest; value !== undefined; value = value.older) {
      if (value.object !== object) kept = { ...value, older: kept };
    }
    this.#newest = kept;
    this.#key = --lastForgotten;
  }
}

/** Negative, so that it is no {@link Tensor.id}. */
let lastForgotten = 0;

export const DENSE = "The runtime's C API has no strides: copy it to a layout without gaps.";

export function isSameShape(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((n, i) => n === other[i]);
}
