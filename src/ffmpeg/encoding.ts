import { type Address, NULL } from "../../ffi/address.ts";
import { AV_CODEC_FLAG_GLOBAL_HEADER, AV_DICT_IGNORE_SUFFIX } from "../../ffi/avcodec59/constants.ts";
import { AVFMT_GLOBALHEADER, AVFMT_NOFILE, AVIO_FLAG_WRITE } from "../../ffi/avformat59/constants.ts";
import { AV_NOPTS_VALUE } from "../../ffi/avutil57/constants.ts";
import { AVERROR_EOF } from "../../ffi/avutil57/errors.ts";
import { EAGAIN } from "../../ffi/libc/errors.ts";
import { shown } from "../core/argument.ts";
import { InteropError } from "../core/errors.ts";
import type { NewFile } from "../core/files.ts";
import type { FrameInfo } from "../core/layout/frame_info.ts";
import { type Ratio, rescaled } from "../core/layout/ratio.ts";
import { assertSameKind, Timeline } from "../core/layout/sequence.ts";
import { owned } from "../core/life/ledger.ts";
import { NativeCalls } from "../core/life/native_calls.ts";
import type { Undo } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import { cString, textAt } from "../core/native/text.ts";
import { Progress, type ProgressWanted } from "../core/progress.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { NativeKeep } from "../core/tensors/native_loans.ts";
import { referring } from "../media/given.ts";
import type { FFmpegContext } from "./context.ts";
import { assertTakes, encoderNamed, encoderOf, formatOf, type Medium } from "./codecs.ts";
import { type Fields, fieldsAt, freed } from "./fields.ts";
import { newFrame } from "./frame.ts";
import { lend } from "./lent.ts";
import { listenTo, reportLog, takeLog } from "./log.ts";
import { avutil, check, checks, coding, failure, made, newPacket, setOptions, struct } from "./library.ts";
import type { FFmpegTensor } from "./memory.ts";

/** How a stream is encoded, once that was checked. */
export interface Asked {
  /** Undefined for a file's only stream, whose type is that of its first frame. */
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
  /** When its frames are shown, as the encoder counts. */
  readonly times: Timeline;
  /** The most samples in a frame of sound; 0 if there is no limit. */
  readonly most: number;
  /** The duration of packets that have none. */
  readonly step: bigint;
}

/** A file that is being encoded: FFmpeg's objects, and the calls on them, which run on other threads. */
export class Encoding {
  /** Its calls, one after the other. */
  readonly calls: NativeCalls;
  /** The frames that FFmpeg has references to. */
  readonly keep: NativeKeep = new NativeKeep(LET_GO);
  readonly #asked: readonly Asked[];
  readonly #home: FFmpegContext;
  readonly #undo: Undo;
  readonly #file: NewFile;
  readonly #path: string;
  readonly #words: CallbackWords;
  /** What FFmpeg says of such files. */
  #format: Address = NULL;
  #context: Address = NULL;
  #packet: Address = NULL;
  readonly #streams: Stream[] = [];
  /** Packets of the first stream, until the other one is known. */
  readonly #early: (readonly [stream: Stream, packet: Address])[] = [];
  readonly #progress: Progress | undefined;
  #closing: Promise<void> | undefined;

