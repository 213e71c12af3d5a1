import { type Address, NULL } from "../../ffi/address.ts";
import { AV_CODEC_CAP_DR1 } from "../../ffi/avcodec59/constants.ts";
import { AV_NUM_DATA_POINTERS } from "../../ffi/avutil57/constants.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import { type PicturePlane, withMoment } from "../core/layout/frame_info.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import type { Access } from "../core/memory/access.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { type FrameMemory, NativeBuffers } from "../core/tensors/native_buffers.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { loadFunctions } from "../guard/functions.ts";
import { assertMachine } from "../guard/machine.ts";
import { functionsOf } from "../guard/load.ts";
import { formats } from "./formats.ts";
import type { Contents } from "./frame.ts";
import { avutil, checks, coding, made, struct } from "./library.ts";
import { allocCode, CONTROL, getBufferCode } from "./pool_code.ts";

/** Planes and rows begin at multiples of this, as the widest vectors of x86-64 do. */
const ALIGN = 64;

/** How many bytes codecs may access after a plane: avcodec_default_get_buffer2() leaves as many. */
const BEHIND = 16 + ALIGN;

/**
 * Buffers of ours for a decoder, each in a tensor of its own. A pool of FFmpeg's hands them out and takes them back, on any
 * thread. The tensors end once the decoder and all frames in them have ended.
 */
export class BufferPool<T extends Tensor = Tensor> {
  readonly #buffers: NativeBuffers<T>;
  /** What ends with the decoder. */
  readonly #undo: Undo;

  /**
   * Makes the buffers, and has a decoder take them that is not open yet, of a codec that can.
   *
   * @param decoder ends before a tensor does, and before {@link end}
   * @throws {InteropError} where there is no machine code for this machine.
   * @throws {ArgumentError} for memory that allocates something else.
   */
  constructor(decoder: Resource, context: Address, memory: FrameMemory<T>, count: number) {
    const { codec } = coding();
    const { getBuffer, alloc, av_buffer_pool_get, avcodec_default_get_buffer2 } = functions();
    const shown = struct.at("AVCodecContext", context);
    const { pix_fmt } = shown;
    const { planes } = formats.at(pix_fmt, "source");
    const [width, height] = [shown.width, shown.height].map(roundUp); // a stream may code more than it shows
    const { offsets, linesizes, byteLength } = placesOf(planes, ...alignedBy(context, width, height));
    const buffers = this.#buffers = new NativeBuffers<T>({
      ...{ writer: decoder, library: "FFmpeg", count, align: ALIGN, checks },
    });
    this.#undo = [() => buffers.end()];
    allOrNothing("making a decoder's buffers", (undo) => {
      const control = new CallbackWords(CONTROL.buffers / 8 + count, undo);
      const words = control.all;
      const numbers = new Int32Array(words.buffer, words.byteOffset, 2 * words.length);
      const [left, references, pool] = [CONTROL.left / 4, CONTROL.buffers / 8, CONTROL.pool / 8];
      undo.push(() => {
        while (numbers[left] > 0) codec.av_buffer_unref(control.place(references + --numbers[left]));
      });
      for (let i = 0; i < count; i++) {
        words[references + i] = buffers.add(memory, byteLength, (start) => this.#newBuffer(start, byteLength));
        numbers[left] = i + 1;
      }
      words[pool] = made(
        codec.av_buffer_pool_init2(BigInt(byteLength), control.addressOf(0), alloc, NULL),
        "av_buffer_pool_init2",
      );
      undo.push(() => codec.av_buffer_pool_uninit(control.place(pool)));
      words.set([av_buffer_pool_get, avcodec_default_get_buffer2], CONTROL.get / 8);
      numbers.set([pix_fmt, width, height, planes.length], CONTROL.format / 4);
      words.set(offsets.map(BigInt), CONTROL.offsets / 8);
      numbers.set(linesizes, CONTROL.linesizes / 4);
      struct.change("AVCodecContext", context, { opaque: control.addressOf(0), get_buffer2: getBuffer });
      if (avutil().structs.ThreadSafety !== undefined) struct.at("ThreadSafety", context).thread_safe_callbacks = 1;
    }, this.#undo);
  }

  /**
   * The frame over what an AVFrame refers to; undefined if that is FFmpeg's memory.
   *
   * @param release frees the AVFrame, once the frame has ended
   */
  frameOf({ info, moment, planes, metadata }: Contents, access: Access, release: () => void): Frame<T> | undefined {
    return this.#buffers.frameIn(withMoment(info, moment), planes, { access, metadata }, release);
  }

  /** The decoder's context was freed. */
  end(): void {
    undoAll(this.#undo, "giving a decoder's buffers back");
  }

  #newBuffer(start: Address, byteLength: number): Address {
    const { callback, data } = this.#buffers;
    return made(avutil().fns.av_buffer_create(start, BigInt(byteLength), callback, data, 0), "av_buffer_create");
  }
}

/** True if a decoder, before it is open, can take foreign buffers, and its stream describes its pictures. */
export function takesBuffers(context: Address): boolean {
  const { codec, pix_fmt, width, height } = struct.at("AVCodecContext", context);
  const { capabilities } = struct.at("AVCodec", codec);
  return (capabilities & AV_CODEC_CAP_DR1) !== 0 && pix_fmt >= 0 && width > 0 && height > 0;
}

/** The size that a codec writes for a picture of this size. */
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

let loaded: Record<"getBuffer" | "alloc" | "av_buffer_pool_get" | "avcodec_default_get_buffer2", Address> | undefined;

/** The machine code, and what it calls. */
function functions() {
  if (loaded !== undefined) return loaded;
  const hint = "Leave it out: frames are in FFmpeg's memory then.";
  assertMachine("into: what has FFmpeg write to other memory", { api: "ffmpeg", hint });
  return loaded = {
    ...loadFunctions("ffmpeg-pool", { getBuffer: getBufferCode(avutil().structs), alloc: allocCode() }),
    ...functionsOf("ffmpeg_codec", "av_buffer_pool_get", "avcodec_default_get_buffer2"), // libavutil's are found there, too
  };
}
