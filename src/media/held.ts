import { AccessError } from "../core/errors.ts";
import type { FrameInfo } from "../core/layout/frame_info.ts";
import type { Layout } from "../core/layout/layout.ts";
import { type Access, writes } from "../core/memory/access.ts";
import type { AdoptedPlane } from "../core/tensors/adopt.ts";
import type { Address } from "../../ffi/address.ts";
import type { Wanted } from "./context.ts";

/** A block of memory that a native frame refers to. */
export interface HeldBlock {
  /** What has made it. */
  readonly kind: string;
  readonly address: Address;
  readonly byteLength: number;
}

/** In which of a frame's blocks a plane lies, and where there. */
export type HeldPlane = readonly [block: number, layout: Layout];

/** What the native frames of a stream have in common. */
export interface HeldStream {
  readonly info: FrameInfo;
  readonly planes: readonly HeldPlane[];
}

/** The planes in these blocks. */
export function planesIn(blocks: readonly HeldBlock[], { planes }: HeldStream): AdoptedPlane[] {
  return planes.map(([i, layout]) => ({ handle: blocks[i].address, layout, block: blocks[i] }));
}

/** The numbers by which a library says what a frame is, one after the other, for {@link Recent}. */
export class Numbers {
  #numbers = new Float64Array(256);
  #count = 0;

  /** Begins with none. */
  begin(): void {
    this.#count = 0;
  }

  add(number: number): void {
    if (this.#count === this.#numbers.length) this.#grow(); // sound of a hundred channels
    this.#numbers[this.#count++] = number;
  }

  /** The numbers of 32 bits from a byte of a struct up to another; for a struct that is not there, that it is not. */
  addWords(view: DataView | undefined, from: number, to: number): void {
    this.add(view === undefined ? 0 : 1);
    if (view !== undefined) { for (let at = from; at < to; at += 4) this.add(view.getInt32(at, true)); }
  }

  /** What layouts depend on: how long blocks are, and how their addresses are aligned. */
  addBlocks(blocks: readonly HeldBlock[]): void {
    for (const { address, byteLength } of blocks) {
      this.add(byteLength);
      this.add(Number(address & 7n));
    }
  }

  /** All that was added. It is valid until the next begins. */
  get all(): Float64Array {
    return this.#numbers.subarray(0, this.#count);
  }

  #grow(): void {
    const before = this.#numbers;
    this.#numbers = new Float64Array(2 * before.length);
    this.#numbers.set(before);
  }
}

/** What is said of a native frame that others may refer to. */
export interface Shared {
  /** False where others refer to its memory. */
  readonly isWritable: boolean;
  /** False for memory of a device. */
  readonly canCopy: boolean;
  /** The library and the native frame, as messages name them, and the function that has said whether it is shared. */
  readonly library: string;
  readonly object: string;
  readonly fn: string;
  readonly api: string;
  /** What copies memory of a device. */
  readonly remedy?: string;
}

/** How it is used, and whether that takes a copy. @throws {AccessError} to write what others refer to, without a copy. */
export function accessIn(
  { access: asked, mayCopy }: Wanted,
  { isWritable, canCopy, library, object, fn, api, remedy = "" }: Shared,
): { readonly access: Access; readonly isCopy: boolean } {
  const copies = mayCopy && canCopy;
  const access = asked ?? (isWritable || copies ? "read-write" : "read");
  const isCopy = !isWritable && writes(access);
  if (!isCopy || copies) return { access, isCopy };
  throw new AccessError(`access: others refer to the memory of the ${object}, and ${library} lets it be read only.`, {
    ...{ api, fn, argument: "access" },
    hint: canCopy
      ? 'Pass { access: "read" }, or { copy: "allow" } for a copy that can be written.'
      : `Pass { access: "read" }. ${remedy}`.trim(),
  });
}
