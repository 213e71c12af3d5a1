import { type Address, NULL } from "../../ffi/address.ts";
import { AV_CODEC_CAP_DR1 } from "../../ffi/avcodec59/constants.ts";
import { AV_NUM_DATA_POINTERS } from "../../ffi/avutil57/constants.ts";
import { isMade } from "../core/argument.ts";
import type { MemoryTarget } from "../core/contract.ts";
import { NativeFlag } from "../core/device/native_flag.ts";
import { eachConflict } from "../core/device/work.ts";
import { InteropError } from "../core/errors.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import type { PicturePlane } from "../core/layout/frame_info.ts";
import { type LayoutInit, moved } from "../core/layout/layout.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import type { Access } from "../core/memory/access.ts";
import { giveBackCallbackMemory, takeCallbackMemory } from "../core/native/callbacks.ts";
import { openingOf } from "../core/native/library.ts";
import { viewAt } from "../core/native/pin.ts";
import { Frame } from "../core/tensors/frame.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import { loadFunctions } from "../guard/functions.ts";
import { symbolIn } from "../guard/load.ts";
import { pixelsFormat } from "./formats.ts";
import type { Contents } from "./frame.ts";
import { avutil, changeStruct, checks, coding, made, readStruct } from "./library.ts";
import { allocCode, CONTROL, getBufferCode } from "./pool_code.ts";

/** What makes the memory that frames are decoded into: `host`, `cuda.pinned`, `dmabuf`, or an object of yours. */
export interface FrameMemory<T extends Tensor = Tensor> {
  /** A new tensor, which the CPU reaches at one address for as long as it lives. The decoder takes it over. */
  allocate(layout: LayoutInit<"u8">): T;
}

/** As many as the pictures that H.264 and HEVC look back at (16), and some for threads and the program. */
export const SLOTS = 24;

/** Planes and rows begin at multiples of this, as the widest vectors of x86-64 do. */
const ALIGN = 64;

/** What codecs may touch behind a plane: avcodec_default_get_buffer2() leaves no less there. */
const BEHIND = 16 + ALIGN;

interface Slot<T> {
  readonly tensor: T;
  /** All of it, lent: nobody else may use what FFmpeg writes at any time. */
  readonly lent: T;
  /** Where the buffer begins, counted from the tensor's handle. */
  readonly at: number;
}

/**
 * Buffers of ours for a decoder, each in a tensor of its own. A pool of FFmpeg's hands them out and takes them back, on any
 * thread. The tensors end once the decoder and all frames in them have ended.
 */
export class BufferPool<T extends Tensor = Tensor> {
  /** By the addresses of the buffers. */
  readonly #slots = new Map<Address, Slot<T>>();
  readonly #released: NativeFlag;
  readonly #decoder: Resource;
  /** What ends with the decoder. The last step lets go of the tensors. */
  readonly #undo: Undo = [() => this.#drop()];
  /** What needs the tensors: the decoder, and frames. */
  #holds = 1;
  /** True once all buffers are made. */
  #isWhole = false;
  /** How many of them FFmpeg never gives back, because a view was moved away. */
  #kept = 0;

