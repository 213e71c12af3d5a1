import type { Address } from "../../ffi/address.ts";
import { literal, type Names } from "../core/argument.ts";
import { BOOLEAN, integer, SECONDS, SIGNAL } from "../core/checks.ts";
import { ArgumentError, reasonOf } from "../core/errors.ts";
import type { FileSource } from "../core/file_source.ts";
import { withMoment } from "../core/layout/frame_info.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing, undoAll } from "../core/life/undo.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { NativeSource } from "../core/tensors/native_source.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { adoptedFrame, adoptedSurface } from "./attached.ts";
import { MEDIA_TYPES } from "./codecs.ts";
import type { FFmpegContext } from "./context.ts";
import { type Decoded, Decoding } from "./decoding.ts";
import { fieldsAt } from "./fields.ts";
import { describe } from "./frame.ts";
import type { Hardware } from "./hardware.ts";
import { avutil, checks } from "./library.ts";
import type { FFmpegTensor } from "./memory.ts";
import { type BufferOptions, slotsIn } from "../core/tensors/native_buffers.ts";
import type { MediaInfo } from "./streams.ts";

/** Options of {@link FFmpegContext.decode}. */
export interface DecodeOptions<T extends Tensor = Tensor> extends BufferOptions<T> {
  /** The stream: the best one for video or sound, as FFmpeg judges it, or its index among all. `"video"` if left out. */
  readonly stream?: "video" | "audio" | number;
  /** Seconds from the start of the file: frames whose `pts` is earlier are dropped. */
  readonly from?: number;
  /** How many threads decode. If 0 or left out, FFmpeg chooses by the number of processors. */
  readonly threads?: number;
  /** Ends the decoder: the loop throws the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * The device of `FFmpegContext.open({ on })` decodes: NVDEC for CUDA, VA-API. Frames are those of `on`, in place. Where
   * FFmpeg has no decoder of this codec for such a device, or the device does not take the stream, the CPU decodes into
   * FFmpeg's memory, and `frame.target` says so; with `"required"`, that is an error.
   */
  readonly hardware?: boolean | "required";
  /**
   * True to show on stderr, if that is a terminal, how many frames were decoded, how many a second, and how much is left,
   * where the file says how long it is. One line is shown at a time, whatever else has `progress`.
   */
  readonly progress?: boolean;
}

const MOST = { stream: 2 ** 31 - 1, threads: 1024 };
const NAMES: Names<DecodeOptions> = {
  ...{ stream: true, from: SECONDS, threads: integer(0, MOST.threads), signal: SIGNAL },
  ...{ into: true, slots: true, hardware: true, progress: BOOLEAN },
};

function decodedIn(options: DecodeOptions, name: string, device: Hardware | undefined): Decoded {
  const { hardware = false, ...given } = checks.optionsIn(options, NAMES);
  const { stream = "video", from = 0, threads = 0, signal, into, progress = false } = given;
  const slots = slotsIn(given, checks);
  if (typeof stream === "number") checks.assertInteger(stream, "stream", 0, MOST.stream);
  else checks.nameIn(stream, MEDIA_TYPES, "stream");
  if (typeof hardware !== "boolean" && hardware !== "required") {
    const hint = "The device is that of FFmpegContext.open({ on }).";
    throw checks.wrong("hardware", `expected true, false or "required", got ${literal(hardware)}.`, hint);
  }
  const about = { stream, from, threads, signal, into, slots, progress };
  if (!hardware) return about;
  if (device === undefined) {
    throw checks.wrong("hardware", `${name} is on no device.`, "Open it on one: FFmpegContext.open({ on: cuda }).");
  }
  if (into === undefined) return { ...about, on: { device, isRequired: hardware === "required" } };
  const what = "a device decodes into memory of its own, so that it cannot be decoded into another.";
  throw checks.wrong("into", what, "Leave out into or hardware, and map the frames.");
}

/**
 * The frames of a file, in the order in which they are shown: {@link FFmpegContext.decode} makes it, and a loop takes
 * them. It reads one frame ahead. The end of the loop ends it; its frames live on.
 */
