import type { Address } from "../../ffi/address.ts";
import { type Names, NO_OPTIONS, optionsIn } from "../core/argument.ts";
import type { FileSource } from "../core/file_source.ts";
import type { Memory } from "../core/contract.ts";
import type { Context } from "../core/graph/context.ts";
import { textAt } from "../core/native/text.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { contextOn } from "../core/device/device_on.ts";
import { attachingMedia, type MediaAttach, MediaContext } from "../media/context.ts";
import { frameIn } from "../media/given.ts";
import { Hardware } from "./hardware.ts";
import { attachedFrame } from "./attached.ts";
import { type DecodeOptions, Decoder } from "./decoder.ts";
import { type EncodeOptions, Encoder } from "./encoder.ts";
import { SpareFrames } from "./fields.ts";
import { lend, loans } from "./lent.ts";
import { avutil, checks } from "./library.ts";
import { type FFmpegTensor, ports } from "./memory.ts";

/** What FFmpeg works on. */
export interface FFmpegChoice {
  /** The context whose memory FFmpeg's hardware frames are: `dmabuf`, or one of VA-API, OpenCL, CUDA or Vulkan. FFmpeg works in it. */
  readonly on?: Context;
}

const CHOICE: Names<FFmpegChoice> = { on: true };

/**
 * FFmpeg's frames (`AVFrame`) in the host's memory. It is its own target: memory of the host is mapped to it and back in
 * place.
 *
 * @example
 * ```ts
 * import { FFmpegContext } from "@samepage/interop/ffmpeg";
 *
 * using ffmpeg = FFmpegContext.open();
 * console.log(ffmpeg.name.startsWith("FFmpeg ")); // true
 * ```
 */
export class FFmpegContext extends MediaContext<FFmpegTensor> {
  /** The API's name. */
  readonly api = "ffmpeg";
  /** The kind of memory: that of AVFrames. */
  readonly kind = "avframe";
  /** Its ports: host pointers both ways. For mappers. */
  readonly ports: Memory<FFmpegTensor, Address> = ports;

  /** @internal The AVFrames of its next frames. */
  readonly spares: SpareFrames;

  /** FFmpeg's device, where it has one. */
  readonly #hardware: Hardware | undefined;

  private constructor(name: string, hardware: Hardware | undefined, undo: Undo) {
    const spares = new SpareFrames();
    undo.push(() => spares.free());
    super({ api: "ffmpeg", name, on: hardware?.on, undo, hooks: hardware });
    this.spares = spares;
    this.#hardware = hardware;
    this.opened();
  }

  /**
   * Opens libavutil.
   *
   * @throws {LibraryNotFoundError} if it is not there.
   * @throws {InteropError} if it has another version than samepage knows, was built without the API of `on`,
   * or has frames of it that samepage does not know.
   * @throws {ArgumentError} for a context of an API in which FFmpeg has no frames.
   * @throws {NativeCallError} if FFmpeg does not take the device.
   */
  static open(options: FFmpegChoice = {}): FFmpegContext {
    const { on } = optionsIn(options, CHOICE);
    const version = `FFmpeg ${textAt(avutil().fns.av_version_info())}`;
    if (on === undefined) return new FFmpegContext(version, undefined, []);
    const context = contextOn(checks, on);
    return allOrNothing("opening FFmpeg's device", (undo) => {
      return new FFmpegContext(`${version} on ${context.name}`, new Hardware(context, undo), undo);
    });
  }

