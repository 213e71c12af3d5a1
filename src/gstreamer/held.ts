import { type Address, NULL } from "../../ffi/address.ts";
import * as gs from "../../ffi/gstreamer/constants.ts";
import type { GstMapInfo } from "../../ffi/gstreamer/structs.ts";
import type { MediaFacts } from "../core/layout/frame_info.ts";
import { Spares } from "../core/life/spares.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { type Access, writes } from "../core/memory/access.ts";
import type { Fate } from "../core/memory/allocation.ts";
import { exporterOf, whyHidden } from "../core/native/fd.ts";
import type { InMemory } from "../core/native/struct_type.ts";
import { textAt } from "../core/native/text.ts";
import type { Wanted } from "../media/context.ts";
import { accessIn, type HeldBlock } from "../media/held.ts";
import { NANOSECONDS } from "./caps.ts";
import { checks, gst, gstAllocators, made, takenError } from "./library.ts";
import { isLent } from "./lent.ts";
import { DMABUF, type NativeMemory, TEXTURES } from "./native_memory.ts";
import { miniObjectAt, structs, unreference } from "./objects.ts";

/** A buffer that a program passed. */
export interface Given {
  readonly buffer: Address;
  /** What is said of it, if anything: caps, or their text. */
  readonly caps: unknown;
  readonly memories: readonly Memory[];
  /** GStreamer's names of the allocators of its memories. */
  readonly kinds: readonly string[];
  readonly isWritable: boolean;
  /** When it is shown. */
  readonly moment: MediaFacts;
}

/** A GstMemory of it. */
interface Memory {
  readonly address: Address;
  /** Where its bytes begin in the block that it is a part of, and how many there are. */
  readonly offset: number;
  readonly byteLength: number;
}

/**
 * What a program passed: a GstBuffer, or a GstSample with one.
 *
 * @throws {ArgumentError} for anything else that is seen to be so, no memory, memory of a device, and a tensor's.
 */
export function givenBuffer(pointer: Address, caps?: unknown): Given {
  const type = miniObjectAt(pointer, "pointer", "GstBuffer", "GstSample");
  return type === "GstSample" ? givenSample(pointer, caps) : given(pointer, caps);
}

/** The same of a sample that GStreamer itself has handed out. */
export function givenSample(sample: Address, caps?: unknown): Given {
  const buffer = gst().gst_sample_get_buffer(sample);
  if (buffer === NULL) {
    throw checks.wrong("pointer", "its GstSample has no buffer.", undefined, "gst_sample_get_buffer");
  }
  const its = gst().gst_sample_get_caps(sample);
  return given(buffer, caps ?? (its === NULL ? undefined : its));
}

/**
 * What a program passed that holds several: a GstBufferList, or a GstSample with one.
 *
 * @throws {ArgumentError} for anything else that is seen to be so, and as {@link givenBuffer}.
 */
export function givenBatch(pointer: Address, caps?: unknown): Given[] {
  const isSample = miniObjectAt(pointer, "pointer", "GstBufferList", "GstSample") === "GstSample";
  const list = isSample ? gst().gst_sample_get_buffer_list(pointer) : pointer;
  const length = list === NULL ? 0 : gst().gst_buffer_list_length(list);
  if (length === 0) {
    const what = `its ${isSample ? "GstSample" : "GstBufferList"} has no list of buffers, or an empty one.`;
    throw checks.wrong("pointer", what, "attach() takes one buffer.", "gst_sample_get_buffer_list");
  }
  const its = isSample ? gst().gst_sample_get_caps(pointer) : NULL;
  const about = caps ?? (its === NULL ? undefined : its);
  return Array.from({ length }, (_, i) => given(gst().gst_buffer_list_get(list, i), about));
}

