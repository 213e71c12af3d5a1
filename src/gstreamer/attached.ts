import { type Address, NULL } from "../../ffi/address.ts";
import * as gs from "../../ffi/gstreamer/constants.ts";
import type { GstMapInfo } from "../../ffi/gstreamer/structs.ts";
import { GstVideoMeta } from "../../ffi/gst_video/structs.ts";
import { AccessError } from "../core/errors.ts";
import { croppedPlane, type PlaneLayout } from "../core/layout/components.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import { type FrameInfo, frameInfo, imageInfo, planeLayouts, withMedia } from "../core/layout/frame_info.ts";
import { type Layout, layout } from "../core/layout/layout.ts";
import { Spares } from "../core/life/spares.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import { type Access, writes } from "../core/memory/access.ts";
import type { Fate } from "../core/memory/allocation.ts";
import { viewAt } from "../core/native/pin.ts";
import type { InMemory } from "../core/native/struct_type.ts";
import { textAt } from "../core/native/text.ts";
import { Recent } from "../core/recent.ts";
import { type AdoptedPlane, adoptFrame, adoptTensor } from "../core/tensors/adopt.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { type Caps, NANOSECONDS, type Place } from "./caps.ts";
import type { GStreamerContext } from "./context.ts";
import { imageFormatOf, pixelsFormat } from "./formats.ts";
import { checks, gst, gstAudio, gstVideo, made, takenError } from "./library.ts";
import { isLent } from "./lent.ts";
import type { GStreamerTensor } from "./memory.ts";
import { miniObjectAt, newStruct, struct, unreference } from "./objects.ts";

/** A buffer that a program passed. */
export interface Given {
  readonly buffer: Address;
  /** What is said of it, if anything: caps, or their text. */
  readonly caps: unknown;
  /** True where others may read its memory. */
  readonly isShared: boolean;
}

/**
 * What a program passed: a GstBuffer, or a GstSample with one.
 *
 * @throws {ArgumentError} for anything else that is seen to be so, and an empty sample.
 */
export function givenBuffer(pointer: Address, caps?: unknown): Given {
  const { name, refcount } = miniObjectAt(pointer, "pointer", "GstBuffer", "GstSample");
  const isSample = name === "GstSample";
  const buffer = isSample ? gst().gst_sample_get_buffer(pointer) : pointer;
  if (buffer === NULL) throw checks.wrong("pointer", "its GstSample has no buffer.");
  const itsCaps = isSample ? gst().gst_sample_get_caps(pointer) : NULL;
  return {
    buffer,
    caps: caps ?? (itsCaps === NULL ? undefined : itsCaps),
    isShared: refcount > 1 || isSample && struct.type("GstBuffer").copyOf(buffer).refcount > 1,
  };
}

/** A frame over a new reference to a buffer of other code's. */
export function attachedFrame(
  context: GStreamerContext,
  given: Given,
  asked: Access | undefined,
  mayCopy: boolean,
): Frame<GStreamerTensor> {
  const caps = given.caps === undefined ? undefined : context.caps.of(given.caps);
  const held = new HeldBuffer(given, asked, mayCopy);
  const { info, planes } = held.allOrNothing(() => contentsOf(held, caps));
  const about = { access: held.access, name: `gstbuffer ${info.format}`, later: true };
  const frame = adoptFrame(context, held, info, planes, about);
  if (held.isCopy) context.countCopied(frame.byteLength);
  return frame;
}

/** A tensor over the bytes of such a buffer, whatever they are. */
export function attachedBytes(
  context: GStreamerContext,
  given: Given,
  asked: Access | undefined,
  mayCopy: boolean,
): GStreamerTensor {
  const held = new HeldBuffer(given, asked, mayCopy);
  const block = held.allOrNothing(() => {
    const [block, ...others] = held.memories.map(({ block }) => block);
    if (others.length === 0) return block;
    const what = `its GstBuffer has ${1 + others.length} blocks of memory, and a tensor is one.`;
    throw checks.unfit("pointer", what, "Attach it as a frame.");
  });
  const at = layout({ shape: [block.byteLength], dtype: "u8" });
  const tensor = adoptTensor(context, held, { handle: block.address, layout: at, block }, { access: held.access });
  if (held.isCopy) context.countCopied(tensor.layout.byteLength);
  return tensor;
}

/** Memory of a buffer, mapped. */
interface Mapping {
  /** Where it is. Planes count from its first byte. */
  readonly block: { readonly kind: string; readonly address: Address; readonly byteLength: number };
}

/** A buffer of which we have a reference, with all of its memory mapped. */
class HeldBuffer {
  /** A GstBuffer. */
  readonly handle: Address;
  readonly access: Access;
  readonly isCopy: boolean;
  readonly memories: readonly Mapping[];
  readonly #undo: Undo = [];

