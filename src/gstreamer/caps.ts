import { type Address, NULL } from "../../ffi/address.ts";
import { GST_AUDIO_LAYOUT_INTERLEAVED, GST_AUDIO_LAYOUT_NON_INTERLEAVED } from "../../ffi/gst_audio/constants.ts";
import * as video from "../../ffi/gst_video/constants.ts";
import { GstVideoInfo } from "../../ffi/gst_video/structs.ts";
import type { StructLayout } from "../../ffi/layout.ts";
import type { DType } from "../core/layout/dtype.ts";
import { CODED_FACTS, codedFacts, codeOf, colourOf, known, nameIn } from "../core/layout/facts.ts";
import type { AudioInfo, Colour, FrameInfo, MediaFacts, PixelsInfo } from "../core/layout/frame_info.ts";
import { rescaled } from "../core/layout/ratio.ts";
import { thenUndo } from "../core/life/undo.ts";
import type { InMemory } from "../core/native/struct_type.ts";
import { cString, textAt } from "../core/native/text.ts";
import { outOfDrm } from "./drm.ts";
import { formats } from "./formats.ts";
import type { PixelsFormat } from "../media/formats.ts";
import { checks, gst, gstAudio, gstVideo, made, takenText } from "./library.ts";
import type { NativeMemory } from "./native_memory.ts";
import { miniObjectAt, structs, unreference } from "./objects.ts";
import { fieldOf } from "./structure.ts";

/** What caps say of the pictures of a stream. */
export interface Pictures {
  /** A GstVideoFormat. */
  readonly format: number;
  readonly width: number;
  readonly height: number;
  /** Where planes lie in a buffer that does not say it itself. */
  readonly places: readonly Place[];
  readonly colour?: Colour;
  readonly media: MediaFacts;
  /** The DRM format modifier, where they have the format as DRM does. */
  readonly modifier?: bigint;
}

/** Where a plane begins in a buffer, and how far it is from a row to the next. */
export interface Place {
  readonly offset: number;
  readonly stride: number;
}

/** What caps say of sound. */
export type Sound = Omit<AudioInfo, "samples"> & {
  /** Bytes of a sample of all channels. */
  readonly bytesPerFrame: number;
};

/** What caps say of buffers: of pictures, of sound, or nothing that samepage knows. */
export interface Caps {
  /** No other caps have it. */
  readonly number: number;
  readonly address: Address;
  /** The kind of the stream: `"video/x-raw"`. */
  readonly name: string;
  /** True where they say that the pixels are in OpenGL's textures. */
  readonly areTextures: boolean;
  readonly pictures?: Pictures;
  readonly sound?: Sound;
}

/** The most that a context keeps. */
const MOST = 8;

let count = 0;

/** The caps that buffers had lately. A context has a reference to each, so that no others come to their address. */
export class KnownCaps {
  readonly #known: (Caps & { readonly text?: string })[] = [];

