import { type Address, NULL } from "../../ffi/address.ts";
import type { GstAudioMeta } from "../../ffi/gst_audio/structs.ts";
import { GstVideoCropMeta, GstVideoMeta } from "../../ffi/gst_video/structs.ts";
import type { PlaneLayout } from "../core/layout/components.ts";
import { frameInWords, withMoment } from "../core/layout/frame_info.ts";
import { layoutWithin, partIn } from "../core/layout/held_picture.ts";
import { layout } from "../core/layout/layout.ts";
import { viewAt } from "../core/native/pin.ts";
import type { InMemory } from "../core/native/struct_type.ts";
import { Recent } from "../core/recent.ts";
import { adoptFrame, adoptTensor } from "../core/tensors/adopt.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Wanted } from "../media/context.ts";
import { frameOfPicture, type HeldBlock, type HeldPlane, type HeldStream, planesIn, soundOf } from "../media/held.ts";
import { type Caps, placesIn, type Sound } from "./caps.ts";
import type { GStreamerContext } from "./context.ts";
import { formats } from "./formats.ts";
import { assertInMemory, type Given, HeldBuffer } from "./held.ts";
import { checks, gst, gstAudio, gstVideo } from "./library.ts";
import { type NativeMemory, TEXTURES } from "./native_memory.ts";
import type { GStreamerTensor } from "./memory.ts";
import { readMetas } from "./metas.ts";
import { structs } from "./objects.ts";
import type { UpstreamPool } from "./pool.ts";

/**
 * A frame over a new reference to other code's buffer: of the context that GStreamer's was opened on, or GStreamer's
 * own.
 */
export function attachedFrame(
  context: GStreamerContext,
  given: Given,
  wanted: Wanted,
  pool?: UpstreamPool,
): Frame {
  const caps = given.caps === undefined ? undefined : context.caps.of(given.caps);
  const { native } = context;
  const isDownloaded = caps?.areTextures === false;
  const isNative = native !== undefined && given.kinds.every((kind) => native.kinds.includes(kind)) &&
    !(isDownloaded && native.kinds === TEXTURES);
  if (!isNative) assertInMemory(given, isDownloaded, caps?.pictures?.modifier);
  const held = new HeldBuffer(given, wanted, isNative ? native : undefined);
  const { info, planes } = held.allOrNothing(() => contentsOf(held, caps));
  const { moment } = given;
  const frame = isNative
    ? nativeFrame(context, native, held, { info: withMoment(info, moment), planes }, caps?.pictures?.modifier)
    : frameInMemory(context, held, { info, planes }, moment, pool);
  readMetas(held, frame);
  return frame;
}

/** A frame over its memory: of the pool in which it lies, or GStreamer's own. */
function frameInMemory(
  context: GStreamerContext,
  held: HeldBuffer,
  stream: HeldStream,
  moment: Given["moment"],
  pool?: UpstreamPool,
): Frame {
  const { access } = held;
  const { info } = stream;
  const adopted = planesIn(held.blocks, stream);
  const ours = held.allOrNothing(() => pool?.frameOf(withMoment(info, moment), adopted, held));
  if (ours !== undefined) return ours;
  const name = `gstbuffer ${frameInWords(info)}${pool === undefined ? "" : ` of ${pool.element}`}`;
  const frame = adoptFrame(context, held, info, adopted, { access, moment, name });
  if (held.isCopy) context.countCopied(frame.byteLength);
  return frame;
}

/** The frame of its dma-bufs or textures, which is the other context's. */
function nativeFrame(
  context: GStreamerContext,
  native: NativeMemory,
  held: HeldBuffer,
  { info, planes }: HeldStream,
  modifier?: bigint,
): Frame {
  const { blocks, access, handle } = held;
  const picture = held.allOrNothing(() => {
    if (info.type !== "image") {
      const what = `its GstBuffer has ${info.format}, and frames of ${context.on!.name} are of samepage's own formats.`;
      throw checks.wrong("pointer", what, "Attach it by a context that was opened without { on }.");
    }
    const memories = blocks.map((_, i) => gst().gst_buffer_peek_memory(handle, i));
    native.settle?.(handle, memories, info);
    const objects = memories.map((memory) => ({ handle: native.objectOf(memory) }));
    const places = planes.map(([object, { byteOffset, strides }]) => {
      return { object, offset: Number(blocks[object].address) + byteOffset, stride: strides[0] };
    });
    return { info, picture: { objects, planes: places, ...modifier !== undefined && { modifier } } };
  });
  return frameOfPicture(context, picture, access, () => held.release("unused"));
}

/** A tensor over the bytes of such a buffer, whatever they are. */
export function attachedBytes(context: GStreamerContext, given: Given, wanted: Wanted): GStreamerTensor {
  const { length } = given.memories;
  if (length > 1) {
    throw checks.unfit(
      "pointer",
      `its GstBuffer has ${length} blocks of memory, and a tensor is one.`,
      "Attach it as a frame.",
    );
  }
  assertInMemory(given);
  const held = new HeldBuffer(given, wanted);
  const { blocks: [block], access } = held;
  const at = held.allOrNothing(() => layout({ shape: [block.byteLength], dtype: "u8" }));
  const tensor = adoptTensor(context, held, { handle: block.address, layout: at, block }, { access });
  if (held.isCopy) context.countCopied(tensor.byteLength);
  return tensor;
}

/** What the frames of a stream have in common. */
const streams = new Recent<HeldStream>();