function given(buffer: Address, caps: unknown): Given {
  const count = gst().gst_buffer_n_memory(buffer);
  if (count === 0) throw checks.wrong("pointer", "its GstBuffer has no memory.");
  // It says whether there is one reference to each, and to its buffer and sample; and nothing of the flag.
  let isWritable = gst().gst_buffer_is_all_memory_writable(buffer) !== 0;
  const kinds: string[] = [];
  const memories: Memory[] = [];
  for (let i = 0; i < count; i++) {
    const address = gst().gst_buffer_peek_memory(buffer, i);
    const { flags, allocator, offset, size } = structs.GstMemory.copyOf(address);
    isWritable &&= (flags & gs.GST_MEMORY_FLAG_READONLY) === 0;
    kinds.push(kindOf(allocator as Address));
    memories.push({ address, offset: Number(offset), byteLength: Number(size) });
    if (!isLent(address)) continue;
    const remedy = "Use the frame that was written, or that gstreamer.buffer() was given.";
    throw checks.wrong("pointer", "its GstBuffer is over a tensor's memory.", remedy);
  }
  return { buffer, caps, memories, kinds, isWritable, moment: momentOf(buffer) };
}

/**
 * In nanoseconds: 292 years. Above it lie GST_CLOCK_TIME_NONE and FFmpeg's number for no time, which its elements pass
 * on.
 */
const LATEST = 2n ** 63n - 1n;

function momentOf(buffer: Address): MediaFacts {
  const { pts, duration, flags } = structs.GstBuffer.copyOf(buffer);
  const moment: { -readonly [F in keyof MediaFacts]: MediaFacts[F] } = {
    timeBase: NANOSECONDS,
    keyFrame: (flags & gs.GST_BUFFER_FLAG_DELTA_UNIT) === 0,
  };
  // One by one: spreads would take longer than all else here.
  if (pts <= LATEST) moment.pts = pts;
  if (duration <= LATEST) moment.duration = duration;
  if ((flags & gs.GST_BUFFER_FLAG_DISCONT) !== 0) moment.discontinuous = true;
  return moment;
}

/** Memory that the CPU sees only in a copy, by GStreamer's names of its allocators, and what to put in front. */
const ELSEWHERE: Readonly<Record<string, readonly [where: string, remedy: string]>> = {
  CUDAMemory: ["on a GPU of NVIDIA's", "cudadownload"],
  VAMemory: ["in a VA-API surface", "vapostproc ! video/x-raw(memory:DMABuf)"],
  VulkanMemory: ["in Vulkan's memory", "vulkandownload"],
  VulkanImageMemory: ["in a Vulkan image", "vulkandownload"],
  VulkanBufferMemory: ["in a Vulkan buffer", "vulkandownload"],
};

const IN_TEXTURES = ["in an OpenGL texture", "gldownload ! video/x-raw"] as const;

/** Names of allocators by their addresses: they are literals of plugins, which GStreamer never closes. */
const kinds = new Map<bigint, string>();

function kindOf(allocator: Address): string {
  const { mem_type } = structs.GstAllocator.copyOf(allocator);
  let kind = kinds.get(mem_type);
  if (kind === undefined) kinds.set(mem_type, kind = textAt(mem_type as Address) ?? "");
  return kind;
}

/**
 * @param isDownloaded the caps say that textures have come down to the CPU: an element is there to do it
 * @throws {ArgumentError} for memory whose bytes the CPU sees only in a copy.
 */
export function assertInMemory({ kinds, memories }: Given, isDownloaded = false, modifier = 0n): void {
  if (modifier !== 0n) {
    const what = `its pixels lie as the DRM modifier 0x${modifier.toString(16)} says, and the CPU wants row after row.`;
    throw checks.wrong("caps", what, "Attach it by GStreamerContext.open({ on: dmabuf }).");
  }
  for (const [i, kind] of kinds.entries()) {
    if (kind === DMABUF) assertShown(memories[i].address);
    const elsewhere = TEXTURES.includes(kind) ? IN_TEXTURES : ELSEWHERE[kind];
    if (elsewhere === undefined || elsewhere === IN_TEXTURES && isDownloaded) continue;
    const what = `the memory of its GstBuffer is ${kind}: its bytes are ${elsewhere[0]}, and the CPU gets a copy.`;
    throw checks.wrong("pointer", what, `Put ${elsewhere[1]} in front.`);
  }
}

