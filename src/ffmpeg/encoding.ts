import { type Address, NULL } from "../../ffi/address.ts";
import { AV_CODEC_FLAG_GLOBAL_HEADER, AV_DICT_IGNORE_SUFFIX } from "../../ffi/avcodec59/constants.ts";
import { AVFMT_GLOBALHEADER, AVFMT_NOFILE, AVIO_FLAG_WRITE } from "../../ffi/avformat59/constants.ts";
import { AV_NOPTS_VALUE } from "../../ffi/avutil57/constants.ts";
import { AVERROR_EOF } from "../../ffi/avutil57/errors.ts";
import { EAGAIN } from "../../ffi/libc/errors.ts";
import { shown } from "../core/argument.ts";
import type { NativeFlag } from "../core/device/native_flag.ts";
import { InteropError, messageOf, throwAll, warn } from "../core/errors.ts";
import type { NewFile } from "../core/files.ts";
import type { FrameInfo } from "../core/layout/frame_info.ts";
import { owned } from "../core/life/ledger.ts";
import { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import { type CallbackMemory, giveBackCallbackMemory, takeCallbackMemory } from "../core/native/callbacks.ts";
import { cString, textAt } from "../core/native/text.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { assertTakes, encoderNamed, encoderOf, formatOf, type Medium } from "./encoders.ts";
import { type Fields, fieldsAt, freed, type SpareFrames } from "./fields.ts";
import { newFrame } from "./frame.ts";
import { lend } from "./lent.ts";
import { reportLog, takeLog } from "./log.ts";
import { avutil, changeStruct, check, checks, coding, failure, made, structAt } from "./library.ts";
import type { FFmpegTensor } from "./memory.ts";
import type { Ratio } from "./streams.ts";

/** How a stream is encoded, once that was checked. */
export interface Asked {
  /** Undefined for a file's only stream: it is what its first frame is. */
  readonly medium: Medium | undefined;
  readonly codec: string | undefined;
  readonly bitRate: number | undefined;
  readonly threads: number;
  readonly frameRate: Ratio | undefined;
  readonly timeBase: Ratio | undefined;
  readonly options: readonly (readonly [name: string, value: string])[];
}

/** Words of the memory that calls on other threads use, and that outlives a Worker: the file, and each stream's options. */
const [IO, OPTIONS] = [0, 1];

/** A stream, once its first frame has come. */
interface Stream {
  readonly asked: Asked;
  readonly info: FrameInfo;
  /** The AVCodecContext, and the AVStream. */
  readonly codec: Address;
  readonly own: Address;
  /** Seconds that the encoder counts. */
  readonly timeBase: Ratio;
  /** The most samples in a frame of sound; 0 if there is no limit. */
  readonly most: number;
  /** How long a picture is shown, unless the next one says otherwise. */
  readonly step: bigint;
  /** When the last frame was shown; and when the next is, unless it says so. */
  last?: bigint;
  next: bigint;
}

/** A frame that the encoder has references to. */
interface Kept {
  readonly flags: readonly NativeFlag[];
  readonly undo: Undo;
}

/** A file that is encoded: FFmpeg's objects, and the calls on them, which run on other threads. */
export class Encoding {
  /** Its end of life. A call that is in flight ends first. */
  readonly resource: Resource;
  readonly #asked: readonly Asked[];
  readonly #signal: AbortSignal | undefined;
  readonly #spares: SpareFrames;
  readonly #undo: Undo;
  readonly #file: NewFile;
  readonly #path: string;
  readonly #memory: CallbackMemory;
  readonly #words: BigUint64Array<ArrayBuffer>;
  /** What FFmpeg says of such files. */
  #format: Address = NULL;
  #context: Address = NULL;
  #packet: Address = NULL;
  readonly #streams: Stream[] = [];
  /** Packets of the stream that came first, until the other is there. */
  readonly #early: (readonly [stream: Stream, packet: Address])[] = [];
  #kept: readonly Kept[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  #isOver = false;
  #closing: Promise<void> | undefined;

  /** Takes `undo` over, which removes the file. */
  constructor(
    { resource: owner, spares }: { readonly resource: Resource; readonly spares: SpareFrames },
    streams: readonly Asked[],
    signal: AbortSignal | undefined,
    { file, path }: { readonly file: NewFile; readonly path: string },
    undo: Undo,
  ) {
    this.#spares = spares;
    [this.#asked, this.#signal, this.#undo, this.#file, this.#path] = [streams, signal, undo, file, path];
    const memory = this.#memory = takeCallbackMemory(8 * (OPTIONS + streams.length));
    this.#words = new BigUint64Array(memory.bytes.buffer, memory.bytes.byteOffset, OPTIONS + streams.length);
    undo.push(() => giveBackCallbackMemory(memory), () => this.#letGo());
    this.#openFile();
    const resource = this.resource = new Resource({ name: "FFmpeg encoder", owners: [owner], undo });
    const stop = () => void resource.disposeAsync().catch(() => {}); // it rejects where its end is awaited
    signal?.addEventListener("abort", stop);
    undo.push(() => signal?.removeEventListener("abort", stop));
  }

  /** How many frames the encoder has references to. */
  get kept(): number {
    this.#letGo();
    return this.#kept.length;
  }

  write(frame: Frame<FFmpegTensor>): Promise<void> {
    return this.#inTurn(async () => {
      await frame.finished();
      this.#assertGoing();
      const found = this.#streams.find(({ info }) => mediumOf(info) === mediumOf(frame.info));
      if (found !== undefined) assertSame(frame.info, found.info);
      const pointer = this.#lend(frame);
      try {
        const fields = fieldsAt(pointer);
        const stream = found ?? await this.#open(frame.info, fields);
        setTime(stream, fields);
        await this.#orEnd(() => this.#send(stream, pointer));
      } finally {
        freed(pointer);
        this.#letGo();
        this.#letGoLater();
      }
    });
  }

  close(): Promise<void> {
    return this.#closing ??= this.#inTurn(() =>
      this.#orEnd(async () => {
        const missing = this.#asked.find((asked) => this.#streams.every((stream) => stream.asked !== asked));
        if (missing !== undefined) {
          const what = missing.medium === undefined ? "frame" : `frame of ${missing.medium}`;
          throw new InteropError(`The file is not written: no ${what} came.`, {
            ...{ api: "ffmpeg", hint: "Write one before close()." },
          });
        }
        for (const stream of this.#streams) await this.#send(stream, NULL);
        this.#passed(await coding().format.av_write_trailer(this.#context), "av_write_trailer");
        this.#passed(await coding().format.avio_closep(this.#words.subarray(IO, OPTIONS)), "avio_closep");
        this.#file.publish();
        [this.resource.ending, this.#isOver] = ["closed", true];
      })
    );
  }

  /** One call after the other. One that ends the encoder returns, or throws, once all is freed. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#turn;
    this.#turn = promise;
    await before;
    try {
      this.#assertGoing();
      await work().finally(this.resource.hold());
      if (this.#isOver) await this.resource.disposeAsync();
    } catch (error) {
      const ended = this.#isOver ? await Promise.allSettled([this.resource.disposeAsync()]) : [];
      throwAll([error, ...ended.flatMap((end) => end.status === "rejected" ? [end.reason] : [])], "encoding");
    } finally {
      reportLog();
      resolve();
    }
  }

  async #orEnd<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      [this.resource.ending, this.#isOver] = ["ended by a failure", true];
      throw error;
    }
  }

  #assertGoing(): void {
    this.#signal?.throwIfAborted();
    this.resource.assertLive();
  }

  #passed(code: number, fn: string, hint?: string): void {
    this.#assertGoing();
    if (code < 0) throw failure(code, fn, hint === undefined ? {} : { hint });
  }

  /** An AVFrame over a frame's memory, which is lent for as long as FFmpeg keeps it. */
  #lend(frame: Frame<FFmpegTensor>): Address {
    const undo: Undo = [];
    const { object, flags } = allOrNothing("handing over a frame", () => {
      const child = frame.borrow("read");
      undo.push(() => child[Symbol.dispose]());
      const { rawHandle } = frame;
      // A reference of ours keeps FFmpeg's memory, so that the program's frame may end before. Other memory has to stay.
      if (rawHandle === undefined) undo.push(child.resource.hold());
      else check(avutil().fns.av_frame_ref(newFrame(undo), rawHandle as Address), "av_frame_ref");
      const lent = lend(this.#spares, child);
      undo.push(...lent.flags.map((flag) => () => flag[Symbol.dispose]()));
      return lent;
    }, undo);
    this.#kept = [...this.#kept, { flags, undo }];
    return object;
  }

  /** Gives back what the encoder has no reference to any more. */
  #letGo(): void {
    const over = this.#kept.filter(({ flags }) => flags.every((flag) => flag.isSet()));
    if (over.length === 0) return;
    this.#kept = this.#kept.filter((kept) => !over.includes(kept));
    undoAll(over.flatMap(({ undo }) => undo), "giving encoded frames back");
  }

  /** The same for the last one, once a thread of FFmpeg's has let go of it: its end may be waited for, and no call come. */
  #letGoLater(): void {
    const flags = this.#kept.at(-1)?.flags ?? [];
    const waits = flags.map((flag) => flag.fence().wait());
    Promise.all(waits).then(() => this.#letGo()).catch((error) => warn(messageOf(error)));
  }

  #openFile(): void {
    const { format } = coding();
    takeLog();
    for (const { codec } of this.#asked) if (codec !== undefined) encoderNamed(codec);
    const named = this.#format = formatOf(this.#path);
    const { flags, name } = structAt("AVOutputFormat", named);
    const isStill = textAt(name) === "image2"; // it opens files itself, by patterns
    if ((flags & AVFMT_NOFILE) !== 0 && !isStill) {
      throw checks.wrong("path", `FFmpeg's format ${textAt(name)} does not write one file.`);
    }
    const own = isStill ? made(format.av_guess_format(cString("image2pipe"), null, null), "av_guess_format") : named;
    const path = cString(`/proc/self/fd/${this.#file.fd}`);
    const context = new BigUint64Array(1);
    check(format.avformat_alloc_output_context2(context, own, null, path), "avformat_alloc_output_context2");
    this.#context = context[0] as Address;
    this.#undo.push(() => format.avformat_free_context(this.#context));
    check(format.avio_open2(this.#at(IO), path, AVIO_FLAG_WRITE, NULL, NULL), "avio_open2");
    // Where it was not closed before, it is removed, and what closing it returns does not matter.
    const close = () => void (this.#words[IO] !== NULL && format.avio_close(this.#words[IO] as Address));
    owned("ffmpeg.file", this.#undo, close);
    changeStruct("AVFormatContext", this.#context, { pb: this.#words[IO] as Address });
    this.#packet = this.#newPacket();
  }

  #at(word: number): Address {
    return this.#memory.address + BigInt(8 * word) as Address;
  }

  #newPacket(): Address {
    const { codec } = coding();
    const packet = made(codec.av_packet_alloc(), "av_packet_alloc");
    this.#undo.push(() => codec.av_packet_free(new BigUint64Array([packet])));
    return packet;
  }

  /** Opens the encoder of a stream, as its first frame has it; with the last one, the file. */
  async #open(info: FrameInfo, fields: Fields): Promise<Stream> {
    const medium = mediumOf(info);
    const index = this.#asked.findIndex((asked) => (asked.medium ?? medium) === medium);
    const asked = this.#asked[index];
    if (asked === undefined || this.#streams.some((stream) => stream.asked === asked)) {
      const hint = "For sound beside pictures, write { audio: {} }.";
      throw checks.wrong("frame", `the file has no stream of ${medium}.`, hint);
    }
    const codec = asked.codec === undefined ? encoderOf(this.#format, this.#path, medium) : encoderNamed(asked.codec);
    assertTakes(codec, medium, fields.format, this.#format);
    return await this.#orEnd(async () => {
      const stream = await this.#openCodec(asked, OPTIONS + index, codec, info, fields);
      this.#streams.push(stream);
      if (this.#streams.length === this.#asked.length) await this.#begin();
      return stream;
    });
  }

  async #openCodec(asked: Asked, word: number, encoder: Address, info: FrameInfo, from: Fields): Promise<Stream> {
    const { codec, format } = coding();
    const context = made(codec.avcodec_alloc_context3(encoder), "avcodec_alloc_context3");
    this.#undo.push(() => codec.avcodec_free_context(new BigUint64Array([context])));
    const isSound = info.type === "audio";
    const { frameRate, threads, bitRate } = asked;
    const given: Ratio | undefined = from.time_base_num === 0 ? undefined : [from.time_base_num, from.time_base_den];
    const timeBase: Ratio = isSound
      ? [1, info.sampleRate]
      : asked.timeBase ?? (frameRate && [frameRate[1], frameRate[0]]) ?? given ?? DEFAULT_TIME_BASE;
    const isApart = (structAt("AVOutputFormat", this.#format).flags & AVFMT_GLOBALHEADER) !== 0;
    changeStruct("AVCodecContext", context, {
      ...{ thread_count: threads, time_base_num: timeBase[0], time_base_den: timeBase[1] },
      ...(bitRate === undefined ? {} : { bit_rate: BigInt(bitRate) }),
      ...(isApart && { flags: structAt("AVCodecContext", context).flags | AV_CODEC_FLAG_GLOBAL_HEADER }),
      ...(isSound ? { sample_rate: from.sample_rate, sample_fmt: from.format } : {
        ...{ width: from.width, height: from.height, pix_fmt: from.format },
        ...{ aspect_num: from.aspect_num, aspect_den: from.aspect_den, color_range: from.color_range },
        ...{ color_primaries: from.color_primaries, color_trc: from.color_trc, colorspace: from.colorspace },
        ...{ chroma_sample_location: from.chroma_location },
        ...(frameRate === undefined ? {} : { framerate_num: frameRate[0], framerate_den: frameRate[1] }),
      }),
    });
    if (isSound) {
      const layout = context + BigInt(avutil().structs.AVCodecContext.fields.ch_layout.offset) as Address;
      codec.av_channel_layout_default(layout, info.channels);
    }
    const dictionary = this.#words.subarray(word, word + 1);
    this.#undo.push(() => codec.av_dict_free(dictionary));
    for (const [key, value] of asked.options) {
      check(codec.av_dict_set(dictionary, cString(key), cString(value), 0), "av_dict_set");
    }
    this.#passed(await codec.avcodec_open2(context, encoder, this.#at(word)), "avcodec_open2", SAID);
    const own = made(format.avformat_new_stream(this.#context, NULL), "avformat_new_stream");
    const { codecpar } = structAt("AVStream", own);
    check(codec.avcodec_parameters_from_context(codecpar, context), "avcodec_parameters_from_context");
    changeStruct("AVStream", own, {
      ...{ time_base_num: timeBase[0], time_base_den: timeBase[1] },
      ...{ aspect_num: from.aspect_num, aspect_den: from.aspect_den },
      ...(frameRate === undefined ? {} : { avg_frame_rate_num: frameRate[0], avg_frame_rate_den: frameRate[1] }),
    });
    const [length, unit] = frameRate === undefined
      ? [from.duration, given ?? timeBase]
      : [1n, [frameRate[1], frameRate[0]] as const];
    const step = rescaled(length, unit, timeBase) || 1n;
    const most = structAt("AVCodecContext", context).frame_size;
    return { asked, info, codec: context, own, timeBase, most, step, next: 0n };
  }

  /** Writes how the file begins, once all streams are known, and what came before. */
  async #begin(): Promise<void> {
    const { format, codec } = coding();
    this.#passed(await format.avformat_write_header(this.#context, this.#at(OPTIONS)), "avformat_write_header");
    for (const dictionary of this.#words.subarray(OPTIONS)) {
      const left = codec.av_dict_get(dictionary as Address, cString(""), NULL, AV_DICT_IGNORE_SUFFIX);
      if (left === NULL) continue;
      const { key } = structAt("AVDictionaryEntry", left);
      throw checks.wrong(
        "options",
        `neither the encoder nor the file's format has an option ${shown(textAt(key))}.`,
        LISTED,
      );
    }
    for (const [stream, packet] of this.#early.splice(0)) await this.#put(stream, packet);
  }

  /** Encodes a frame, or what is left, and writes what comes of it. */
  async #send(stream: Stream, frame: Address): Promise<void> {
    const { codec } = coding();
    this.#passed(await codec.avcodec_send_frame(stream.codec, frame), "avcodec_send_frame");
    for (;;) {
      const code = frame === NULL
        ? await codec.avcodec_receive_packet_async(stream.codec, this.#packet)
        : codec.avcodec_receive_packet(stream.codec, this.#packet);
      if (code === -EAGAIN || code === AVERROR_EOF) return;
      this.#passed(code, "avcodec_receive_packet");
      if (this.#streams.length === this.#asked.length) await this.#put(stream, this.#packet);
      else this.#early.push([stream, this.#packet]), this.#packet = this.#newPacket();
    }
  }

  async #put({ own, timeBase, step }: Stream, packet: Address): Promise<void> {
    const { index, time_base_num, time_base_den } = structAt("AVStream", own);
    const { pts, dts, duration } = structAt("AVPacket", packet);
    const times = { pts, dts, duration: duration || step };
    const [to, entries] = [[time_base_num, time_base_den] as const, Object.entries(times)];
    const inFile = Object.fromEntries(entries.map(([name, time]) => [name, rescaled(time, timeBase, to)]));
    changeStruct("AVPacket", packet, { ...inFile, stream_index: index });
    this.#passed(await coding().format.av_interleaved_write_frame(this.#context, packet), "av_interleaved_write_frame");
  }
}

const DEFAULT_TIME_BASE: Ratio = [1, 25];

const LISTED = "`ffmpeg -h full` lists all options.";
/** What to do where FFmpeg does not open an encoder. */
const SAID = "FFmpeg's warnings say why: change the options, the codec, or the frames' size and format.";

function mediumOf({ type }: FrameInfo): Medium {
  return type === "audio" ? "audio" : "video";
}

function assertSame(given: FrameInfo, first: FrameInfo): void {
  const [is, was] = [inWords(given), inWords(first)];
  if (is === was) return;
  throw checks.wrong("frame", `expected ${was}, as the first frame was, got ${is}.`, "A file has frames of one kind.");
}

function inWords(info: FrameInfo): string {
  if (info.type !== "audio") return `${info.format} of ${info.width} × ${info.height}`;
  const { format, layout, channels, sampleRate } = info;
  return `${layout} ${format} of ${channels} channels, ${sampleRate} samples a second`;
}

/** Says when a frame is shown, in the encoder's time. */
function setTime(stream: Stream, fields: Fields): void {
  const { last, next, step, timeBase, most } = stream;
  const { pts, time_base_num, time_base_den, nb_samples } = fields;
  if (most > 0 && nb_samples > most) {
    throw checks.wrong("frame", `expected at most ${most} samples, as the encoder takes them, got ${nb_samples}.`);
  }
  const from: Ratio = [time_base_num, time_base_den];
  const isTimed = time_base_num !== 0 && pts !== AV_NOPTS_VALUE;
  const at = isTimed ? rescaled(pts, from, timeBase) : next;
  if (last !== undefined && at <= last) {
    const why = `the frame is shown at ${at}, and the one before at ${last}, of ${timeBase.join("/")} seconds.`;
    throw checks.wrong("frame", why, "Write frames in order; a finer timeBase tells more of them apart.");
  }
  const length = nb_samples > 0 ? BigInt(nb_samples) : step;
  [stream.last, stream.next] = [at, at + length];
  Object.assign(fields, { pts: at, duration: length, time_base_num: timeBase[0], time_base_den: timeBase[1] });
}

/** A time of other time bases: the nearest. */
function rescaled(time: bigint, [num, den]: Ratio, [toNum, toDen]: Ratio): bigint {
  if (time === AV_NOPTS_VALUE) return time;
  const [above, below] = [2n * time * BigInt(num) * BigInt(toDen), 2n * BigInt(den) * BigInt(toNum)];
  const half = below / 2n;
  return (above + (time < 0n ? -half : half)) / below;
}