  /** @throws {ArgumentError} for what is not the address of fixed caps, nor their text, or has no pixels in memory. */
  of(given: unknown): Caps {
    const found = this.#known.find(({ address, text }) => given === address || given === text);
    if (found !== undefined) return found;
    if (typeof given === "string") checks.assertText(given, "caps");
    const address = typeof given === "string" ? capsFrom(given) : capsAt(checks.handleIn<Address>(given, "caps"));
    try {
      const text = typeof given === "string" ? { text: given } : {};
      this.#known.unshift({ number: ++count, address, ...text, ...describedCaps(address) });
    } catch (error) {
      unreference(address);
      throw error;
    }
    for (const { address } of this.#known.splice(MOST)) unreference(address);
    return this.#known[0];
  }

  /** The context ends. */
  free(): void {
    for (const { address } of this.#known.splice(0)) unreference(address);
  }
}

function capsFrom(text: string): Address {
  const caps = gst().gst_caps_from_string(cString(text));
  if (caps !== NULL) return caps;
  throw checks.wrong("caps", `GStreamer reads no caps in "${text}".`, EXAMPLE, "gst_caps_from_string");
}

const EXAMPLE = 'As in "video/x-raw,format=NV12,width=64,height=64".';

/** A new reference. */
function capsAt(address: Address): Address {
  miniObjectAt(address, "caps", "GstCaps");
  return gst().gst_mini_object_ref(address);
}

function describedCaps(caps: Address): Omit<Caps, "number" | "address"> {
  if (gst().gst_caps_is_fixed(caps) === 0) {
    throw checks.wrong("caps", "they leave a choice, and a buffer's do not.", "Pass those that a pad or a sample has.");
  }
  const name = textAt(gst().gst_structure_get_name(gst().gst_caps_get_structure(caps, 0)))!;
  const features = gst().gst_caps_get_features(caps, 0);
  const are = (memory: string) => gst().gst_caps_features_contains(features, cString(`memory:${memory}`)) !== 0;
  const areTextures = are("GLMemory");
  if (name === "video/x-raw") {
    return { name, areTextures, pictures: are("DMABuf") ? picturesInDmaBufs(caps) : picturesOf(caps) };
  }
  return { name, areTextures, ...name === "audio/x-raw" && { sound: soundOf(caps) } };
}

type VideoInfo = InMemory<typeof GstVideoInfo>;

function picturesInDmaBufs(given: Address): Pictures {
  const drm = fieldOf(gst().gst_caps_get_structure(given, 0), "drm-format");
  if (typeof drm !== "string") return picturesOf(given);
  const { caps: text, modifier } = outOfDrm(textOf(given), drm);
  const caps = capsFrom(text);
  return thenUndo("reading caps", () => ({ ...picturesOf(caps), modifier }), [() => unreference(caps)]);
}

function picturesOf(caps: Address): Pictures {
  const info = structs.GstVideoInfo.blank();
  if (gstVideo().gst_video_info_from_caps(info.view, caps) === 0) throw unread("gst_video_info_from_caps");
  const { width, height, interlace_mode } = info;
  if (interlace_mode === video.GST_VIDEO_INTERLACE_MODE_ALTERNATE) {
    throw checks.wrong("caps", "each of their buffers has every other row.", "Put interleave in front: deinterlace.");
  }
  const format = structs.GstVideoFormatInfo.copyOf(info.finfo as Address).format;
  const places = placesIn(info.view, GstVideoInfo.fields, formats.at(format, "caps"));
  const media = mediaOf(info);
  const colour = colourOf(media.matrix, nameIn(RANGES, info.range));
  return { format, width, height, places, media, ...colour && { colour } };
}

/** Where the planes lie, by the lists of a GstVideoInfo or a GstVideoMeta. */
export function placesIn(
  view: DataView,
  { offset, stride }: Pick<StructLayout["fields"], "offset" | "stride">,
  { planes }: PixelsFormat,
): readonly Place[] {
  return planes.map((_, i) => ({
    offset: Number(view.getBigUint64(offset.offset + 8 * i, true)),
    stride: view.getInt32(stride.offset + 4 * i, true),
  }));
}

function soundOf(caps: Address): Sound {
  const info = structs.GstAudioInfo.blank();
  if (gstAudio().gst_audio_info_from_caps(info.view, caps) === 0) throw unread("gst_audio_info_from_caps");
  const { format: number } = structs.GstAudioFormatInfo.copyOf(info.finfo as Address);
  const name = textAt(gstAudio().gst_audio_format_to_string(number))!;
  const format = nameIn(SAMPLES, name);
  if (format === undefined) throw checks.wrong("caps", `their samples are ${name}, which are not elements.`, RESAMPLE);
  return {
    ...{ type: "audio", format, sampleRate: info.rate, channels: info.channels, bytesPerFrame: info.bpf },
    layout: info.layout === GST_AUDIO_LAYOUT_INTERLEAVED ? "interleaved" : "planar",
  };
}

const RESAMPLE = "Put audioconvert and caps of another format in front: audio/x-raw,format=S16LE.";

function unread(fn: string) {
  return checks.wrong("caps", "GStreamer cannot read them.", "Have they a format, a size and a rate?", fn);
}

/** GStreamer's names of samples. */
const SAMPLES: { readonly [T in DType]?: string } = {
  ...{ u8: "U8", i8: "S8", u16: "U16LE", i16: "S16LE", u32: "U32LE", i32: "S32LE", f32: "F32LE", f64: "F64LE" },
};

/** GStreamer's functions between its numbers and H.273's, by the fact, which is a field of a GstVideoInfo, too. */
const CODES = {
  matrix: "gst_video_color_matrix",
  transfer: "gst_video_transfer_function",
  primaries: "gst_video_color_primaries",
} as const;

/** Where chroma lies, in the order of FFmpeg's numbers. */
const CHROMA_SITES: readonly (number | undefined)[] = [
  ...[undefined, video.GST_VIDEO_CHROMA_SITE_MPEG2, video.GST_VIDEO_CHROMA_SITE_JPEG],
  ...[video.GST_VIDEO_CHROMA_SITE_COSITED, video.GST_VIDEO_CHROMA_SITE_V_COSITED],
];

const RANGES = { full: video.GST_VIDEO_COLOR_RANGE_0_255, limited: video.GST_VIDEO_COLOR_RANGE_16_235 } as const;

function mediaOf(info: VideoInfo): MediaFacts {
  return known({
    frameRate: info.fps_n === 0 ? undefined : Object.freeze([info.fps_n, info.fps_d] as const),
    sampleAspect: Object.freeze([info.par_n, info.par_d] as const),
    ...codedFacts((fact) => {
      if (fact === "chromaLocation") return CHROMA_SITES.indexOf(info.chroma_site);
      return gstVideo()[`${CODES[fact]}_to_iso`](info[fact]);
    }),
  });
}

const SET_FORMAT = "gst_video_info_set_format";

/** A GstVideoInfo of pictures. @throws {ArgumentError} for a format that GStreamer does not have. */
export function videoInfoOf(given: PixelsInfo): VideoInfo {
  const { width, height, colour, media = {} } = given;
  const info = structs.GstVideoInfo.blank();
  gstVideo().gst_video_info_init(info.view);
  if (gstVideo().gst_video_info_set_format(info.view, formats.numberFor(given), width, height) === 0) {
    throw checks.wrong("frame", `GStreamer has no pictures of ${width} × ${height}.`, undefined, SET_FORMAT);
  }
  for (const fact of CODED_FACTS) {
    const code = codeOf(fact, given);
    if (code === undefined) continue;
    if (fact === "chromaLocation") info.chroma_site = CHROMA_SITES[code] ?? info.chroma_site;
    else info[fact] = gstVideo()[`${CODES[fact]}_from_iso`](code) || info[fact]; // what it does not know stays its default
  }
  if (colour?.range !== undefined) info.range = RANGES[colour.range];
  [info.par_n, info.par_d] = media.sampleAspect ?? [1, 1];
  [info.fps_n, info.fps_d] = media.frameRate ?? [0, 1];
  return info;
}

/** A GstAudioInfo of sound. @throws {ArgumentError} for samples that GStreamer does not have. */
export function audioInfoOf({ format, sampleRate, channels, layout }: AudioInfo) {
  const name = SAMPLES[format];
  if (name === undefined) throw checks.wrong("frame", `GStreamer has no sound of ${format}.`);
  if (channels > MAX_CHANNELS) {
    throw checks.wrong("frame", `expected at most ${MAX_CHANNELS} channels, got ${channels}.`);
  }
  const info = structs.GstAudioInfo.blank();
  gstAudio().gst_audio_info_init(info.view);
  const number = gstAudio().gst_audio_format_from_string(cString(name));
  gstAudio().gst_audio_info_set_format(info.view, number, sampleRate, channels, null);
  if (layout === "planar") info.layout = GST_AUDIO_LAYOUT_NON_INTERLEAVED;
  return info;
}

/** With more channels, GStreamer requires the position of each. */
const MAX_CHANNELS = 64;

/**
 * New caps of such frames, which are the caller's.
 * @param native the memory that they are in, if not the CPU's
 * @param isHidden the CPU does not see that memory
 */
export function capsOf(info: FrameInfo, native?: NativeMemory, isHidden = false): Address {
  const caps = capsInMemory(info);
  if (native?.inCaps === undefined) return caps;
  const text = textOf(caps);
  unreference(caps);
  return capsFrom(native.inCaps(text, info, isHidden));
}

function textOf(caps: Address): string {
  return takenText(gst().gst_caps_to_string(caps))!;
}

function capsInMemory(info: FrameInfo): Address {
  if (info.type === "audio") {
    return made(gstAudio().gst_audio_info_to_caps(audioInfoOf(info).view), "gst_audio_info_to_caps");
  }
  return made(
    gstVideo().gst_video_info_to_caps(videoInfoOf(checks.pixelsIn(info, "frame")).view),
    "gst_video_info_to_caps",
  );
}

/** What caps say of a frame. */
const SAID = [
  ...["type", "format", "modifier", "width", "height", "planes", "colour"] as const,
  ...["sampleRate", "channels", "layout"] as const,
] as const;
const SAID_OF_MEDIA = [...CODED_FACTS, "sampleAspect", "frameRate"] as const;

/** True where caps say the same of both: each frame of a stream has an info of its own. */
export function haveSameCaps(a: FrameInfo, b: FrameInfo): boolean {
  const { media: its = {} } = a;
  const { media = {} } = b;
  return a === b || (isSame(a, b, SAID) && (its === media || isSame(its, media, SAID_OF_MEDIA)));
}

/** Compares plain data by these names. */
function isSame(a: object, b: object, names: readonly string[]): boolean {
  return names.every((name) => {
    const [one, other]: readonly unknown[] = [Reflect.get(a, name), Reflect.get(b, name)];
    if (one === other) return true;
    if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
    const inside = Object.keys(one);
    return inside.length === Object.keys(other).length && isSame(one, other, inside);
  });
}

/** The time base of a buffer. */
export const NANOSECONDS = Object.freeze([1, 1_000_000_000] as const);

/** A time in nanoseconds; `otherwise` for none. @throws {ArgumentError} for one of no time base. */
export function nanoseconds(time: bigint | undefined, { timeBase }: MediaFacts, otherwise: bigint): bigint {
  if (time === undefined) return otherwise;
  if (timeBase !== undefined) return rescaled(time, timeBase, NANOSECONDS);
  throw checks.wrong(
    "frame",
    "its info has a time and no timeBase.",
    "Add one: media: { pts: 40n, timeBase: [1, 1000] }.",
  );
}