  /**
   * FFmpeg's device on the context that this one was opened on: a new reference (`AVBufferRef` of an `AVHWDeviceContext`),
   * for a decoder's `hw_device_ctx`. It is yours: hand it over or free it (av_buffer_unref). This context's end waits until
   * FFmpeg has no reference to the device left.
   *
   * @throws {ArgumentError} if it was opened without `on`.
   * @throws {NativeCallError} if FFmpeg has no memory.
   *
   * @example
   * ```ts ignore
   * import { FFmpegContext } from "@samepage/interop/ffmpeg";
   * import { VaapiContext } from "@samepage/interop/vaapi";
   *
   * using va = VaapiContext.open();
   * using ffmpeg = FFmpegContext.open({ on: va });
   * const device = ffmpeg.avDevice(); // decoder->hw_device_ctx = device
   * ```
   */
  avDevice(): Address {
    this.resource.assertLive();
    if (this.#hardware !== undefined) return this.#hardware.reference();
    throw checks.wrong("device", `${this.name} is on no device.`, "Open it on one: FFmpegContext.open({ on: va }).");
  }

  /**
   * A frame over the memory of an AVFrame that other code has made. It has a reference of its own, `frame.handle`: the
   * address of another AVFrame, valid until the frame ends. So the given one may be unreferenced or freed at once.
   *
   * A frame that others refer to as well can be read only, as av_frame_is_writable says.
   *
   * @param pointer the address of an `AVFrame` of the libavutil that is opened here. That it can be an AVFrame is checked
   * as far as that goes, and that its pages can be read; other memory may end the process
   * @throws {ArgumentError} if there is no AVFrame, or an empty one, or its format has no values in memory.
   * @throws {LayoutError} for planes that do not lie in its buffers, or whose rows go upwards.
   * @throws {AccessError} to write a frame that others refer to, without `{ copy: "allow" }`.
   * @throws {NativeCallError} if FFmpeg has no memory.
   */
  attach(pointer: bigint, options: MediaAttach = NO_OPTIONS): Frame {
    return attachingMedia(this, checks, pointer, options, (address, wanted) => {
      return attachedFrame(this, this.#hardware, address, wanted);
    });
  }

  /**
   * A new AVFrame over a frame's memory, for FFmpeg's code that may keep it for as long as it likes, on its own threads:
   * an encoder, a filter. It is yours: hand it over or free it (av_frame_free). The frame is in use as long as FFmpeg
   * has a reference to its memory: its end waits for that, and so does each map for writing. A map for reading waits only
   * where FFmpeg may write.
   *
   * Work in flight on the frame is over before this returns. FFmpeg may write it where the frame may be written. Encoders
   * read whole vectors: give rows room by `rowAlign: 64`.
   *
   * @param frame a frame of this context: `graph.map(frame, ffmpeg)`
   * @throws {ArgumentError} for a format that FFmpeg does not have.
   * @throws {LayoutError} for rows with gaps in them.
   * @throws {AccessError} if the bytes are lent, or work on them waits for a promise.
   * @throws {NativeCallError} if FFmpeg has no memory.
   *
   * @example
   * ```ts
   * import { host, imageInfo, MapperGraph } from "@samepage/interop";
   * import { FFmpegContext } from "@samepage/interop/ffmpeg";
   *
   * using ffmpeg = FFmpegContext.open();
   * using graph = new MapperGraph([host, ffmpeg]);
   * using picture = host.allocateFrame(imageInfo({ format: "NV12", width: 640, height: 480 }), { rowAlign: 64 });
   * await using mapped = graph.map(picture, ffmpeg, { access: "read" });
   * const pointer = ffmpeg.avFrame(mapped); // avcodec_send_frame(encoder, pointer), and av_frame_free(&pointer) after it
   *
   * const avutil = Deno.dlopen("libavutil.so.57", { av_frame_free: { parameters: ["buffer"], result: "void" } });
   * avutil.symbols.av_frame_free(new BigUint64Array([pointer]));
   * ```
   */
  avFrame(frame: Frame): Address {
    frameIn(checks, this, frame, this.on);
    const hardware = frame.target.context === this ? undefined : this.#hardware;
    this.resource.assertLive();
    return loans.untilLetGo(frame, (access) => lend(this.spares, frame, access, hardware));
  }

  /**
   * The frames of a file, in order, in the memory that FFmpeg decodes into: its own, that of `into`, or, with `hardware`,
   * that of the context that this one was opened on. A frame that the decoder itself goes on to read can be read only; any
   * other is yours to write.
   *
   * Files are all that is opened: a playlist that names others ends with an error, as a URL does.
   *
   * @param source a path or a `file:` URL, which needs `--allow-read` of the file; or the bytes of a file, which are copied
   * @throws {ArgumentError} for anything but a regular file, a URL of the network, and options that are wrong.
   * @throws {PermissionError} if Deno may not read the file.
   * @throws {LibraryNotFoundError} if libavcodec or libavformat are not there.
   *
   * @example
   * ```ts
   * import { FFmpegContext } from "@samepage/interop/ffmpeg";
   *
   * using ffmpeg = FFmpegContext.open();
   * for await (using frame of ffmpeg.decode("examples/edges/photo.jpg")) {
   *   console.log(frame.info.type, frame.planes.length); // image 3
   * }
   * ```
   */
  decode<T extends Tensor = never>(source: FileSource, options: DecodeOptions<T> = {}): Decoder<T | FFmpegTensor> {
    return new Decoder(this, this.#hardware, source, options);
  }

  /**
   * A file that frames are encoded into, in the format that its name stands for. Where `codec` is left out, FFmpeg takes
   * its usual encoder for such files. The file is written beside `path`, and takes its place when it is closed.
   *
   * @param path a path or a `file:` URL; needs `--allow-write` of its folder
   * @throws {ArgumentError} for a path that cannot be written, a format or an encoder that FFmpeg does not have, and options
   * that are wrong.
   * @throws {PermissionError} if Deno may not write the folder.
   * @throws {LibraryNotFoundError} if libavcodec or libavformat are not there.
   *
   * @example
   * ```ts
   * import { FFmpegContext } from "@samepage/interop/ffmpeg";
   *
   * using ffmpeg = FFmpegContext.open();
   * const folder = Deno.makeTempDirSync();
   * {
   *   await using photo = ffmpeg.encode(`${folder}/photo.mkv`, { codec: "ffv1" });
   *   for await (using frame of ffmpeg.decode("examples/edges/photo.jpg")) await photo.write(frame);
   *   await photo.close();
   * }
   * console.log(Array.from(Deno.readDirSync(folder), ({ name }) => name)); // ["photo.mkv"]
   * Deno.removeSync(folder, { recursive: true });
   * ```
   */
  encode(path: string | URL, options: EncodeOptions = {}): Encoder {
    return new Encoder(this, path, options);
  }
}