  constructor({ buffer, isShared }: Given, asked: Access | undefined, mayCopy: boolean) {
    const { memories, areWritable } = memoriesOf(buffer);
    const isFixed = isShared || !areWritable;
    const access = this.access = asked ?? (isFixed && !mayCopy ? "read" : "read-write");
    this.isCopy = isFixed && writes(access);
    if (this.isCopy && !mayCopy) throw notWritable();
    [this.handle, this.memories] = this.allOrNothing(() => {
      const own = this.isCopy ? copied(buffer, this.#undo) : gst().gst_mini_object_ref(buffer);
      if (!this.isCopy) this.#undo.push(() => unreference(own));
      const mapped = this.isCopy ? memoriesOf(own).memories : memories;
      return [own, mapped.map((memory) => this.#map(memory))] as const;
    });
  }

  /** Makes something of it, or gives it back. */
  allOrNothing<T>(make: () => T): T {
    return allOrNothing("attaching a GstBuffer", make, this.#undo);
  }

  /** A view that was moved away may still look at the bytes: GStreamer keeps them then. */
  release(fate: Fate): void {
    if (fate === "unused") undoAll(this.#undo, "giving a GstBuffer back");
  }

  #map(memory: Address): Mapping {
    const info = spares.take();
    this.#undo.push(() => spares.give(info));
    const flags = writes(this.access) ? gs.GST_MAP_READ | gs.GST_MAP_WRITE : gs.GST_MAP_READ;
    if (gst().gst_memory_map(memory, info.view, flags) === 0) {
      throw takenError(NULL, "gst_memory_map", { hint: "Has other code mapped it to write it?" });
    }
    this.#undo.push(() => gst().gst_memory_unmap(memory, info.view));
    const { data, size } = info;
    return { block: { kind: "gstreamer.memory", address: data as Address, byteLength: Number(size) } };
  }
}

/** What gst_memory_map() fills in. */
const spares = new Spares<InMemory<typeof GstMapInfo>>(() => newStruct("GstMapInfo"), () => {}, () => {});

function copied(buffer: Address, undo: Undo): Address {
  const own = made(gst().gst_buffer_new(), "gst_buffer_new");
  undo.push(() => unreference(own));
  if (gst().gst_buffer_copy_into(own, buffer, COPY, 0n, gst().gst_buffer_get_size(buffer)) === 0) {
    throw takenError(NULL, "gst_buffer_copy_into");
  }
  return own;
}

const COPY = gs.GST_BUFFER_COPY_FLAGS | gs.GST_BUFFER_COPY_TIMESTAMPS | gs.GST_BUFFER_COPY_META |
  gs.GST_BUFFER_COPY_MEMORY | gs.GST_BUFFER_COPY_DEEP;

/** The memory of a buffer. @throws {ArgumentError} for none, a device's, and a tensor's. */
function memoriesOf(buffer: Address): { readonly memories: readonly Address[]; readonly areWritable: boolean } {
  const count = gst().gst_buffer_n_memory(buffer);
  if (count === 0) throw checks.wrong("pointer", "its GstBuffer has no memory.");
  const memories: Address[] = [];
  let areWritable = gst().gst_buffer_is_all_memory_writable(buffer) !== 0; // which says nothing of the flag
  for (let i = 0; i < count; i++) {
    const memory = gst().gst_buffer_peek_memory(buffer, i);
    const { flags, allocator } = struct.type("GstMemory").copyOf(memory);
    assertOfHost(memory, allocator as Address);
    areWritable &&= (flags & gs.GST_MEMORY_FLAG_READONLY) === 0;
    memories.push(memory);
  }
  return { memories, areWritable };
}

/** Memory that the CPU sees only in a copy, by GStreamer's names of its allocators, and what to put in front. */
const ELSEWHERE: Readonly<Record<string, readonly [where: string, remedy: string]>> = {
  GLMemory: ["in a texture of OpenGL's", "gldownload"],
  GLMemoryEGL: ["in a texture of OpenGL's", "gldownload"],
  GLMemoryPBO: ["in a texture of OpenGL's", "gldownload"],
  CUDAMemory: ["on a GPU of NVIDIA's", "cudadownload"],
  VAMemory: ["in a surface of VA-API's", "vapostproc ! video/x-raw(memory:DMABuf)"],
  VulkanMemory: ["in memory of Vulkan's", "vulkandownload"],
  VulkanImageMemory: ["in an image of Vulkan's", "vulkandownload"],
  VulkanBufferMemory: ["in a buffer of Vulkan's", "vulkandownload"],
};

/** The types of memory that were seen to be the host's, by the addresses of their names, which GStreamer never moves. */
const hosts = new Set<Address>();

function assertOfHost(memory: Address, allocator: Address): void {
  const { mem_type } = struct.type("GstAllocator").copyOf(allocator);
  const name = mem_type as Address;
  if (!hosts.has(name)) {
    const found = ELSEWHERE[textAt(name) ?? ""];
    if (found !== undefined) {
      const [where, element] = found;
      const what = `the memory of its GstBuffer is ${textAt(name)}: its bytes are ${where}, and the CPU gets a copy.`;
      throw checks.wrong("pointer", what, `Put ${element} in front.`);
    }
    hosts.add(name);
  }
  if (!isLent(memory)) return;
  throw checks.wrong(
    "pointer",
    "its GstBuffer is over a tensor's memory.",
    "Use the frame that gstreamer.buffer() was given.",
  );
}

interface Contents {
  readonly info: FrameInfo;
  readonly planes: readonly AdoptedPlane[];
}

/** What the frames of a stream have in common: what they are, in which memory each plane lies, and where. */
interface Stream {
  readonly info: FrameInfo;
  readonly planes: readonly (readonly [memory: number, layout: Layout])[];
}

const streams = new Recent<Stream>();

/** @throws {ArgumentError} for what has no elements in memory. @throws {LayoutError} for planes elsewhere. */
function contentsOf({ handle, memories }: HeldBuffer, caps: Caps | undefined): Contents {
  const metas = metasOf(handle, caps);
  const numbers = [caps?.number ?? 0, ...metas.numbers];
  for (const { block: { address, byteLength } } of memories) numbers.push(byteLength, Number(address & 7n));
  const stream = streams.of(Float64Array.from(numbers), () => {
    return caps?.sound === undefined ? picture(metas, caps, memories) : sound(metas, caps.sound, memories);
  });
  const planes = stream.planes.map(([i, layout]) => {
    const { block } = memories[i];
    return { handle: block.address, layout, block };
  });
  return { info: withMedia(stream.info, { ...stream.info.media, ...momentOf(handle) }), planes };
}

/** What a frame alone has. */
function momentOf(buffer: Address) {
  const { pts, duration, flags } = struct.type("GstBuffer").copyOf(buffer);
  return {
    timeBase: NANOSECONDS,
    keyFrame: (flags & gs.GST_BUFFER_FLAG_DELTA_UNIT) === 0,
    ...pts !== gs.GST_CLOCK_TIME_NONE && { pts },
    ...duration !== gs.GST_CLOCK_TIME_NONE && { duration },
    ...(flags & gs.GST_BUFFER_FLAG_DISCONT) !== 0 && { discontinuous: true },
  };
}

/** What a buffer says of its planes, and all the numbers in that. */
interface Metas {
  readonly pictures?: { readonly format: number; readonly width: number; readonly height: number };
  readonly places?: readonly Place[];
  readonly crop?: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
  readonly sound?: { readonly samples: number; readonly offsets: readonly number[] };
  readonly numbers: readonly number[];
}

function metasOf(buffer: Address, caps: Caps | undefined): Metas {
  if (caps?.sound !== undefined) return soundMeta(buffer, caps.sound.layout === "planar" ? caps.sound.channels : 0);
  const numbers: number[] = [];
  let metas: Metas = { numbers };
  const meta = gstVideo().gst_buffer_get_video_meta(buffer);
  if (meta !== NULL) {
    const { format, width, height, n_planes, view } = struct.type("GstVideoMeta").copyOf(meta);
    const places = Array.from({ length: n_planes }, (_, i) => ({
      offset: Number(view.getBigUint64(fields.offset.offset + 8 * i, true)),
      stride: view.getInt32(fields.stride.offset + 4 * i, true),
    }));
    metas = { ...metas, pictures: { format, width, height }, places };
    numbers.push(format, width, height, ...places.flatMap(({ offset, stride }) => [offset, stride]));
  }
  const crop = gst().gst_buffer_get_meta(buffer, gstVideo().gst_video_crop_meta_api_get_type());
  if (crop !== NULL) {
    const { x, y, width, height } = struct.type("GstVideoCropMeta").copyOf(crop);
    metas = { ...metas, crop: { x, y, width, height } };
    numbers.push(x, y, width, height);
  }
  return metas;
}

const { fields } = GstVideoMeta;

function soundMeta(buffer: Address, planes: number): Metas {
  const meta = gst().gst_buffer_get_meta(buffer, gstAudio().gst_audio_meta_api_get_type());
  if (meta === NULL) return { numbers: [] };
  const { samples, offsets: at } = struct.type("GstAudioMeta").copyOf(meta);
  const list = planes === 0 ? undefined : viewAt(at as Address, 8 * planes, "gstreamer");
  const offsets = Array.from({ length: planes }, (_, i) => Number(list!.getBigUint64(8 * i, true)));
  return { sound: { samples: Number(samples), offsets }, numbers: [Number(samples), ...offsets] };
}

function picture({ pictures, places, crop }: Metas, caps: Caps | undefined, memories: readonly Mapping[]): Stream {
  const said = caps?.pictures;
  const whole = pictures ?? said;
  if (whole === undefined) {
    const what = caps === undefined ? "no caps, and its GstBuffer has no GstVideoMeta" : `caps of ${caps.name}`;
    throw checks.wrong("caps", `there are ${what}: what it holds is not known.`, "attachBytes() has its bytes.");
  }
  const format = pixelsFormat(whole.format, "pointer");
  if (said !== undefined && said.format !== whole.format) {
    const other = pixelsFormat(said.format, "caps").name;
    throw checks.wrong("caps", `they have ${other}, and the GstVideoMeta of its buffer has ${format.name}.`);
  }
  const { x, y, width, height } = crop ?? { x: 0, y: 0, ...whole };
  if (x + width > whole.width || y + height > whole.height || width === 0 || height === 0) {
    const shown = `${width} × ${height} from ${x}, ${y} on`;
    throw checks.unfit("pointer", `its GstVideoCropMeta has ${shown}, of ${whole.width} × ${whole.height} pixels.`);
  }
  const [{ step }] = format.planes; // more than 1 where luma and chroma take turns
  if (x % step !== 0) {
    throw checks.unfit("pointer", `its GstVideoCropMeta begins at ${x}, and ${format.name} has pixels of ${step}.`);
  }
  const named = imageFormatOf(format, width, height);
  const { media = {}, colour } = said ?? {};
  const about = { media, ...colour && { colour } };
  const info = frameInfo(
    named === undefined
      ? { type: "picture", format: format.name, width, height, planes: format.planes, ...about }
      : { ...imageInfo({ format: named, width, height }), ...about },
  );
  const at = places ?? said!.places;
  const planes = planeLayouts(info).map((one, i) => {
    const { offset, stride } = at[i];
    const least = one.shape[1] * format.planes[i].elements * sizeOf(one.dtype);
    if (stride < least) {
      const what = stride < 0
        ? "its rows go upwards in memory, and a layout's go downwards"
        : `a row has ${least} bytes`;
      throw checks.unfit("pointer", `the stride of plane ${i} of its GstBuffer is ${stride}: ${what}.`);
    }
    return placed(croppedPlane(format.planes[i], one, { left: x, top: y }, stride), i, offset, memories);
  });
  return { info, planes };
}

function sound({ sound }: Metas, { bytesPerFrame, ...said }: NonNullable<Caps["sound"]>, memories: readonly Mapping[]) {
  if (sound === undefined && said.layout === "planar") {
    throw checks.wrong("pointer", "each channel has a plane, and its GstBuffer has no GstAudioMeta, which says where.");
  }
  const byteLength = memories.reduce((sum, { block }) => sum + block.byteLength, 0);
  const { samples, offsets } = sound ?? { samples: Math.floor(byteLength / bytesPerFrame), offsets: [] };
  if (samples === 0) throw checks.wrong("pointer", "its GstBuffer has no samples.");
  const info = frameInfo({ ...said, samples });
  const planes = planeLayouts(info).map((plane, i) =>
    placed({ ...plane, byteOffset: 0 }, i, offsets[i] ?? 0, memories)
  );
  return { info, planes };
}

/** Where a plane lies that begins at a byte of the buffer, and whose layout is counted from there. */
function placed(
  { shape, dtype, strides, byteOffset }: PlaneLayout,
  i: number,
  offset: number,
  memories: readonly Mapping[],
): readonly [memory: number, layout: Layout] {
  let start = 0;
  for (const [m, { block: { address, byteLength } }] of memories.entries()) {
    const at = offset - start;
    start += byteLength;
    if (at >= byteLength) continue;
    const size = sizeOf(dtype);
    if (address % BigInt(size) !== 0n) {
      const what = `memory ${m} of its GstBuffer begins at no multiple of the ${size} bytes of ${dtype}.`;
      throw checks.unfit("pointer", what);
    }
    const within = layout({ shape, dtype, strides, byteOffset: byteOffset + at });
    checks.assertWithin(within, byteLength, "pointer");
    return [m, within];
  }
  throw checks.unfit("pointer", `plane ${i} begins at byte ${offset}, and its GstBuffer has ${start}.`);
}

function notWritable(): AccessError {
  return new AccessError("access: others may read the GstBuffer's memory, and GStreamer lets it be read only.", {
    ...{ api: "gstreamer", fn: "gst_buffer_is_writable", argument: "access" },
    hint: 'Pass { access: "read" }, or { copy: "allow" } for a copy that can be written.',
  });
}
