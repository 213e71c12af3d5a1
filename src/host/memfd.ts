import { type Address, NULL } from "../../ffi/address.ts";
import { type Names, object, optionsIn } from "../core/argument.ts";
import type { Imported, MemoryTarget } from "../core/contract.ts";
import { Port } from "../core/device/port.ts";
import { Checks } from "../core/checks.ts";
import { ArgumentError, type Reason } from "../core/errors.ts";
import { type FrameInfo, frameInfo, planeLayouts } from "../core/layout/frame_info.ts";
import { layout, type LayoutInit, whole } from "../core/layout/layout.ts";
import { counted } from "../core/life/ledger.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import { type Access, writes } from "../core/memory/access.ts";
import { Allocation, type Block, type Fate } from "../core/memory/allocation.ts";
import { findByHandle, join, leave, registerByHandle, showAt } from "../core/memory/peers.ts";
import { mapPages, type MappedBlock, mapReadOnlyPages, PAGE, unmapPages } from "../core/native/blocks.ts";
import { closeFd, duplicateFd } from "../core/native/fd.ts";
import { holdFd, inspectMemfd, type Memfd } from "../core/native/memfd.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { assertMetadata, type Metadata } from "../core/tensors/metadata.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { importAs, type Received } from "../core/tensors/over.ts";
import type { HostTensor } from "./tensor.ts";
import { mapForeign } from "../core/native/foreign_addresses.ts";

/** A frame in a memfd: its planes lie one after the other. */
export interface FrameInMemfd {
  /** Format and size. */
  readonly info: FrameInfo;
  /** The offset of the first plane in the memfd, in bytes; 0 by default. */
  readonly byteOffset?: number;
  /** Each row begins at a multiple of this many bytes; 1 by default. */
  readonly rowAlign?: number;
  /** The frame's metadata. */
  readonly metadata?: Metadata;
}

const FRAME_NAMES: Names<FrameInMemfd> = { info: true, byteOffset: true, rowAlign: true, metadata: true };

const checks = new Checks("host");

/** The key of an allocation's attachment: its block, which is a memfd. */
const KEY = {};

/** The allocation of a new block. If the block is a memfd, a tensor attached by its fd is a peer of its tensors. */
export function allocationOf(block: MappedBlock): Allocation {
  const { memfd, address } = block;
  if (memfd === undefined) return new Allocation(block);
  return ofFile({ ...block, memfd, addressOf: ({ offset }) => (address + BigInt(offset)) as Address });
}

function ofFile(block: FileBlock): Allocation {
  const allocation = new Allocation(block);
  allocation.attachment(KEY, () => block);
  registerByHandle("memfd", block.memfd.identity, allocation);
  return allocation;
}

/** The reason why these bytes have no fd; undefined if they have one. */
export function refuseAsMemfd({ allocation }: ByteRange): Reason | undefined {
  if (allocation.findAttachment(KEY) !== undefined) return undefined;
  return {
    reason: "the memory has no fd that another API could take.",
    remedy: "Allocate it with host.allocate({ sharable: true }), or host.allocateFrame(info, { sharable: true }).",
  };
}

export function exportMemfd({ name, grant: { allocation, start } }: HostTensor, byteLength: number): Port {
  const block = allocation.findAttachment<FileBlock>(KEY);
  if (block === undefined) {
    throw new ArgumentError(`${name} has no fd.`, {
      api: "host",
      hint: "Allocate it with host.allocate({ sharable: true }).",
    });
  }
  const { memfd } = block;
  return new Port("memfd", { fd: memfd.duplicate(), offset: start, byteLength });
}

/**
 * The memory of a port, mapped once for all fds of its file. It is mapped for reading until a first import writes; after that
 * only law 3 protects it.
 * @throws {ArgumentError} if it is not a memfd, could shrink, is shorter than the port says, or must not be written.
 */
export function importMemfd(port: Port, access: Access): Imported<Address> {
  const { offset, byteLength } = port;
  const fd = port.takeFd();
  const undo: Undo = [() => closeFd(fd)];
  return allOrNothing("attaching a memfd", () => {
    const memfd = inspectMemfd(fd);
    if (offset + byteLength > memfd.byteLength) {
      throw checks.wrong("fd", `the memfd has ${memfd.byteLength} bytes, got a layout of ${offset + byteLength}.`);
    }
    if (writes(access) && memfd.mode !== "read-write") {
      throw checks.wrong("access", "the memfd can only be read.", 'Pass { access: "read" }.');
    }
    const range = { offset, byteLength };
    const known = findByHandle("memfd", memfd.identity);
    const make = () => mappedBlock(fd, memfd, range, access, known !== undefined, undo);
    const allocation = known ?? ofFile(make());
    const block = allocation.findAttachment<FileBlock>(KEY) ?? joined(allocation, make());
    if (writes(access) && block.memfd.mode !== "read-write") {
      undo.pop(); // the block closes it
      block.allowWrites!(fd, memfd);
    }
    undoAll(undo, "attaching a memfd");
    const address = block.addressOf(range);
    join(allocation);
    return { handle: address, address, allocation, start: offset, release: () => leave(allocation) };
  }, undo);
}

