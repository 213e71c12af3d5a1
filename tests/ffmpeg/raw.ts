/**
 * FFmpeg's decoders, as a program of C's would call them: with our buffers, or without.
 *
 * @module
 */
import type { Frame, Tensor } from "@samepage/interop";
import { type Address, NULL } from "../../ffi/address.ts";
import { fieldsAt } from "../../src/ffmpeg/fields.ts";
import { describe } from "../../src/ffmpeg/frame.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { avutil, check, coding, made, struct } from "../../src/ffmpeg/library.ts";
import type { FrameMemory } from "../../src/core/tensors/native_buffers.ts";
import { BufferPool, takesBuffers } from "../../src/ffmpeg/pool.ts";
import { giveBackCallbackMemory, takeCallbackMemory } from "../../src/core/native/callbacks.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { cText } from "./frames.ts";

/** A decoder of a file's pictures. */
export class RawDecoder<T extends Tensor = Tensor> implements AsyncDisposable {
  /** Its end of life. */
  readonly resource: Resource = new Resource({ name: "a raw decoder", undo: [() => this.#free()] });
  pool: BufferPool<T> | undefined;
  readonly #format = new BigUint64Array(1);
  readonly #decoder = new BigUint64Array(1);
  readonly #packet = new BigUint64Array(1);
  readonly #frame = new BigUint64Array(1);
  #stream = 0;

  static async open<T extends Tensor>(
    path: string,
    { threads = 1, into, slots = 24 }: { threads?: number; into?: FrameMemory<T>; slots?: number } = {},
  ): Promise<RawDecoder<T>> {
    const one = new RawDecoder<T>();
    const { codec, format } = coding();
    // An isolate that is terminated in the middle frees its own memory, while FFmpeg still reads and writes.
    const place = takeCallbackMemory(8);
    const url = cText(path);
    const kept = takeCallbackMemory(url.length);
    kept.bytes.set(url);
    const opening = format.avformat_open_input(place.address, kept.bytes, NULL, NULL);
    check(await opening, "avformat_open_input");
    one.#format[0] = place.view.getBigUint64(0, true);
    giveBackCallbackMemory(place);
    giveBackCallbackMemory(kept);
    const from = one.#format[0] as Address;
    check(await format.avformat_find_stream_info(from, null), "avformat_find_stream_info");
    const { streams } = struct.at("AVFormatContext", from);
    const stream = viewAt(streams, 8, "ffmpeg").getBigUint64(0, true) as Address;
    const { codecpar } = struct.at("AVStream", stream);
    const { codec_id } = struct.at("AVCodecParameters", codecpar);
    const found = codec.avcodec_find_decoder(codec_id);
    one.#decoder[0] = made(codec.avcodec_alloc_context3(found), "avcodec_alloc_context3");
    const decoder = one.#decoder[0] as Address;
    check(codec.avcodec_parameters_to_context(decoder, codecpar), "avcodec_parameters_to_context");
    struct.change("AVCodecContext", decoder, { thread_count: threads, thread_type: 1 });
    if (into !== undefined && takesBuffers(decoder)) one.pool = new BufferPool(one.resource, decoder, into, slots);
    check(await codec.avcodec_open2(decoder, found, NULL), "avcodec_open2");
    one.#packet[0] = made(codec.av_packet_alloc(), "av_packet_alloc");
    one.#frame[0] = made(avutil().fns.av_frame_alloc(), "av_frame_alloc");
    return one;
  }

  /** Each AVFrame, which is valid until the next is asked for. */
  async *frames(): AsyncGenerator<Address> {
    const { codec, format } = coding();
    const [from, decoder, packet, frame] = [this.#format, this.#decoder, this.#packet, this.#frame]
      .map(([at]) => at as Address);
    for (let isOver = false; !isOver;) {
      isOver = await format.av_read_frame(from, packet) < 0;
      if (!isOver && struct.at("AVPacket", packet).stream_index !== this.#stream) continue;
      await codec.avcodec_send_packet(decoder, isOver ? NULL : packet);
      codec.av_packet_unref(packet);
      while (await codec.avcodec_receive_frame_async(decoder, frame) === 0) {
        yield frame;
        codec.av_frame_unref(frame);
      }
    }
  }

  /** The frame over our memory that an AVFrame is in; undefined where it is FFmpeg's. */
  frameOf(pointer: Address): Frame<T> | undefined {
    const { fns } = avutil();
    const isWritable = fns.av_frame_is_writable(pointer) !== 0;
    const own = made(fns.av_frame_alloc(), "av_frame_alloc");
    check(fns.av_frame_ref(own, pointer), "av_frame_ref");
    const free = () => fns.av_frame_free(new BigUint64Array([own]));
    const frame = this.pool?.frameOf(describe(fieldsAt(own)), isWritable ? "read-write" : "read", free);
    if (frame === undefined) free();
    return frame;
  }

  #free(): void {
    const { codec, format } = coding();
    codec.avcodec_free_context(this.#decoder);
    this.pool?.end();
    avutil().fns.av_frame_free(this.#frame);
    codec.av_packet_free(this.#packet);
    format.avformat_close_input(this.#format);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.resource.disposeAsync();
  }
}

/** A number for the pixels of an AVFrame, without what lies between them. */
export function hashOf(pointer: Address): bigint {
  const fields = fieldsAt(pointer);
  let hash = 0xcbf29ce484222325n;
  for (const { handle, layout: { shape, strides, byteOffset, byteLength } } of describe(fields).planes) {
    const bytes = new Uint8Array(
      viewAt((handle as bigint) + BigInt(byteOffset) as Address, byteLength, "ffmpeg").buffer,
    );
    const row = byteLength - (shape[0] - 1) * strides[0];
    for (let y = 0; y < shape[0]; y++) hash = mixed(hash, bytes.subarray(y * strides[0], y * strides[0] + row));
  }
  return hash;
}

function mixed(hash: bigint, bytes: Uint8Array): bigint {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return BigInt.asUintN(64, (hash ^ BigInt(b * 65536 + a)) * 0x100000001b3n);
}