  /** Takes `undo` over, which removes the file. */
  constructor(
    home: FFmpegContext,
    streams: readonly Asked[],
    { signal, progress }: { readonly signal: AbortSignal | undefined; readonly progress: ProgressWanted },
    { file, path }: { readonly file: NewFile; readonly path: string },
    undo: Undo,
  ) {
    [this.#home, this.#asked, this.#undo, this.#file, this.#path] = [home, streams, undo, file, path];
    this.#words = new CallbackWords(OPTIONS + streams.length, undo);
    undo.push(() => this.keep.letGo());
    this.#progress = Progress.of(progress, undo);
    this.#openFile();
    const { keep } = this;
    const name = "FFmpeg encoder";
    this.calls = new NativeCalls({ name, owner: home.resource, undo, signal, error: failure, after: reportLog, keep });
  }

  write(frame: Frame<FFmpegTensor>): Promise<void> {
    return this.calls.inTurn(async () => {
      await frame.finished();
      this.calls.assertGoing();
      const found = this.#streams.find(({ info }) => mediumOf(info) === mediumOf(frame.info));
      if (found !== undefined) assertSameKind(checks, frame.info, found.info);
      const pointer = this.#lend(frame);
      try {
        const fields = fieldsAt(pointer);
        const stream = found ?? await this.#open(frame.info, fields);
        setTime(stream, frame.info, fields);
        await this.calls.orEnd(() => this.#send(stream, pointer));
        this.#progress?.add();
      } finally {
        freed(pointer);
        this.keep.letGo();
      }
    });
  }

  close(): Promise<void> {
    return this.#closing ??= this.calls.inTurn(() =>
      this.calls.orEnd(async () => {
        const missing = this.#asked.find((asked) => this.#streams.every((stream) => stream.asked !== asked));
        if (missing !== undefined) {
          const what = missing.medium === undefined ? "frame" : `frame of ${missing.medium}`;
          throw new InteropError(`The file is not written: no ${what} came.`, {
            ...{ api: "ffmpeg", hint: "Write one before close()." },
          });
        }
        for (const stream of this.#streams) await this.#send(stream, NULL);
        this.calls.assertPassed(await coding().format.av_write_trailer(this.#context), "av_write_trailer");
        this.calls.assertPassed(await coding().format.avio_closep(this.#words.place(IO)), "avio_closep");
        this.#file.publish();
        this.calls.end("closed");
      })
    );
  }

  /** An AVFrame over a frame's memory, which is lent for as long as FFmpeg keeps it. */
  #lend(frame: Frame<FFmpegTensor>): Address {
    const refer = referring(this.#home, frame, (own, undo) => {
      check(avutil().fns.av_frame_ref(newFrame(undo), own), "av_frame_ref");
    });
    return this.keep.lend(frame, refer, (access) => lend(this.#home.spares, frame, access));
  }

  #openFile(): void {
    const { format } = coding();
    takeLog();
    for (const { codec } of this.#asked) if (codec !== undefined) encoderNamed(codec);
    const named = this.#format = formatOf(this.#path);
    const { flags, name } = struct.at("AVOutputFormat", named);
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
    listenTo(this.#context, this.#undo);
    check(format.avio_open2(this.#words.addressOf(IO), path, AVIO_FLAG_WRITE, NULL, NULL), "avio_open2");
    // A file that was not closed before is removed, so the result of closing it does not matter.
    const close = () => void (this.#words.all[IO] !== NULL && format.avio_close(this.#words.all[IO] as Address));
    owned("ffmpeg.file", this.#undo, close);
    struct.change("AVFormatContext", this.#context, { pb: this.#words.all[IO] as Address });
    this.#packet = newPacket(this.#undo);
  }

  /** Opens the encoder of a stream for its first frame; with the last stream, also the file. */
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
    return await this.calls.orEnd(async () => {
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
    listenTo(context, this.#undo);
    const isSound = info.type === "audio";
    const { frameRate = info.media?.frameRate, threads, bitRate } = asked;
    const given: Ratio | undefined = from.time_base_num === 0 ? undefined : [from.time_base_num, from.time_base_den];
    const timeBase: Ratio = isSound
      ? [1, info.sampleRate]
      : asked.timeBase ?? (frameRate && [frameRate[1], frameRate[0]]) ?? given ?? DEFAULT_TIME_BASE;
    const isApart = (struct.at("AVOutputFormat", this.#format).flags & AVFMT_GLOBALHEADER) !== 0;
    struct.change("AVCodecContext", context, {
      ...{ thread_count: threads, time_base_num: timeBase[0], time_base_den: timeBase[1] },
      ...(bitRate === undefined ? {} : { bit_rate: BigInt(bitRate) }),
      ...(isApart && { flags: struct.at("AVCodecContext", context).flags | AV_CODEC_FLAG_GLOBAL_HEADER }),
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
    setOptions(this.#words.place(word), asked.options, this.#undo);
    this.calls.assertPassed(
      await codec.avcodec_open2(context, encoder, this.#words.addressOf(word)),
      "avcodec_open2",
      SAID,
    );
    const own = made(format.avformat_new_stream(this.#context, NULL), "avformat_new_stream");
    const { codecpar } = struct.at("AVStream", own);
    check(codec.avcodec_parameters_from_context(codecpar, context), "avcodec_parameters_from_context");
    struct.change("AVStream", own, {
      ...{ time_base_num: timeBase[0], time_base_den: timeBase[1] },
      ...{ aspect_num: from.aspect_num, aspect_den: from.aspect_den },
      ...(frameRate === undefined ? {} : { avg_frame_rate_num: frameRate[0], avg_frame_rate_den: frameRate[1] }),
    });
    const [length, unit] = frameRate === undefined
      ? [from.duration, given ?? timeBase]
      : [1n, [frameRate[1], frameRate[0]] as const];
    const step = rescaled(length, unit, timeBase) || 1n;
    const most = struct.at("AVCodecContext", context).frame_size;
    return { asked, info, codec: context, own, times: new Timeline(checks, timeBase), most, step };
  }

  /** Writes the file's header, once all streams are known, then the packets that came before. */
  async #begin(): Promise<void> {
    const { format, codec } = coding();
    this.calls.assertPassed(
      await format.avformat_write_header(this.#context, this.#words.addressOf(OPTIONS)),
      "avformat_write_header",
    );
    for (const dictionary of this.#words.all.subarray(OPTIONS)) {
      const left = codec.av_dict_get(dictionary as Address, cString(""), NULL, AV_DICT_IGNORE_SUFFIX);
      if (left === NULL) continue;
      const { key } = struct.at("AVDictionaryEntry", left);
      throw checks.wrong(
        "options",
        `neither the encoder nor the file's format has an option ${shown(textAt(key))}.`,
        LISTED,
      );
    }
    for (const [stream, packet] of this.#early.splice(0)) await this.#put(stream, packet);
  }

  /** Encodes a frame, or flushes the encoder, and writes the packets. */
  async #send(stream: Stream, frame: Address): Promise<void> {
    const { codec } = coding();
    this.calls.assertPassed(await codec.avcodec_send_frame(stream.codec, frame), "avcodec_send_frame");
    for (;;) {
      const code = frame === NULL
        ? await codec.avcodec_receive_packet_async(stream.codec, this.#packet)
        : codec.avcodec_receive_packet(stream.codec, this.#packet);
      if (code === -EAGAIN || code === AVERROR_EOF) return;
      this.calls.assertPassed(code, "avcodec_receive_packet");
      if (this.#streams.length === this.#asked.length) await this.#put(stream, this.#packet);
      else this.#early.push([stream, this.#packet]), this.#packet = newPacket(this.#undo);
    }
  }

  async #put({ own, times: { timeBase }, step }: Stream, packet: Address): Promise<void> {
    const { index, time_base_num, time_base_den } = struct.at("AVStream", own);
    const { pts, dts, duration } = struct.at("AVPacket", packet);
    const times = { pts, dts, duration: duration || step };
    const [to, entries] = [[time_base_num, time_base_den] as const, Object.entries(times)];
    const inFile = Object.fromEntries(entries.map(([name, time]) => {
      return [name, time === AV_NOPTS_VALUE ? time : rescaled(time, timeBase, to)];
    }));
    struct.change("AVPacket", packet, { ...inFile, stream_index: index });
    this.calls.assertPassed(
      await coding().format.av_interleaved_write_frame(this.#context, packet),
      "av_interleaved_write_frame",
    );
  }
}

const DEFAULT_TIME_BASE: Ratio = [1, 25];

/** How a program has a frame let go. */
const LET_GO = "An encoder keeps these bytes: write what follows, or close it.";

const LISTED = "`ffmpeg -h full` lists all options.";
/** What to do where FFmpeg does not open an encoder. */
const SAID = "FFmpeg's warnings say why: change the options, the codec, or the frames' size and format.";

function mediumOf({ type }: FrameInfo): Medium {
  return type === "audio" ? "audio" : "video";
}

/** Sets the time of a frame, in the encoder's time base. */
function setTime({ times, step, most }: Stream, { media = {} }: FrameInfo, fields: Fields): void {
  const { nb_samples } = fields;
  if (most > 0 && nb_samples > most) {
    const hint = "Write parts of it, each a Frame of its own.";
    throw checks.wrong(
      "frame",
      `expected at most ${most} samples, as the encoder takes them, got ${nb_samples}.`,
      hint,
    );
  }
  const duration = nb_samples > 0 ? BigInt(nb_samples) : step;
  const [time_base_num, time_base_den] = times.timeBase;
  Object.assign(fields, { pts: times.add(media, duration), duration, time_base_num, time_base_den });
}