/** Maps a memfd that another API imported first: the CPU's mapping lasts as long as the allocation. */
function joined(allocation: Allocation, block: FileBlock): FileBlock {
  const countOff = counted(block.kind, () => {});
  allocation.beforeFree((fate) => undoAll([() => block.free(fate), countOff], "giving a memfd back"));
  return allocation.attachment(KEY, () => block);
}

/** Maps the block, which takes over the fd. */
function mappedBlock(
  fd: number,
  memfd: Memfd,
  range: FileRange,
  access: Access,
  isKnown: boolean,
  undo: Undo,
): FileBlock {
  undo.pop();
  const isOnlyRead = !writes(access) && memfd.mode === "read-write";
  return mapMemfd(fd, isOnlyRead ? { ...memfd, mode: "read" } : memfd, range, isKnown);
}

/** A tensor or a frame over the memfd of another process or library. The caller keeps its own fd. */
export function attachMemfd(
  target: MemoryTarget<HostTensor>,
  given: number,
  what: LayoutInit | FrameInMemfd,
  options: AttachOptions,
): HostTensor | Frame<HostTensor> {
  return attaching(options, (asked) => {
    const fd = checks.fdIn(given, "fd");
    const place = "info" in object(what, "init")
      ? planesOf(what as FrameInMemfd)
      : { layouts: [layout(what as LayoutInit)] };
    const access = asked ?? (inspectMemfd(fd).mode === "read-write" ? "read-write" : "read");
    const byteLength = Math.max(...place.layouts.map((plane) => plane.byteOffset + plane.byteLength));
    return importAs(target, new Port("memfd", { fd: duplicateFd(fd), byteLength }), { ...place, access });
  });
}

function planesOf(given: FrameInMemfd): Omit<Received, "access"> {
  const { info: init, byteOffset = 0, rowAlign, metadata } = optionsIn(given, FRAME_NAMES, "init");
  const info = frameInfo(init);
  assertMetadata(metadata);
  whole(byteOffset, "byteOffset", 0);
  const layouts = planeLayouts(info, rowAlign).map((plane) =>
    layout({ ...plane, byteOffset: plane.byteOffset + byteOffset })
  );
  return { info, layouts, metadata };
}

export const MEMFD = "host.memfd";

/** The limit of memfds that are mapped whole. Others are mapped part by part: the owner may not have all of the memory. */
const LONGEST_WHOLE = 2 ** 30;

export interface FileBlock extends Block {
  readonly memfd: Memfd;
  /** The address of some of its bytes, which are mapped on the first call. */
  addressOf(range: FileRange): Address;
  /** Makes read-only memory writable, by another fd of its file. Takes over the fd. */
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
 * A foreign memfd. The block has an address if all of it is mapped: because it is short, or all of it is in use. Takes over the
 * fd, even if this fails.
 * @param meant the part that is mapped at once
 * @param isKnown true if another API's allocation has these bytes, which then has no host address for them
 * @throws {ArgumentError} if there are too many mappings already, or too few addresses are left.
 * @throws {NativeCallError} if the kernel does not map it.
 */
function mapMemfd(fd: number, memfd: Memfd, meant: FileRange, isKnown: boolean): FileBlock {
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
  /** True if only the tensors know the addresses, and the allocation does not. */
  readonly #isShown: boolean;
  readonly #all: Part[] = [];
  /** The longest part that begins at each page. */
  readonly #longest: Map<number, Part> = new Map();

  constructor(fd: number, memfd: Memfd, isShown: boolean) {
    this.memfd = memfd;
    this.#fd = fd;
    this.#isShown = isShown;
  }

  /** The number of mapped bytes; bytes that are mapped twice count twice. */
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

  /** Releases as much as is safe: everything, the pages but not the addresses, or nothing. */
  ends(fate: Fate): Undo {
    if (fate === "escaped") return [];
    return this.#all.map(({ address, byteLength, unmap }) =>
      fate === "unused" ? unmap : () => void mapPages(address, byteLength)
    );
  }
}