  /**
   * Makes the buffers, and has a decoder take them that is not open yet, of a codec that can.
   *
   * @param decoder ends before a tensor does, and before {@link end}
   * @throws {InteropError} where there is no machine code for this machine.
   * @throws {ArgumentError} for memory that allocates something else.
   */
  constructor(decoder: Resource, context: Address, memory: FrameMemory<T>, count: number) {
    const { codec, structs: { ThreadSafety } } = coding();
    const { getBuffer, alloc, get, fallback } = functions();
    const { pix_fmt, ...shown } = readStruct("AVCodecContext", context);
    const { planes } = pixelsFormat(pix_fmt, "source");
    const [width, height] = [shown.width, shown.height].map(roundUp); // a stream may code more than it shows
    const { offsets, linesizes, byteLength } = placesOf(planes, ...alignedBy(context, width, height));
    this.#decoder = decoder;
    this.#released = new NativeFlag({ name: "FFmpeg's references to a decoder's buffers", count });
    allOrNothing("making a decoder's buffers", (undo) => {
      const control = takeCallbackMemory(CONTROL.buffers + 8 * count);
      undo.push(() => giveBackCallbackMemory(control));
      const { buffer, byteOffset, length } = control.bytes;
      const words = new BigUint64Array(buffer, byteOffset, length / 8);
      const numbers = new Int32Array(buffer, byteOffset, length / 4);
      const [left, buffers, pool] = [CONTROL.left / 4, CONTROL.buffers / 8, CONTROL.pool / 8];
      undo.push(() => {
        while (numbers[left] > 0) codec.av_buffer_unref(words.subarray(buffers + --numbers[left]));
      });
      for (let i = 0; i < count; i++) {
        words[buffers + i] = this.#newBuffer(memory, byteLength);
        numbers[left] = i + 1;
      }
      this.#isWhole = true;
      words[pool] = made(
        codec.av_buffer_pool_init2(BigInt(byteLength), control.address, alloc, NULL),
        "av_buffer_pool_init2",
      );
      undo.push(() => codec.av_buffer_pool_uninit(words.subarray(pool)));
      words.set([get, fallback], CONTROL.get / 8);
      numbers.set([pix_fmt, width, height, planes.length], CONTROL.format / 4);
      words.set(offsets.map(BigInt), CONTROL.offsets / 8);
      numbers.set(linesizes, CONTROL.linesizes / 4);
      changeStruct("AVCodecContext", context, { opaque: control.address, get_buffer2: getBuffer });
      if (ThreadSafety === undefined) return;
      const { size, fields: { thread_safe_callbacks } } = ThreadSafety;
      viewAt(context, size, "ffmpeg").setInt32(thread_safe_callbacks.offset, 1, true);
    }, this.#undo);
  }

  /**
   * The frame over what an AVFrame refers to; undefined if that is memory of FFmpeg's.
   *
   * @param release frees the AVFrame, once the frame has ended
   */
  frameOf({ info, planes, metadata }: Contents, access: Access, release: () => void): Frame<T> | undefined {
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

  /** The decoder's context was freed. */
  end(): void {
    undoAll(this.#undo, "giving a decoder's buffers back");
  }

  /** A buffer of FFmpeg's over a new tensor. */
  #newBuffer(memory: FrameMemory<T>, byteLength: number): Address {
    const { callback, data } = this.#released;
    const tensor = memory.allocate({ shape: [byteLength + ALIGN], dtype: "u8" });
    if (!isMade<Tensor>(tensor, Tensor)) {
      throw checks.wrongKind("into", "memory whose allocate() returns a Tensor", tensor);
    }
    const address = allOrNothing("allocating", () => addressOf(tensor, byteLength), [() => tensor[Symbol.dispose]()]);
    const start = BigInt(roundUp(Number(address))) as Address;
    if (this.#slots.keys().some((other) => other < start + BigInt(byteLength) && start < other + BigInt(byteLength))) {
      throw checks.wrong("into", `${tensor.name} was allocated before, for another buffer.`);
    }
    const at = tensor.layout.byteOffset + Number(start - address);
    this.#slots.set(start, { tensor, lent: tensor.slice(tensor.layout) as T, at });
    this.#decoder.dependOn(tensor.resource);
    return made(avutil().fns.av_buffer_create(start, BigInt(byteLength), callback, data, 0), "av_buffer_create");
  }

  /** A view that was moved away may still look at its bytes: FFmpeg never writes there again then. */
  #endFrame({ grant: { allocation } }: T, release: () => void): void {
    const isLost = allocation.escaped || allocation.unseen;
    if (isLost) this.#kept++;
    undoAll([() => this.#drop(), ...isLost ? [] : [release]], "ending a decoded frame");
  }

  /** Ends the tensors once nothing needs them, and FFmpeg has no reference left. */
  #drop(): void {
    if (--this.#holds > 0) return;
    const flag = this.#released;
    const last = this.#isWhole && this.#kept === 0 ? flag.fence() : undefined;
    const ends = Array.from(this.#slots.values(), ({ tensor }) => () => {
      this.#decoder.partFrom(tensor.resource);
      if (!tensor.resource.isLive) return; // its context ends it
      if (last === undefined) tensor[Symbol.dispose]();
      else tensor.disposeAfter(last);
    });
    const withdraw = () => void (last ?? flag.withdraw()); // some buffers were never made, or never come back
    undoAll([() => flag[Symbol.dispose](), withdraw, ...ends], "giving a decoder's memory back");
  }
}

/** True if a decoder that is not open yet would take buffers of others, and its stream says what its pictures are. */
export function takesBuffers(context: Address): boolean {
  const { codec, pix_fmt, width, height } = readStruct("AVCodecContext", context);
  const { capabilities } = readStruct("AVCodec", codec);
  return (capabilities & AV_CODEC_CAP_DR1) !== 0 && pix_fmt >= 0 && width > 0 && height > 0;
}

/** The size that a codec writes where it decodes this one. */
function alignedBy(context: Address, ...size: [width: number, height: number]): [width: number, height: number] {
  const [width, height] = size.map((pixels) => new Int32Array([pixels]));
  coding().codec.avcodec_align_dimensions2(context, width, height, new Int32Array(AV_NUM_DATA_POINTERS));
  return [width[0], height[0]];
}

/** Where the planes of a picture lie in a buffer. */
function placesOf(planes: readonly PicturePlane[], width: number, height: number) {
  const rowsOf = (pixels: number) =>
    planes.map(({ step, elements, dtype }) => Math.ceil(pixels / step) * elements * sizeOf(dtype));
  let across = width;
  while (rowsOf(across).some((bytes) => bytes % ALIGN !== 0)) across += across & -across; // chroma stays a part of luma
  const linesizes = rowsOf(across);
  const offsets: number[] = [];
  let byteLength = 0;
  for (const [i, { rows }] of planes.entries()) {
    offsets.push(byteLength);
    byteLength = roundUp(byteLength + linesizes[i] * Math.ceil(height / rows) + BEHIND);
  }
  return { offsets, linesizes, byteLength };
}

function roundUp(size: number): number {
  return Math.ceil(size / ALIGN) * ALIGN;
}

const ELSEWHERE = {
  reason: "the CPU cannot use it at any time, at one address.",
  remedy: "Decode into host, cuda.pinned or dmabuf, and map the frames from there.",
};

/** The host address of a tensor that can have a buffer. */
function addressOf(tensor: Tensor, byteLength: number): bigint {
  const { target, access, grant: { allocation }, described: { range }, name } = tensor;
  const offer = (target as Partial<MemoryTarget>).ports?.exports.find(({ kind }) => kind === "host-pointer");
  const closed = offer === undefined || allocation.indivisible ? ELSEWHERE : offer.closed?.() ?? offer.refuse?.(range);
  const { address } = range;
  if (closed !== undefined || address === undefined) {
    const { reason, remedy } = closed ?? ELSEWHERE;
    throw checks.wrong("into", `${name} cannot be decoded into: ${reason}`, remedy);
  }
  if (access !== "read-write" || range.byteLength < byteLength + ALIGN) {
    throw checks.unfit("into", `${name} is not the ${byteLength + ALIGN} bytes, to read and write, that it was to be.`);
  }
  eachConflict([{ tensor, access: "read-write", argument: "into" }], (line, mark) => line.block(mark));
  return address;
}

let loaded: Record<"getBuffer" | "alloc" | "get" | "fallback", Address> | undefined;

/** The machine code, and what it calls. */
function functions() {
  if (loaded !== undefined) return loaded;
  const { os, arch } = Deno.build;
  if (os !== "linux" || arch !== "x86_64") {
    const what =
      `into: FFmpeg writes to other memory by machine code for Linux on x86-64, and this is ${os} on ${arch}.`;
    throw new InteropError(what, { api: "ffmpeg", hint: "Leave it out: frames are in FFmpeg's memory then." });
  }
  const code = loadFunctions("ffmpeg-pool", { getBuffer: getBufferCode(avutil().structs), alloc: allocCode() });
  const { path } = openingOf("ffmpeg_codec")!; // which finds what it needs of libavutil, too
  const [get, fallback] = ["av_buffer_pool_get", "avcodec_default_get_buffer2"].map((name) => symbolIn(path!, name));
  return loaded = { ...code, get, fallback };
}
