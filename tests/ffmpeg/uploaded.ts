/**
 * Frames that FFmpeg uploads, by its functions alone: for a machine where nothing in C is built.
 *
 * @module
 */
import type { Address } from "../../ffi/address.ts";
import { openingOf } from "../../src/core/native/library.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { fieldsAt } from "../../src/ffmpeg/fields.ts";
import { bufferBytes } from "../../src/ffmpeg/frame.ts";
import { formats } from "../../src/ffmpeg/formats.ts";
import { avutil, struct } from "../../src/ffmpeg/library.ts";

const MORE = {
  av_frame_get_buffer: { parameters: ["u64", "i32"], result: "i32" },
  av_hwframe_get_buffer: { parameters: ["u64", "u64", "i32"], result: "i32" },
  av_hwframe_transfer_data: { parameters: ["u64", "u64", "i32"], result: "i32" },
} as const;

function more() {
  avutil();
  return Deno.dlopen(openingOf("ffmpeg")!.path!, MORE).symbols;
}

function ok(code: number): void {
  if (code !== 0) throw new Error(`FFmpeg failed with ${code}`);
}

/** A frame of FFmpeg's, freed at the end of its block. */
export class UploadedFrame implements Disposable {
  readonly pointer: Address;

  constructor() {
    this.pointer = avutil().fns.av_frame_alloc();
  }

  /** NV12 in memory; each byte of plane `p` and row `y` is 16 p + y. */
  static pixels(width: number, height: number): UploadedFrame {
    const frame = UploadedFrame.empty(width, height);
    const { structs: { AVFrame: { fields: { data, linesize } } } } = avutil();
    const { view } = fieldsAt(frame.pointer);
    for (const [p, rows] of [height, height / 2].entries()) {
      const stride = view.getInt32(linesize.offset + 4 * p, true);
      const plane = viewAt(view.getBigUint64(data.offset + 8 * p, true) as Address, stride * rows, "ffmpeg");
      for (let y = 0; y < rows; y++) new Uint8Array(plane.buffer, y * stride, stride).fill(16 * p + y);
    }
    return frame;
  }

  /** NV12 in memory, with anything in it. */
  static empty(width: number, height: number): UploadedFrame {
    const frame = new UploadedFrame();
    struct.change("AVFrame", frame.pointer, { format: formats.numberOf("nv12")!, width, height });
    ok(more().av_frame_get_buffer(frame.pointer, 0));
    return frame;
  }

  /** A new NV12 frame of a device's, whose pixels are those of {@link pixels}. */
  static on(device: bigint, format: string, width: number, height: number): UploadedFrame {
    const { fns } = avutil();
    const frames = fns.av_hwframe_ctx_alloc(device as Address);
    const about = { format: formats.numberOf(format)!, sw_format: formats.numberOf("nv12")! };
    struct.change("AVHWFramesContext", bufferBytes(frames), { ...about, width, height });
    ok(fns.av_hwframe_ctx_init(frames));
    const frame = new UploadedFrame();
    ok(more().av_hwframe_get_buffer(frames, frame.pointer, 0));
    fns.av_buffer_unref(new BigUint64Array([frames]));
    using pixels = UploadedFrame.pixels(width, height);
    frame.copyFrom(pixels.pointer);
    return frame;
  }

  /** The pixels of another frame, on a device or in memory. */
  copyFrom(other: bigint): void {
    ok(more().av_hwframe_transfer_data(this.pointer, other, 0));
  }

  /** A byte of a frame in memory. */
  byteAt(plane: number, x: number, y: number): number {
    const { structs: { AVFrame: { fields: { data, linesize } } } } = avutil();
    const { view } = fieldsAt(this.pointer);
    const start = view.getBigUint64(data.offset + 8 * plane, true);
    const at = start + BigInt(y * view.getInt32(linesize.offset + 4 * plane, true) + x);
    return viewAt(at as Address, 1, "ffmpeg").getUint8(0);
  }

  [Symbol.dispose](): void {
    avutil().fns.av_frame_free(new BigUint64Array([this.pointer]));
  }
}
