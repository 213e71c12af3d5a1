import type { Address } from "../../../ffi/address.ts";
import { AccessError, throwAll } from "../../core/errors.ts";
import { ledger } from "../../core/life/ledger.ts";
import { unwind } from "../../core/life/undo.ts";
import type { CudaBlock } from "./block.ts";

/** So many blocks, and the bytes that they have together. */
export interface BlockCount {
  /** Blocks. */
  readonly blocks: number;
  /** Bytes. */
  readonly bytes: number;
}

/** What a pool of blocks holds, and how well it did. */
export interface BlockPoolStatistics {
  /** Handed out. */
  readonly lent: BlockCount;
  /** There to be handed out. */
  readonly idle: BlockCount;
  /** Dropped, because a view of them was moved away: they are kept for good. */
  readonly quarantined: BlockCount;
  /** How often a block had to be made. */
  readonly made: number;
  /** How often one was there. */
  readonly reused: number;
}

/** How a pool of blocks works. */
export interface BlockPoolOptions {
  /** Makes a block of so many bytes. */
  readonly make: (byteLength: number) => CudaBlock;
  /** What the address of every block is a multiple of, in bytes: a power of two. */
  readonly alignment: number;
  /** The most bytes that the pool holds, those handed out included. */
  readonly mostBytes: number;
}

/** The least block: a page. */
const LEAST = 4096;

/** What the ledger counts a block as, from when it is made until it is freed, handed out or not. */
const KIND = "cuda.pinned_pool.block";

/** Blocks by size class, the powers of two, which are handed out and come back by being freed. */
export class BlockPool {
  readonly #options: BlockPoolOptions;
  readonly #idle = new Map<number, CudaBlock[]>();
  readonly #counts = { lent: count(), idle: count(), quarantined: count() };
  #made = 0;
  #reused = 0;
  #closed = false;

  /** Empty. */
  constructor(options: BlockPoolOptions) {
    this.#options = options;
  }

  /** What it holds. */
  get statistics(): BlockPoolStatistics {
    const { lent, idle, quarantined } = this.#counts;
    const [made, reused] = [this.#made, this.#reused];
    return { lent: { ...lent }, idle: { ...idle }, quarantined: { ...quarantined }, made, reused };
  }

  /** What a block for so many bytes takes: where it begins is not known before. */
  bytesOf(byteLength: number): number {
    return classOf(byteLength) + this.#options.alignment;
  }

  /** Makes a block in advance. @throws what making it throws. */
  prepare(byteLength: number): void {
    this.#keep(this.#make(classOf(byteLength)), classOf(byteLength));
  }

  /**
   * A block of at least so many bytes, aligned. Freeing it gives it back, unless a view of it has escaped.
   *
   * @throws {AccessError} where the pool would hold too many bytes.
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

  /** Frees the blocks that are not handed out. */
  trim(): void {
    const idle = [...this.#idle.values()].flatMap((blocks) => blocks.splice(0));
    for (const { byteLength } of idle) add(this.#counts.idle, byteLength, -1);
    throwAll(unwind(idle.map((block) => () => this.#free(block, "unused"))), "freeing the blocks of a pool");
  }

  /** Frees them, and from now on each that comes back. */
  close(): void {
    this.#closed = true;
    this.trim();
  }

  #make(size: number): CudaBlock {
    const { make, mostBytes } = this.#options;
    const byteLength = this.bytesOf(size);
    const { lent, idle } = this.#counts;
    if (lent.bytes + idle.bytes + byteLength > mostBytes) this.trim();
    if (lent.bytes + byteLength > mostBytes) {
      throw new AccessError(`The pool may hold ${mostBytes} bytes at most, and ${lent.bytes} are handed out.`, {
        api: "cuda",
        argument: "mostBytes",
        hint: "Dispose what was taken first, or make the pool greater.",
      });
    }
    const block = make(byteLength);
    ledger.add(KIND);
    this.#made++;
    return block;
  }

  /** The same block, aligned, as long as it was asked for. */
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

/** The power of two that so many bytes go into. */
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
