import { type Address, NULL } from "../../ffi/address.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import type { Block, Fate } from "../core/memory/allocation.ts";
import { showAt } from "../core/memory/peers.ts";
import { mapForeign } from "../core/native/foreign_addresses.ts";
import { holdFd, type Memfd } from "../core/native/memfd.ts";
import { mapPages, mapReadOnlyPages, PAGE, unmapPages } from "../core/native/blocks.ts";

/** The kind of a block that other code has made, in a memfd. */
export const MEMFD = "host.memfd";

/** Longer memfds are mapped only in the part that is meant: their owner need not have the memory that it promises. */
const LONGEST_WHOLE = 2 ** 30;

export interface FileBlock extends Block {
  readonly memfd: Memfd;
  /** The address of some of its bytes, which are mapped from now on. */
  addressOf(range: FileRange): Address;
  /** Memory that could only be read can be written from now on, by another fd of its file, which it takes over. */
  allowWrites?(fd: number, memfd: Memfd): void;
}

export interface FileRange {
  readonly offset: number;
  readonly byteLength: number;
}

interface Part extends FileRange {
  readonly address: Address;
  readonly unmap: () => void;
}

/**
 * A foreign memfd. It has an address where all of it is mapped: because it is short, or all of it is meant. Takes the fd
 * over, even if it fails.
 * @param meant what is mapped at once
 * @param isKnown true if another API's allocation has its bytes, which are known by no address
 * @throws {ArgumentError} if there are too many mappings already, or too few addresses are left.
 * @throws {NativeCallError} if the kernel does not map it.
 */
export function mapMemfd(fd: number, memfd: Memfd, meant: FileRange, isKnown: boolean): FileBlock {
  const { byteLength } = memfd;
  const isWhole = byteLength <= LONGEST_WHOLE || meant.byteLength === byteLength;
  const file: Undo = [];
  return allOrNothing("mapping a memfd", () => {
    holdFd(fd, file);
    const parts = new Parts(fd, memfd, isKnown || !isWhole);
    const first = parts.addressOf(isWhole ? { offset: 0, byteLength } : meant);
    return {
      ...{ kind: MEMFD, byteLength },
      ...(isWhole ? { address: first } : {}),
      get memfd() {
        return parts.memfd;
      },
      get keptLength() {
        return isWhole ? byteLength : parts.byteLength;
      },
      addressOf: (range) => isWhole ? (first + BigInt(range.offset)) as Address : parts.addressOf(range),
      allowWrites(other, writable) {
        holdFd(other, file);
        parts.allowWrites(other, writable);
      },
      free: (fate) => undoAll([...file, ...parts.ends(fate)], "giving a memfd back"),
    };
  }, file);
}

/** The parts of a memfd that are mapped, for as long as its block lives. */
class Parts {
  memfd: Memfd;
  #fd: number;
  /** Do the tensors alone know the addresses? Else the allocation does. */
  readonly #isShown: boolean;
  readonly #all: Part[] = [];
  /** The longest part that begins at each page. */
  readonly #longest: Map<number, Part> = new Map();

  constructor(fd: number, memfd: Memfd, isShown: boolean) {
    this.memfd = memfd;
    this.#fd = fd;
    this.#isShown = isShown;
  }

  /** How many bytes are mapped, each as often as it is. */
  get byteLength(): number {
    return this.#all.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  addressOf({ offset, byteLength }: FileRange): Address {
    const from = Math.floor(offset / PAGE) * PAGE;
    const length = Math.ceil((offset + byteLength) / PAGE) * PAGE - from;
    let part = this.#longest.get(from);
    if (part === undefined || part.byteLength < length) this.#longest.set(from, part = this.#map(from, length));
    return (part.address + BigInt(offset - from)) as Address;
  }

  #map(offset: number, byteLength: number): Part {
    const { mode } = this.memfd;
    const undo: Undo = [];
    const map = () =>
      mode === "read-write"
        ? mapPages(NULL, byteLength, this.#fd, offset)
        : mapReadOnlyPages(byteLength, this.#fd, mode === "read", offset);
    const address = allOrNothing("mapping a memfd", () => mapForeign(byteLength, undo, map), undo);
    undo.push(() => unmapPages(address, byteLength));
    if (this.#isShown) undo.push(showAt(address, byteLength, "a memfd"));
    const part = { address, offset, byteLength, unmap: () => undoAll(undo, "unmapping a memfd") };
    this.#all.push(part);
    return part;
  }

  allowWrites(fd: number, memfd: Memfd): void {
    this.#fd = fd;
    this.memfd = memfd;
    for (const { address, offset, byteLength } of this.#all) mapPages(address, byteLength, fd, offset);
  }

  /** Gives back as much as is safe: everything, the pages without the addresses, or nothing. */
  ends(fate: Fate): Undo {
    if (fate === "escaped") return [];
    return this.#all.map(({ address, byteLength, unmap }) =>
      fate === "unused" ? unmap : () => void mapPages(address, byteLength)
    );
  }
}
