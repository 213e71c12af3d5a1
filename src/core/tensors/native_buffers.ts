import type { Address } from "../../../ffi/address.ts";
import { isMade } from "../argument.ts";
import type { Checks } from "../checks.ts";
import { NativeFlag } from "../device/native_flag.ts";
import { eachConflict } from "../device/work.ts";
import type { FrameInfo } from "../layout/frame_info.ts";
import { type LayoutInit, moved } from "../layout/layout.ts";
import type { Resource } from "../life/resource.ts";
import { allOrNothing, undoAll } from "../life/undo.ts";
import type { Access } from "../memory/access.ts";
import type { AdoptedPlane } from "./adopt.ts";
import { Frame } from "./frame.ts";
import { hostAddressOf } from "./addresses.ts";
import type { Metadata } from "./metadata.ts";
import { Tensor } from "./tensor.ts";

/** What makes the memory that frames are written into: `host`, `cuda.pinned`, `dmabuf`, or an object of yours. */
export interface FrameMemory<T extends Tensor = Tensor> {
  /** A new tensor, which the CPU reaches at one address for as long as it lives. The caller takes it over. */
  allocate(layout: LayoutInit<"u8">): T;
}

/** Where a program wants native code to write its frames. */
export interface BufferOptions<T extends Tensor = Tensor> {
  /**
   * Where the frames are written: `host`, `cuda.pinned`, `dmabuf`, or an object that allocates by its own rules. They are
   * tensors of that memory, in place. Where the library can write a frame to no memory but its own, or no buffer is left, that
   * frame is in its own, and `frame.target` says so.
   */
  readonly into?: FrameMemory<T>;
  /** How many buffers `into` allocates, each for one frame; 24 if left out. */
  readonly slots?: number;
}

const MAX_SLOTS = 1024;

/** As many as the pictures that H.264 and HEVC look back at (16), and some for threads and the program. */
const SLOTS = 24;

/** Checks these options. Returns how many buffers there are. */
export function slotsIn({ into, slots: given }: BufferOptions, checks: Checks): number {
  const slots = given === undefined ? SLOTS : given;
  checks.assertInteger(slots, "slots", 1, MAX_SLOTS);
  if (into !== undefined && typeof (into as Partial<FrameMemory> | null)?.allocate !== "function") {
    throw checks.wrongKind("into", "memory with an allocate()", into, "Pass host, cuda.pinned or dmabuf.");
  }
  if (into !== undefined || given === undefined) return slots;
  throw checks.wrong("slots", "without into there are no buffers to count.", "Pass { into: host }, or leave it out.");
}

export interface NativeBuffersInit {
  /** What writes into them. It ends before they do. */
  readonly writer: Resource;
  /** Who takes them, as messages name it: `"FFmpeg"`. */
  readonly library: string;
  /** How many {@link NativeBuffers.add} will make. */
  readonly count: number;
  /** A buffer begins at a multiple of this. */
  readonly align: number;
  readonly checks: Checks;
}

/** The option that their memory is. */
const INTO = "into";

/** What to do with memory that cannot be used so. */
const REMEDY = "Let it write into host, cuda.pinned or dmabuf, and map the frames from there.";

interface Slot<T> {
  readonly tensor: T;
  /** All of it, lent: native code writes it at any time, so nothing else may use it. */
  readonly lent: T;
  /** Where the buffer begins, counted from the tensor's handle. */
  readonly at: number;
}

/**
 * Buffers of native code, each in a tensor of a program's: a library takes them, writes into them and gives them back, on
 * its own threads, and its frames in them are frames over the tensors. For backends. The tensors end once the writer and
 * all frames have ended, and the library has given its references back.
 */
export class NativeBuffers<T extends Tensor = Tensor> {
  /** The C function that a library calls for each buffer once it no longer needs it. */
  readonly callback: Address;
  /** Its first argument. */
  readonly data: Address;
  readonly #init: NativeBuffersInit;
  readonly #slots = new Map<Address, Slot<T>>();
  readonly #released: NativeFlag;
  /** What needs the tensors: the writer, and frames. */
  #holds = 1;
  /** How many references will come back. */
  #made = 0;
  /** How many of them never do, because a view was moved away. */
  #kept = 0;

  constructor(init: NativeBuffersInit) {
    const { library, count } = this.#init = init;
    const flag = this.#released = new NativeFlag({ name: `${library}'s references to buffers`, count });
    [this.callback, this.data] = [flag.callback, flag.data];
  }

