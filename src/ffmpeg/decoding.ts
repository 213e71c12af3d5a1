import { type Address, NULL } from "../../ffi/address.ts";
import { AV_PKT_FLAG_CORRUPT } from "../../ffi/avcodec59/constants.ts";
import { AV_TIME_BASE, AVDISCARD_ALL, AVFMT_FLAG_CUSTOM_IO, AVIO_FLAG_READ } from "../../ffi/avformat59/constants.ts";
import { AV_NOPTS_VALUE } from "../../ffi/avutil57/constants.ts";
import { AVERROR_EOF, AVERROR_INVALIDDATA, AVERROR_STREAM_NOT_FOUND } from "../../ffi/avutil57/errors.ts";
import { EAGAIN, ENOSYS } from "../../ffi/libc/errors.ts";
import { InteropError } from "../core/errors.ts";
import { type FileSource, openSource } from "../core/file_source.ts";
import type { MediaFacts } from "../core/layout/frame_info.ts";
import { owned } from "../core/life/ledger.ts";
import { NativeCalls } from "../core/life/native_calls.ts";
import type { Resource } from "../core/life/resource.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { callbackAddress, CallbackWords } from "../core/native/callbacks.ts";
import { cString } from "../core/native/text.ts";
import { Progress } from "../core/progress.ts";
import { decoderOn, MEDIA_TYPES } from "./codecs.ts";
import { type Fields, fieldsAt } from "./fields.ts";
import { newFrame } from "./frame.ts";
import { checks, coding, failure, made, newPacket, setOptions, struct } from "./library.ts";
import type { Hardware } from "./hardware.ts";
import { listenTo, reportLog, silence, takeLog } from "./log.ts";
import type { FrameMemory } from "../core/tensors/native_buffers.ts";
import type { DecodeOptions } from "./decoder.ts";
import { BufferPool, takesBuffers } from "./pool.ts";
import { type MediaInfo, mediaInfoOf, type OpenStream, streamsOf } from "./streams.ts";

/** How a file is decoded, once it was checked. */
export interface Decoded extends Required<Pick<DecodeOptions, "stream" | "from" | "threads" | "slots" | "progress">> {
  readonly signal: AbortSignal | undefined;
  readonly into: FrameMemory | undefined;
  /** The device that decodes, where it can. */
  readonly on?: { readonly device: Hardware; readonly isRequired: boolean };
}

/** Words of the memory that calls on other threads use, and that outlives a Worker: see takeCallbackMemory(). */
const [IO, CONTEXT, OPTIONS, CALLBACK, OPAQUE, STOP] = [0, 1, 2, 3, 4, 5];

/** The string that `atoi` reads: as FFmpeg's interrupt callback, it returns 0 until the digit changes. */
const [GO_ON, STOPPED] = [0x30n, 0x31n];

/** How many of the streams a message names. */
const MAX_NAMED = 8;

/** Extra surfaces for a decoder: two for the loop, and two that the program keeps. */
const KEPT_FRAMES = 4;

/** What to do where FFmpeg does not open a source. */
const MEDIA = "Pass a media file that is whole, and not a playlist: what such a file names is not opened.";

const MIN_PTS = -(2n ** 63n);