/** @throws {ArgumentError} for what has no elements in memory. @throws {LayoutError} for planes elsewhere. */
function contentsOf({ handle, blocks }: HeldBuffer, caps: Caps | undefined): HeldStream {
  const metas = metasOf(handle, caps?.sound);
  addNumbers(metas, blocks, caps);
  return streams.of(() => {
    return caps?.sound === undefined ? picture(metas, blocks, caps) : sound(metas, blocks, caps.sound);
  });
}

/** What a buffer says of where its planes lie. The structs are valid until the next call. */
function metasOf(buffer: Address, said: Sound | undefined): Metas {
  if (said !== undefined) return soundMeta(buffer, said);
  const video = gstVideo().gst_buffer_get_video_meta(buffer);
  cropType ??= gstVideo().gst_video_crop_meta_api_get_type();
  const crop = gst().gst_buffer_get_meta(buffer, cropType);
  return {
    video: video === NULL ? undefined : structs.GstVideoMeta.copyOf(video),
    crop: crop === NULL ? undefined : structs.GstVideoCropMeta.copyOf(crop),
  };
}

let cropType: bigint | undefined;

interface Metas {
  readonly video?: InMemory<typeof GstVideoMeta> | undefined;
  readonly crop?: InMemory<typeof GstVideoCropMeta> | undefined;
  readonly audio?: InMemory<typeof GstAudioMeta> | undefined;
  /** Where each channel's plane begins. */
  readonly offsets?: DataView<ArrayBuffer>;
}

function soundMeta(buffer: Address, { layout, channels }: Sound): Metas {
  const meta = gst().gst_buffer_get_meta(buffer, gstAudio().gst_audio_meta_api_get_type());
  if (meta === NULL) return {};
  const audio = structs.GstAudioMeta.copyOf(meta);
  if (layout === "interleaved") return { audio };
  return { audio, offsets: viewAt(audio.offsets as Address, 8 * channels, "gstreamer") };
}

/** All numbers that a stream's description looks at. */
function addNumbers(
  { video, crop, audio, offsets }: Metas,
  blocks: readonly HeldBlock[],
  caps: Caps | undefined,
): void {
  streams.begin();
  streams.add(caps?.number ?? 0);
  streams.add(audio === undefined ? -1 : Number(audio.samples));
  streams.addWords(video?.view, VIDEO.format.offset, VIDEO.map.offset);
  streams.addWords(crop?.view, CROP.x.offset, CROP.height.offset + 4);
  streams.addWords(offsets, 0, offsets?.byteLength ?? 0);
  streams.addBlocks(blocks);
}

const { fields: VIDEO } = GstVideoMeta;
const { fields: CROP } = GstVideoCropMeta;

function picture({ video, crop }: Metas, blocks: readonly HeldBlock[], caps: Caps | undefined): HeldStream {
  const said = caps?.pictures;
  const whole = video ?? said;
  if (whole === undefined) {
    const what = caps === undefined ? "there are none, and its GstBuffer has no GstVideoMeta" : `they are ${caps.name}`;
    const hint = "attachBytes() has its bytes; in front of an appsink, decodebin makes frames of them.";
    throw checks.wrong("caps", `${what}: what it holds is not known.`, hint);
  }
  const format = formats.at(said?.modifier === undefined ? whole.format : said.format, "pointer");
  if (said !== undefined && said.modifier === undefined && said.format !== whole.format) {
    const other = formats.at(said.format, "caps").name;
    throw checks.wrong("caps", `they have ${other}, and the GstVideoMeta of its buffer has ${format.name}.`);
  }
  const { x, y, width, height } = crop ?? { x: 0, y: 0, width: whole.width, height: whole.height };
  const places = video === undefined ? said!.places : placesIn(video.view, VIDEO, format);
  const held = {
    ...{ media: said?.media ?? {}, ...said?.colour && { colour: said.colour } },
    crop: partIn(checks, { left: x, top: y, width, height }, whole, format, "GstVideoCropMeta"),
    strideOf: (i: number) => places[i].stride,
    strideName: (i: number) => `the stride of plane ${i} of its GstBuffer`,
  };
  return formats.streamOf(format, held, (plane, i) => placed(plane, i, places[i].offset, blocks));
}

function sound({ audio, offsets }: Metas, blocks: readonly HeldBlock[], { bytesPerFrame, ...said }: Sound): HeldStream {
  if (audio === undefined && said.layout === "planar") {
    throw checks.wrong("pointer", "each channel has a plane, and its GstBuffer has no GstAudioMeta, which says where.");
  }
  const all = blocks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const samples = audio === undefined ? Math.floor(all / bytesPerFrame) : Number(audio.samples);
  if (samples === 0) throw checks.wrong("pointer", "its GstBuffer has no samples.");
  return soundOf({ ...said, samples }, (plane, i) => {
    return placed(plane, i, Number(offsets?.getBigUint64(8 * i, true) ?? 0n), blocks);
  });
}

/** Where a plane lies that begins at a byte of the buffer, whose memories follow one another. */
function placed(plane: PlaneLayout, i: number, offset: number, blocks: readonly HeldBlock[]): HeldPlane {
  let start = 0;
  for (const [b, block] of blocks.entries()) {
    const at = offset - start;
    if (at < block.byteLength) return [b, layoutWithin(checks, plane, at, block, `memory ${b} of its GstBuffer`)];
    start += block.byteLength;
  }
  throw checks.unfit("pointer", `plane ${i} begins at byte ${offset}, and its GstBuffer has ${start}.`);
}
