import { type Address, NULL } from "../../../ffi/address.ts";
import type { Block, Fate } from "../memory/allocation.ts";
import { type Undo, undoAll, undone } from "../life/undo.ts";
import { createMemfd, type Memfd } from "./memfd.ts";
import { mappingCount } from "./mapping_count.ts";
import { adviseHugePages, mapPages, PAGE, reservePages, unmapPages } from "./pages.ts";
import { LONGEST_IN_SLAB, takeFromSlab } from "./slabs.ts";

export { PAGE } from "./pages.ts";

/** Lengths of blocks are multiples of this: a cache line, and what GPUs that share the CPU's memory want. */
export const LENGTH_MULTIPLE = 64;

export interface MappedBlock extends Block {
  readonly address: Address;
  /** Where the requested bytes begin in it: 0, unless they end at a guard page. */
  readonly start: number;
  /** The file that it is; undefined for anonymous memory. */
  readonly memfd?: Memfd;
}

export interface BlockInit {
  /** Bytes: rounded up to a multiple of 64. */
  readonly byteLength: number;
  /** The requested bytes begin at a multiple of this power of two. */
  readonly align: number;
  /** Puts it in a memfd, so that other processes and APIs can map it. */
  readonly sharable: boolean;
  /** Adds an inaccessible page after its end; the bytes end there, as far as `align` allows. */
  readonly guard: boolean;
}

/**
 * Makes a block of zeroed memory. Small blocks share a mapping (see slabs.ts), because a process may have only so many;
 * a block that is aligned beyond a page, sharable or guarded has its own.
 * @throws {ArgumentError} if there are too many mappings already.
 * @throws {NativeCallError} ENOMEM if memory runs out, EMFILE if a memfd meets the limit of open files.
 */
export function mapBlock(init: BlockInit): MappedBlock {
  const byteLength = Math.ceil(init.byteLength / LENGTH_MULTIPLE) * LENGTH_MULTIPLE;
  const plain = init.align <= PAGE && !init.sharable && !init.guard;
  if (!plain || byteLength > LONGEST_IN_SLAB) return ownMapping(init, byteLength);
  return { kind: "host.block", byteLength, start: 0, ...takeFromSlab(byteLength) };
}

/** So many bytes hold a huge page of 2 MiB wherever they begin. */
const ROOM_FOR_HUGE_PAGE = 4 << 20;

/** A block with its own mapping; a guard page is one more mapping. */
function ownMapping(init: BlockInit, rounded: number): MappedBlock {
  const pages = Math.ceil(rounded / PAGE) * PAGE;
  const byteLength = init.guard ? pages : rounded;
  const span = pages + (init.guard ? PAGE : 0);
  const count = init.guard ? 2 : 1;
  const [undo, file]: [Undo, Undo] = [[], []];
  try {
    mappingCount.take(count);
    undo.push(() => mappingCount.giveBack(count));
    const made = init.sharable ? createMemfd(pages, file) : undefined;
    const address = reserve(init, pages, span, made?.fd, undo);
    return {
      kind: "host.block",
      address,
      byteLength,
      start: init.guard ? Math.floor((pages - init.byteLength) / init.align) * init.align : 0,
      ...(made === undefined ? {} : { memfd: made.memfd }),
      free: (fate) => free(fate, address, pages, span, file, count),
    };
  } catch (error) {
    throw undone(error, [...file, ...undo], "allocating host memory");
  }
}

/** Addresses for the block, with memory behind them. */
function reserve(init: BlockInit, pages: number, span: number, fd: number | undefined, undo: Undo): Address {
  let address = NULL;
  if (init.align > PAGE || init.guard) {
    address = reserveAligned(span, init.align, undo);
    mapPages(address, pages, fd);
  } else {
    address = mapPages(NULL, pages, fd);
    undo.push(() => unmapPages(address, pages));
  }
  if (fd === undefined && pages >= ROOM_FOR_HUGE_PAGE) adviseHugePages(address, pages);
  return address;
}

/** Reserves addresses without memory, and gives back what alignment does not need. */
function reserveAligned(span: number, align: number, undo: Undo): Address {
  const slack = align > PAGE ? align : 0;
  const whole = reservePages(span + slack);
  const head = slack === 0 ? 0 : Number(-whole & (BigInt(align) - 1n));
  const address = (whole + BigInt(head)) as Address;
  undo.push(() => unmapPages(address, span));
  const around: Undo = [];
  if (head > 0) around.push(() => unmapPages(whole, head));
  if (slack > head) around.push(() => unmapPages((address + BigInt(span)) as Address, slack - head));
  undoAll(around, "trimming an aligned block");
  return address;
}

/** Gives back as much as is safe: everything, the pages without the addresses, or nothing. */
function free(
  fate: Fate,
  address: Address,
  pages: number,
  span: number,
  file: Undo,
  count: number,
): void {
  const undo: Undo = [...file];
  if (fate === "unknown") undo.push(() => void mapPages(address, pages));
  if (fate === "unused") {
    undo.push(() => {
      unmapPages(address, span);
      mappingCount.giveBack(count);
    });
  }
  undoAll(undo, "giving host memory back");
}