/** A file that is being decoded: FFmpeg's objects, and the calls on them, which run on other threads. */
export class Decoding {
  /** Its calls. When its end begins, a call in flight is interrupted. */
  readonly calls: NativeCalls;
  /** How many packets could not be decoded. */
  damaged = 0;
  /** Its buffers of ours, if it takes any. */
  pool: BufferPool | undefined;
  readonly #fd: number;
  readonly #asked: Decoded;
  readonly #undo: Undo;
  readonly #words: CallbackWords;
  /** Frames that were decoded, and not taken. */
  readonly #waiting = new Map<Address, Undo>();
  #opening: Promise<MediaInfo> | undefined;
  #codec: Address = NULL;
  #stream: OpenStream | undefined;
  /** The first wanted pts, and the least in the file. */
  #first = MIN_PTS;
  #start = MIN_PTS;
  /**
   * The target of the last seek, until its first frame shows that it went back far enough; and the next one's distance.
   */
  #sought: bigint | undefined;
  #back = 0n;
  #isDraining = false;
  /** True once a decoder without a software path (AV1's) has found that the device does not take the stream. */
  #isRefused = false;
  /** The packet that is read into, and the packet that is sent. */
  readonly #packets: Address[] = [];
  #reading: Promise<number> | undefined;
  /** The result of a read that is over, so that the next call of the decoder can begin at once. */
  #wasRead: number | undefined;
  /** The error that ended the reading, if not the end of the file. */
  #cut: Error | undefined;
  /** Why the packets since the last frame gave no frame. */
  #damage: Error | undefined;
  readonly #progress: Progress | undefined;
  /** The pts at which the wanted part begins and ends, for the progress; undefined if the file does not say. */
  #span: readonly [begin: bigint, end: bigint] | undefined;

  /** Opens the source, which is read once it is asked for. Takes `undo` over. */
  constructor(owner: Resource, source: FileSource, asked: Decoded, undo: Undo) {
    this.#fd = openSource("ffmpeg", source, undo);
    const words = this.#words = new CallbackWords(STOP + 1, undo);
    words.all[STOP] = GO_ON;
    undo.push(() => this.pool?.end());
    undo.push(() => this.#waiting.forEach((undo) => unwind(undo)));
    this.#asked = asked;
    this.#undo = undo;
    this.#progress = Progress.of(asked.progress, undo);
    this.calls = new NativeCalls({
      ...{ name: "FFmpeg decoder", owner, undo, signal: asked.signal, error: failure, after: reportLog },
      stop() {
        words.all[STOP] = STOPPED;
        if (words.all[CONTEXT] !== NULL) silence(words.all[CONTEXT] as Address, undo);
      },
    });
  }

  /** Opens the file and the stream's decoder, at the first call. */
  open(): Promise<MediaInfo> {
    return this.#opening ??= this.calls.run(async () => {
      await this.#openFile();
      const context = this.#context;
      this.calls.assertPassed(
        await coding().format.avformat_find_stream_info(context, null),
        "avformat_find_stream_info",
      );
      const streams = streamsOf(context);
      const stream = this.#stream = this.#choose(streams);
      for (const { address } of streams) {
        if (address !== stream.address) struct.at("AVStream", address).discard = AVDISCARD_ALL;
      }
      await this.#openCodec(stream);
      this.#packets.push(newPacket(this.#undo), newPacket(this.#undo));
      const info = mediaInfoOf(context, streams, stream);
      const { from } = this.#asked;
      const { duration = 0 } = info;
      if (this.#progress !== undefined && duration > from) this.#span = [this.#ptsAt(from), this.#ptsAt(duration)];
      if (from > 0) await this.#seek(from);
      this.#readAhead();
      return info;
    });
  }