/** GStreamer maps any dma-buf, also where a mapping is not the memory. */
function assertShown(memory: Address): void {
  const hidden = whyHidden(exporterOf(gstAllocators().gst_dmabuf_memory_get_fd(memory)));
  if (hidden === undefined) return;
  const remedy = "Attach it by GStreamerContext.open({ on: dmabuf }), or put vapostproc ! video/x-raw in front.";
  throw checks.wrong("pointer", hidden.reason, remedy);
}

/** A buffer of which we have a reference, with all of its memory mapped; as dma-bufs, without. */
export class HeldBuffer {
  /** A GstBuffer. */
  readonly handle: Address;
  /** @see FrameOwner.isReference */
  readonly isReference = true;
  readonly access: Access;
  readonly isCopy: boolean;
  /** Its bytes, memory by memory. The address of native memory is where its bytes begin in the object: in the fd. */
  readonly blocks: readonly HeldBlock[];
  /** True until its reference is given back. */
  isHeld = true;
  readonly #maps: InMemory<typeof GstMapInfo>[] = [];

  /** @throws {AccessError} to write what others may read, without a copy. */
  constructor({ buffer, isWritable, memories }: Given, wanted: Wanted, native?: NativeMemory) {
    const { access, isCopy } = accessIn(wanted, isWritable, native === undefined, SHARED);
    [this.access, this.isCopy] = [access, isCopy];
    this.handle = this.isCopy ? copied(buffer) : gst().gst_mini_object_ref(buffer);
    this.blocks = this.allOrNothing(() => {
      return memories.map((memory, i) => {
        const { address, offset: start, byteLength } = memory;
        if (native?.mapFlags !== undefined) this.#mapped(address, native.mapFlags);
        if (native !== undefined) return { kind: "gstreamer.native", address: BigInt(start) as Address, byteLength };
        return this.#mapped(this.isCopy ? gst().gst_buffer_peek_memory(this.handle, i) : address);
      });
    });
  }

  /** Makes something of it, or gives it back. */
  allOrNothing<T>(make: () => T): T {
    return allOrNothing("attaching a GstBuffer", make, [() => this.release("unused")]);
  }

  /** A view that was moved away may still look at the bytes: GStreamer keeps them then. */
  release(fate: Fate): void {
    if (fate !== "unused") return;
    for (const info of this.#maps) {
      gst().gst_memory_unmap(info.memory as Address, info.view);
      spares.give(info);
    }
    this.isHeld = false;
    unreference(this.handle);
  }

  #mapped(memory: Address, more = 0): HeldBlock {
    const info = spares.take();
    const flags = more | (writes(this.access) ? gs.GST_MAP_READ | gs.GST_MAP_WRITE : gs.GST_MAP_READ);
    if (gst().gst_memory_map(memory, info.view, flags) === 0) {
      throw takenError(NULL, "gst_memory_map", { hint: "Has other code mapped it to write it?" });
    }
    this.#maps.push(info);
    return { kind: "gstreamer.memory", address: info.data as Address, byteLength: Number(info.size) };
  }
}

const SHARED = {
  ...{ api: "gstreamer", library: "GStreamer", object: "GstBuffer", fn: "gst_buffer_is_all_memory_writable" },
} as const;

/** What gst_memory_map() fills in. */
const spares = new Spares(() => structs.GstMapInfo.blank(), () => {}, () => {});

function copied(buffer: Address): Address {
  const own = made(gst().gst_buffer_new(), "gst_buffer_new");
  if (gst().gst_buffer_copy_into(own, buffer, COPY, 0n, gst().gst_buffer_get_size(buffer)) !== 0) return own;
  unreference(own);
  throw takenError(NULL, "gst_buffer_copy_into");
}

const COPY = gs.GST_BUFFER_COPY_FLAGS | gs.GST_BUFFER_COPY_TIMESTAMPS | gs.GST_BUFFER_COPY_META |
  gs.GST_BUFFER_COPY_MEMORY | gs.GST_BUFFER_COPY_DEEP;