export class Decoder<T extends Tensor = FFmpegTensor> extends NativeObject implements AsyncIterable<Frame<T>, void> {
  /** Its end of life. */
  readonly resource: Resource;
  readonly #context: FFmpegContext;
  readonly #decoding: Decoding;
  readonly #frames: NativeSource<Address, Frame<T>>;

  /** Made by a context. */
  constructor(context: FFmpegContext, on: Hardware | undefined, source: FileSource, options: DecodeOptions) {
    super();
    context.resource.assertLive();
    const asked = decodedIn(options, context.name, on);
    this.#context = context;
    this.#decoding = allOrNothing("opening a source", (undo) => new Decoding(context.resource, source, asked, undo));
    this.resource = this.#decoding.calls.resource;
    this.#frames = new NativeSource({
      ...{ source: this, again: ["ffmpeg", "Call ffmpeg.decode() again."] },
      ...{ begin: () => this.info(), next: () => this.#decoding.next() },
      give: (pointer, count) => this.#frame(pointer, count),
    });
    finalizers.register(this, this.resource, this);
  }

  /** How many packets could not be decoded so far: their frames are missing, or were concealed by FFmpeg. */
  get damaged(): number {
    return this.#decoding.damaged;
  }

  /**
   * What the file says of itself and of its streams. The file is opened by the first call, or by the loop.
   *
   * @throws {NativeCallError} if FFmpeg knows no such format, or the file is damaged where it says what it is.
   * @throws {ArgumentError} if the file has no such stream.
   * @throws {InteropError} if this FFmpeg has no decoder for it.
   */
  info(): Promise<MediaInfo> {
    return this.#decoding.open();
  }

  /**
   * Takes the frames. Each is yours: dispose it.
   *
   * @throws {InteropError} for a second loop.
   */
  [Symbol.asyncIterator](): AsyncGenerator<Frame<T>, void> {
    return this.#frames.each();
  }

  #frame(pointer: Address, count: number): Frame<T> {
    const undo = this.#decoding.take(pointer);
    const release = () => undoAll(undo, "releasing an AVFrame");
    const frame: Frame = allOrNothing(`making frame ${count}`, () => this.#frameOver(pointer, count, release), undo);
    if (frame.access === "read") { for (const grant of frame.grants) grant.remedy = STILL_READ; }
    return frame as Frame<T>;
  }

  #frameOver(pointer: Address, count: number, release: () => void): Frame {
    const { facts, pool } = this.#decoding;
    const fields = fieldsAt(pointer);
    const access = avutil().fns.av_frame_is_writable(pointer) === 0 ? "read" : "read-write";
    const device = this.#decoding.deviceOf(fields);
    if (device !== undefined) {
      const { info, ...about } = described(() => device.describe(fields), count);
      return adoptedSurface(this.#context, { ...about, info: withMoment(info, facts) }, access, release);
    }
    this.#decoding.assertSoftware();
    const { moment, ...about } = described(() => describe(fields), count);
    const contents = { ...about, moment: { ...moment, ...facts } };
    return pool?.frameOf(contents, access, release) ?? adoptedFrame(this.#context, pointer, contents, access, release);
  }
}

/** What to do with a frame that may not be written. */
const STILL_READ =
  'The decoder makes later frames of it: map it with { access: "read" }, and write to a frame of yours.';

/** The remedy for a file whose frames have no layout in memory. */
const OTHERWISE = "Convert it first, as by `ffmpeg -i FILE -pix_fmt rgb24 OUT.mkv`, or decode it with npm's node-av.";

function described<D>(describe: () => D, count: number): D {
  try {
    return describe();
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    const why = reasonOf(error).reason.replace("pointer: ", "");
    const fields = { api: "ffmpeg", argument: "source", cause: error, hint: OTHERWISE };
    throw new ArgumentError(`source: frame ${count} cannot be used in place: ${why}`, fields);
  }
}