  /** The next AVFrame, until {@link take}; undefined at the end. */
  next(): Promise<Address | undefined> {
    return this.calls.run(async () => {
      const { codec } = coding();
      const undo: Undo = [];
      const frame = newFrame(undo);
      this.#waiting.set(frame, undo);
      for (;;) {
        const code = this.#isDraining
          ? await codec.avcodec_receive_frame_async(this.#codec, frame)
          : codec.avcodec_receive_frame(this.#codec, frame);
        this.calls.assertGoing();
        const isOver = code === AVERROR_EOF;
        if ((isOver || code >= 0) && await this.#soughtAgain(isOver ? undefined : frame)) continue;
        if (isOver) break;
        if (code >= 0) this.#damage = undefined;
        if (code >= 0 && this.#complete(frame)) return frame;
        if (code === -EAGAIN) await this.#feed();
        else this.#decoded(code, "avcodec_receive_frame");
      }
      unwind(this.take(frame));
      const failed = this.#cut ?? this.#damage;
      if (failed !== undefined) throw failed;
    });
  }

  /** Hands a frame of {@link next} to the caller, with what frees it. @throws {DisposedError} if it was freed. */
  take(frame: Address): Undo {
    this.calls.assertGoing();
    const undo = this.#waiting.get(frame)!;
    this.#waiting.delete(frame);
    return undo;
  }

  /** The stream's facts about all of its frames. */
  get facts(): MediaFacts {
    return this.#stream!.facts;
  }

  /** The device in whose memory a frame lies; undefined for a software frame. */
  deviceOf({ format }: Fields): Hardware | undefined {
    const device = this.#asked.on?.device;
    return device?.format === format ? device : undefined;
  }

  /** @throws {InteropError} if the device is required to decode. */
  assertSoftware(): void {
    const { on } = this.#asked;
    if (on?.isRequired !== true) return;
    const { codec } = this.#stream!.info;
    throw new InteropError(`FFmpeg does not decode this stream of ${codec} on ${on.device.on.name}.`, {
      ...{ api: "ffmpeg", fn: "avcodec_get_hw_config" },
      hint: "With { hardware: true } the CPU decodes what the device does not.",
    });
  }

  get #context(): Address {
    return this.#words.all[CONTEXT] as Address;
  }

  /** Calls the decoder, and notes packets that it cannot decode. */
  #decoded(code: number, fn: string): void {
    if (code !== AVERROR_INVALIDDATA) return this.calls.assertPassed(code, fn);
    this.damaged++;
    this.#damage = failure(code, fn);
  }

  async #openFile(): Promise<void> {
    const { format } = coding();
    takeLog();
    const [words, undo] = [this.#words, this.#undo];
    const callback = { interrupt_callback: callbackAddress("atoi"), interrupt_opaque: words.addressOf(STOP) };
    [words.all[CALLBACK], words.all[OPAQUE]] = [callback.interrupt_callback, callback.interrupt_opaque];
    const path = cString(`/proc/self/fd/${this.#fd}`);
    this.calls.assertPassed(
      format.avio_open2(words.addressOf(IO), path, AVIO_FLAG_READ, words.addressOf(CALLBACK), NULL),
      "avio_open2",
    );
    const io = words.all[IO] as Address;
    owned("ffmpeg.file", undo, () => void format.avio_close(io)); // it returns what a read returned
    words.all[CONTEXT] = made(format.avformat_alloc_context(), "avformat_alloc_context");
    undo.push(() => format.avformat_close_input(words.place(CONTEXT)));
    listenTo(this.#context, undo);
    struct.change("AVFormatContext", this.#context, {
      ...{ ...callback, pb: io },
      flags: AVFMT_FLAG_CUSTOM_IO | struct.at("AVFormatContext", this.#context).flags, // or it closes the file, too
    });
    // A playlist may name any other file, or a host.
    setOptions(words.place(OPTIONS), [["protocol_whitelist", "none"]], undo);
    this.calls.assertPassed(
      await format.avformat_open_input(words.addressOf(CONTEXT), null, NULL, words.addressOf(OPTIONS)),
      "avformat_open_input",
      MEDIA,
    );
  }

  #choose(streams: readonly OpenStream[]): OpenStream {
    const { stream } = this.#asked;
    const index = typeof stream === "number"
      ? stream
      : coding().format.av_find_best_stream(this.#context, MEDIA_TYPES[stream], -1, -1, null, 0);
    if (index !== AVERROR_STREAM_NOT_FOUND) this.calls.assertPassed(index, "av_find_best_stream");
    const found = streams[index];
    if (found?.info.type === "video" || found?.info.type === "audio") return found;
    const what = typeof stream === "number" ? `stream ${stream} of video or audio` : stream;
    const there = streams.slice(0, MAX_NAMED).map(({ info: { index, type, codec } }) => `${index}: ${type} (${codec})`);
    throw checks.wrong("stream", `the source has no ${what}. It has ${there.join(", ") || "no streams"}.`);
  }

  async #openCodec({ address, info }: OpenStream): Promise<void> {
    const { codec } = coding();
    const { codecpar } = struct.at("AVStream", address);
    const { codec_id } = struct.at("AVCodecParameters", codecpar);
    const { on, into, slots } = this.#asked;
    const onDevice = on === undefined || this.#isRefused ? NULL : decoderOn(on.device.type, codec_id);
    if (onDevice === NULL) this.assertSoftware();
    const decoder = onDevice === NULL ? codec.avcodec_find_decoder(codec_id) : onDevice;
    if (decoder === NULL) {
      const fields = { api: "ffmpeg", fn: "avcodec_find_decoder" };
      throw new InteropError(`This FFmpeg has no decoder for ${info.codec}.`, fields);
    }
    const context = this.#codec = made(codec.avcodec_alloc_context3(decoder), "avcodec_alloc_context3");
    this.#undo.push(() => codec.avcodec_free_context(new BigUint64Array([context])));
    listenTo(context, this.#undo);
    this.calls.assertPassed(codec.avcodec_parameters_to_context(context, codecpar), "avcodec_parameters_to_context");
    const [pkt_timebase_num, pkt_timebase_den] = info.timeBase;
    struct.change("AVCodecContext", context, { thread_count: this.#asked.threads, pkt_timebase_num, pkt_timebase_den });
    if (onDevice !== NULL) this.#workOn(on!.device, context);
    if (into !== undefined && takesBuffers(context)) {
      this.pool = new BufferPool(this.calls.resource, context, into, slots);
    }
    this.calls.assertPassed(await codec.avcodec_open2(context, decoder, NULL), "avcodec_open2");
  }

  /**
   * FFmpeg itself (avcodec_default_get_format) then chooses the device's format, or one of software where the device does not
   * take the stream. Threads would decode no sooner, and each would need a surface of its own.
   */
  #workOn(device: Hardware, context: Address): void {
    const { threads } = this.#asked;
    const about = { extra_hw_frames: KEPT_FRAMES, thread_count: threads === 0 ? 1 : threads };
    struct.change("AVCodecContext", context, { hw_device_ctx: device.reference(), ...about });
  }

  /** Seeks to the last key frame before the wanted time. Frames before that time are dropped. */
  async #seek(seconds: number): Promise<void> {
    this.#start = this.#ptsAt(0);
    this.#first = this.#ptsAt(seconds);
    this.#back = this.#ptsOf(BigInt(AV_TIME_BASE));
    await this.#seekTo(this.#first);
  }

  /** Seconds from the start of the file, in the stream's units. */
  #ptsAt(seconds: number): bigint {
    const { start_time } = struct.at("AVFormatContext", this.#context);
    const start = start_time === AV_NOPTS_VALUE ? 0n : start_time;
    return this.#ptsOf(start + BigInt(Math.round(seconds * AV_TIME_BASE)));
  }

  #ptsOf(time: bigint): bigint {
    const [num, den] = this.#stream!.info.timeBase;
    const unit = BigInt(num * AV_TIME_BASE);
    return (time * BigInt(den) + unit - 1n) / unit;
  }

  async #seekTo(pts: bigint): Promise<void> {
    this.#sought = pts;
    const { index } = this.#stream!.info;
    const code = await coding().format.avformat_seek_file(this.#context, index, MIN_PTS, pts, pts, 0);
    this.calls.assertPassed(code, "avformat_seek_file");
  }

  /** In some formats a seek is a guess: if the first frame after it comes too late, or never, it seeks again. */
  async #soughtAgain(frame: Address | undefined): Promise<boolean> {
    if (this.#sought === undefined || this.#cut !== undefined) return false;
    const isLate = frame === undefined || ptsOf(fieldsAt(frame)) > this.#first;
    if (!isLate || this.#sought < this.#start) {
      this.#sought = undefined;
      return false;
    }
    const { codec } = coding();
    await this.#reading;
    codec.av_packet_unref(this.#packets[0]);
    await codec.avcodec_flush_buffers(this.#codec);
    this.calls.assertGoing();
    const earlier = this.#sought - this.#back;
    this.#back *= 2n;
    [this.#isDraining, this.#damage] = [false, undefined];
    await this.#seekTo(earlier);
    this.#readAhead();
    return true;
  }

  /** Reads the stream's next packet. */
  #read(packet: Address): Promise<number> {
    return this.calls.run(async () => {
      const { format, codec } = coding();
      for (;;) {
        const code = await format.av_read_frame(this.#context, packet);
        const isOwn = code >= 0 && this.#isOwn(packet);
        if (isOwn || (code < 0 && code !== -EAGAIN)) return this.#wasRead = code;
        codec.av_packet_unref(packet);
        this.calls.assertGoing();
      }
    });
  }

  /** Skips packets without bytes, which repeat a picture (Theora): the decoder would refuse them, or end. */
  #isOwn(packet: Address): boolean {
    const { stream_index, size } = struct.at("AVPacket", packet);
    return stream_index === this.#stream!.info.index && size > 0;
  }

  #readAhead(): void {
    this.#wasRead = undefined;
    this.#reading = this.#read(this.#packets[0]);
    this.#reading.catch(() => {}); // it is thrown where the read is awaited
  }

  /** Sends the next packet, while the one after it is read. */
  async #feed(): Promise<void> {
    const { codec } = coding();
    const read = this.#wasRead ?? await this.#reading!;
    this.calls.assertGoing();
    this.#isDraining = read < 0;
    if (read < 0 && read !== AVERROR_EOF) this.#cut = failure(read, "av_read_frame");
    const [packet] = this.#packets;
    const sending = codec.avcodec_send_packet(this.#codec, this.#isDraining ? NULL : packet);
    if (!this.#isDraining) {
      if ((struct.at("AVPacket", packet).flags & AV_PKT_FLAG_CORRUPT) !== 0) this.damaged++;
      this.#packets.reverse();
      this.#readAhead();
    }
    let code = await sending;
    this.calls.assertGoing();
    if (code === -ENOSYS && this.#asked.on !== undefined && !this.#isRefused) {
      this.#isRefused = true;
      await this.#openCodec(this.#stream!);
      code = await codec.avcodec_send_packet(this.#codec, packet);
      this.calls.assertGoing();
    }
    codec.av_packet_unref(packet);
    this.#decoded(code, "avcodec_send_packet");
  }

  /** Adds the stream's facts to a frame. False for a frame that is not wanted. */
  #complete(frame: Address): boolean {
    const fields = fieldsAt(frame);
    const pts = ptsOf(fields);
    if (pts !== AV_NOPTS_VALUE && pts < this.#first) return false;
    const { timeBase: [time_base_num, time_base_den], sampleAspect } = this.#stream!.info;
    const aspect = fields.aspect_num !== 0 || sampleAspect === undefined
      ? {}
      : { aspect_num: sampleAspect[0], aspect_den: sampleAspect[1] };
    Object.assign(fields, { pts, time_base_num, time_base_den, ...aspect });
    this.#progress?.add(this.#partUntil(pts + fields.duration));
    return true;
  }

  /** How much of what is wanted comes before a pts. */
  #partUntil(pts: bigint): number | undefined {
    if (this.#span === undefined || pts < this.#span[0]) return undefined;
    const [begin, end] = this.#span;
    return Number(pts - begin) / Number(end - begin);
  }
}

function ptsOf({ pts, best_effort_timestamp }: Fields): bigint {
  return pts === AV_NOPTS_VALUE ? best_effort_timestamp : pts;
}
