import type { Address } from "../../../ffi/address.ts";
import { AccessError } from "../../core/errors.ts";
import { ledger } from "../../core/life/ledger.ts";
import { undoAll } from "../../core/life/undo.ts";
import type { CudaBlock } from "./block.ts";

/** A number of blocks, and their bytes. */
export interface BlockCount {
  /** The number of blocks. */
  readonly blocks: number;
  /** Their bytes together. */
  readonly bytes: number;
}

/** The contents of a pool of blocks, and its use. */
export interface BlockPoolStatistics {
  /** Blocks in use. */
  readonly lent: BlockCount;
  /** Free blocks. */
  readonly idle: BlockCount;
  /** Blocks with an escaped view, which are never freed or reused. */
  readonly quarantined: BlockCount;
  /** The number of blocks made so far. */
  readonly made: number;
  /** The number of reuses so far. */
  readonly reused: number;
}

export interface BlockPoolOptions {
  readonly make: (byteLength: number) => CudaBlock;
  readonly alignment: number;
  readonly maxBytes: number;
}

/** The smallest block: a page. */
const LEAST = 4096;

const KIND = "cuda.pinned_pool.block";

/** A pool of blocks by size class, the powers of two. A block returns to it when it is freed. */
export class BlockPool {
  readonly #options: BlockPoolOptions;
  readonly #idle = new Map<number, CudaBlock[]>();
  readonly #counts = { lent: count(), idle: count(), quarantined: count() };
  #made = 0;
  #reused = 0;
  #closed = false;

  constructor(options: BlockPoolOptions) {
    this.#options = options;
  }

  get statistics(): BlockPoolStatistics {
    const { lent, idle, quarantined } = this.#counts;
    const [made, reused] = [this.#made, this.#reused];
    return { lent: { ...lent }, idle: { ...idle }, quarantined: { ...quarantined }, made, reused };
  }

  bytesOf(byteLength: number): number {
    return classOf(byteLength) + this.#options.alignment;
  }

  prepare(byteLength: number): void {
    this.#keep(this.#make(classOf(byteLength)), classOf(byteLength));
  }

  /**
   * Takes a block, which returns when it is freed, unless a view of it has escaped.
   * @throws {AccessError} if the pool would be too large.
   */
  take(byteLength: number): CudaBlock {
    const size = classOf(byteLength);
    const idle = this.#idle.get(size)?.pop();
    if (idle !== undefined) {
      this.#reused++;
      move(this.#counts.idle, this.#counts.lent, idle.byteLength);
      return this.#lent(idle, size, byteLength);
    }
    const made = this.#make(size);
    add(this.#counts.lent, made.byteLength);
    return this.#lent(made, size, byteLength);
  }

  trim(): void {
    const idle = [...this.#idle.values()].flatMap((blocks) => blocks.splice(0));
    for (const { byteLength } of idle) add(this.#counts.idle, byteLength, -1);
    undoAll(idle.map((block) => () => this.#free(block, "unused")), "freeing the blocks of a pool");
  }

  /** Frees the idle blocks now, and the others when they return. */
  close(): void {
    this.#closed = true;
    this.trim();
  }

  #make(size: number): CudaBlock {
    const { make, maxBytes } = this.#options;
    const byteLength = this.bytesOf(size);
    const { lent, idle } = this.#counts;
    if (lent.bytes + idle.bytes + byteLength > maxBytes) this.trim();
    if (lent.bytes + byteLength > maxBytes) {
      throw new AccessError(`The pool may hold ${maxBytes} bytes, and ${lent.bytes} are in use.`, {
        api: "cuda",
        argument: "maxBytes",
        hint: "Dispose some of its tensors, or make the pool larger.",
      });
    }
    const block = make(byteLength);
    ledger.add(KIND);
    this.#made++;
    return block;
  }

  #lent(whole: CudaBlock, size: number, byteLength: number): CudaBlock {
    const alignment = BigInt(this.#options.alignment);
    const shift = (alignment - whole.hostAddress! % alignment) % alignment;
    const at = (address: Address) => address + shift as Address;
    return {
      ...whole,
      address: at(whole.hostAddress!),
      hostAddress: at(whole.hostAddress!),
      deviceAddress: at(whole.deviceAddress),
      byteLength,
      free: (fate) => {
        add(this.#counts.lent, whole.byteLength, -1);
        if (fate === "unused" && !this.#closed) return this.#keep(whole, size);
        if (fate !== "unused") add(this.#counts.quarantined, whole.byteLength);
        this.#free(whole, fate);
      },
    };
  }

  #keep(block: CudaBlock, size: number): void {
    add(this.#counts.idle, block.byteLength);
    const there = this.#idle.get(size);
    if (there === undefined) this.#idle.set(size, [block]);
    else there.push(block);
  }

  #free(block: CudaBlock, fate: Parameters<CudaBlock["free"]>[0]): void {
    ledger.remove(KIND);
    block.free(fate);
  }
}

export function classOf(byteLength: number): number {
  let size = LEAST;
  while (size < byteLength) size *= 2;
  return size;
}

function count(): { blocks: number; bytes: number } {
  return { blocks: 0, bytes: 0 };
}

function add(to: { blocks: number; bytes: number }, bytes: number, blocks: 1 | -1 = 1): void {
  to.blocks += blocks;
  to.bytes += blocks * bytes;
}

function move(from: { blocks: number; bytes: number }, to: { blocks: number; bytes: number }, bytes: number): void {
  add(from, bytes, -1);
  add(to, bytes);
}