  /**
   * A new buffer of so many bytes.
   *
   * @param make makes the library's own object at this address
   * @throws {ArgumentError} for memory that the CPU does not reach, or that allocates something else.
   */
  add<B>(memory: FrameMemory<T>, byteLength: number, make: (start: Address) => B): B {
    const { align, checks, writer } = this.#init;
    const tensor = memory.allocate({ shape: [byteLength + align], dtype: "u8" });
    if (!isMade<Tensor>(tensor, Tensor)) {
      throw checks.wrongKind(INTO, "memory whose allocate() returns a Tensor", tensor);
    }
    const whole = byteLength + align;
    const end = [() => tensor[Symbol.dispose]()];
    const address = allOrNothing("allocating", () => this.#addressOf(tensor, whole), end);
    const start = BigInt(Math.ceil(Number(address) / align) * align) as Address;
    if (this.#slots.keys().some((other) => other < start + BigInt(byteLength) && start < other + BigInt(byteLength))) {
      throw checks.wrong(INTO, `${tensor.name} was allocated before, for another buffer.`);
    }
    allOrNothing("allocating", () => waitUntilUnused(tensor), end);
    const at = tensor.layout.byteOffset + Number(start - address);
    this.#slots.set(start, { tensor, lent: tensor.slice(tensor.layout) as T, at });
    writer.dependOn(tensor.resource);
    const made = make(start);
    this.#made++;
    return made;
  }

  /**
   * The frame in a buffer; undefined if its first plane lies in no buffer of these.
   *
   * @param planes where they lie, counted from the block's address
   * @param release gives the library's frame back, once the frame has ended
   */
  frameIn(
    info: FrameInfo,
    planes: readonly Pick<AdoptedPlane, "block" | "layout">[],
    { access, metadata }: { readonly access: Access; readonly metadata: Metadata | undefined },
    release: () => void,
  ): Frame<T> | undefined {
    const slot = this.#slots.get(planes[0].block.address as Address);
    if (slot === undefined) return undefined;
    const { lent, at } = slot;
    using stack = new DisposableStack();
    const parts = planes.map(({ layout }) =>
      stack.use(lent.slice(moved(layout, at + layout.byteOffset), { access }) as T)
    );
    const frame = Frame.of(parts, info, metadata);
    stack.move();
    this.#holds++;
    let left = parts.length;
    for (const { resource } of parts) {
      resource.undo.unshift(() => {
        if (--left === 0) this.#endFrame(lent, release);
      });
    }
    return frame;
  }

  /** The writer has ended, and with it what it had of the library's. */
  end(): void {
    if (--this.#holds > 0) return;
    const { writer, count } = this.#init;
    const flag = this.#released;
    const last = this.#made === count && this.#kept === 0 ? flag.fence() : undefined;
    const ends = Array.from(this.#slots.values(), ({ tensor }) => () => {
      writer.partFrom(tensor.resource);
      if (!tensor.resource.isLive) return; // its context ends it
      if (last === undefined) tensor[Symbol.dispose]();
      else tensor.disposeAfter(last);
    });
    const withdraw = () => void (last ?? flag.withdraw()); // some buffers were never made, or never come back
    undoAll([() => flag[Symbol.dispose](), withdraw, ...ends], "giving the memory of buffers back");
  }

  /** A view that was moved away may still look at its bytes: the library never writes there again then. */
  #endFrame({ grant: { allocation } }: T, release: () => void): void {
    const isLost = allocation.escaped || allocation.unseen;
    if (isLost) this.#kept++;
    undoAll([() => this.end(), ...isLost ? [] : [release]], "ending a frame in a buffer");
  }

  #addressOf(tensor: Tensor, byteLength: number): bigint {
    const { library, checks } = this.#init;
    const { access, described: { range }, name } = tensor;
    const address = hostAddressOf(tensor, REMEDY);
    if (typeof address !== "bigint") {
      throw checks.wrong(INTO, `${library} cannot write into ${name}: ${address.reason}`, address.remedy);
    }
    if (access !== "read-write" || range.byteLength < byteLength) {
      throw checks.unfit(INTO, `${name} is not the ${byteLength} bytes, to read and write, that it was to be.`);
    }
    return address;
  }
}

/** Waits for work that another API may have with memory that it has just made. */
function waitUntilUnused(tensor: Tensor): void {
  eachConflict([{ tensor, access: "read-write", argument: INTO }], (line, mark) => line.block(mark));
}
