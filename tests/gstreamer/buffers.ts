/**
 * GstBuffers as other code makes them: by GStreamer's own functions, and nothing of samepage's.
 *
 * @module
 */
import { type Address, NULL } from "../../ffi/address.ts";
import * as gs from "../../ffi/gstreamer/constants.ts";
import { GST_FD_MEMORY_FLAG_NONE } from "../../ffi/gst_allocators/constants.ts";
import { GstBuffer, GstMapInfo, GstMemory, GstMiniObject } from "../../ffi/gstreamer/structs.ts";
import { GstVideoCropMeta, GstVideoInfo } from "../../ffi/gst_video/structs.ts";
import { cString } from "../../src/core/native/text.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { formats } from "../../src/gstreamer/formats.ts";
import { gst, gstAllocators, gstVideo, made, takenError } from "../../src/gstreamer/library.ts";

/** A mini object of GStreamer's that the test has a reference to. */
export class Owned implements Disposable {
  readonly address: Address;

  constructor(address: Address) {
    this.address = address;
  }

  /** How many references there are to it. */
  get references(): number {
    return viewAt(this.address, GstMiniObject.size, "gstreamer").getInt32(GstMiniObject.fields.refcount.offset, true);
  }

  /** One more. */
  again(): Owned {
    return new Owned(gst().gst_mini_object_ref(this.address));
  }

  [Symbol.dispose](): void {
    gst().gst_mini_object_unref(this.address);
  }
}

/** Uses memory while it is mapped. */
function mapped<R>(memory: Address, flags: number, use: (bytes: DataView<ArrayBuffer>, address: Address) => R): R {
  const info = new DataView(new ArrayBuffer(GstMapInfo.size));
  if (gst().gst_memory_map(memory, info, flags) === 0) throw takenError(NULL, "gst_memory_map");
  const { data, size } = GstMapInfo.fields;
  const address = info.getBigUint64(data.offset, true) as Address;
  try {
    return use(viewAt(address, Number(info.getBigUint64(size.offset, true)), "gstreamer"), address);
  } finally {
    gst().gst_memory_unmap(memory, info);
  }
}

/** Where the first memory of a buffer begins. */
export function addressIn(buffer: Owned): Address {
  return mapped(gst().gst_buffer_peek_memory(buffer.address, 0), gs.GST_MAP_READ, (_, address) => address);
}

/** GStreamer's memory over dma-bufs, whose fds it closes. */
export function dmaBufs(...fds: readonly (readonly [fd: number, byteLength: number])[]): Address[] {
  const allocator = gstAllocators().gst_dmabuf_allocator_new();
  const { gst_dmabuf_allocator_alloc_with_flags: alloc } = gstAllocators();
  const made = fds.map(([fd, byteLength]) => alloc(allocator, fd, BigInt(byteLength), GST_FD_MEMORY_FLAG_NONE));
  gst().gst_object_unref(allocator);
  return made;
}

/** Memory of GStreamer's: so many bytes, of which each is its place's number and `first`. */
export function memory(byteLength: number, first: number = 0): Address {
  const own = made(gst().gst_allocator_alloc(NULL, BigInt(byteLength), null), "gst_allocator_alloc");
  mapped(own, gs.GST_MAP_WRITE, (bytes) => {
    new Uint8Array(bytes.buffer).forEach((_, i, all) => all[i] = first + i);
  });
  return own;
}

/** Memory that may only be read. */
export function locked(memory: Address): Address {
  const flags = GstMemory.fields.flags.offset;
  const view = viewAt(memory, GstMemory.size, "gstreamer");
  view.setUint32(flags, view.getUint32(flags, true) | gs.GST_MEMORY_FLAG_READONLY, true);
  return memory;
}

/** Writes a field of a buffer, past its functions. */
export function write(buffer: Address, field: "pts" | "duration" | "refcount", value: number | bigint): void {
  const { offset } = GstBuffer.fields[field];
  const view = viewAt(buffer, GstBuffer.size, "gstreamer");
  if (typeof value === "bigint") view.setBigUint64(offset, value, true);
  else view.setInt32(offset, value, true);
}

/** Caps by their text. */
export function caps(text: string): Owned {
  return new Owned(gst().gst_caps_from_string(cString(text)));
}

/** A buffer that samepage has made. */
export class Lent extends Owned {
  /** A copy of its bytes, in one of its memories. */
  bytes(i: number = 0, flags: number = gs.GST_MAP_READ): DataView<ArrayBuffer> {
    return mapped(gst().gst_buffer_peek_memory(this.address, i), flags, ({ buffer }) => new DataView(buffer.slice(0)));
  }

  /** Has GStreamer write bytes into one of its memories. */
  set(bytes: Uint8Array, at: number, i: number = 0): void {
    const memory = gst().gst_buffer_peek_memory(this.address, i);
    mapped(memory, gs.GST_MAP_WRITE, ({ buffer }) => new Uint8Array(buffer).set(bytes, at));
  }
}

/** A buffer over memory of GStreamer's. */
export class CBuffer extends Lent {
  /** @param memories it takes them over */
  constructor(...memories: readonly Address[]) {
    super(made(gst().gst_buffer_new(), "gst_buffer_new"));
    for (const memory of memories) gst().gst_buffer_append_memory(this.address, memory);
  }

  /** Says where the planes of a picture lie in it. */
  addVideoMeta(
    format: string,
    size: readonly [number, number],
    offsets: readonly number[],
    strides: readonly number[],
  ) {
    const fours = [0, 1, 2, 3];
    const added = gstVideo().gst_buffer_add_video_meta_full(
      ...[this.address, 0, formats.numberOf(format) ?? 0, ...size, offsets.length] as const,
      BigUint64Array.from(fours, (i) => BigInt(offsets[i] ?? 0)),
      Int32Array.from(fours, (i) => strides[i] ?? 0),
    );
    made(added, "gst_buffer_add_video_meta_full");
  }

  /** Says which part of the picture is shown. */
  addCrop(...numbers: readonly [x: number, y: number, width: number, height: number]): void {
    const meta = gst().gst_buffer_add_meta(this.address, gstVideo().gst_video_crop_meta_get_info(), NULL);
    const view = viewAt(meta, GstVideoCropMeta.size, "gstreamer");
    for (const [i, number] of numbers.entries()) view.setUint32(GstVideoCropMeta.fields.x.offset + 4 * i, number, true);
  }

  /** Has other code write it, until that ends. */
  writing(): Disposable {
    const memory = gst().gst_buffer_peek_memory(this.address, 0);
    const info = new DataView(new ArrayBuffer(GstMapInfo.size));
    if (gst().gst_memory_map(memory, info, gs.GST_MAP_WRITE) === 0) throw takenError(NULL, "gst_memory_map");
    return { [Symbol.dispose]: () => gst().gst_memory_unmap(memory, info) };
  }

  /** A sample of it, which has a reference of its own; or of no buffer. */
  sample(text: string, hasBuffer = true): Owned {
    using its = caps(text);
    return new Owned(gst().gst_sample_new(hasBuffer ? this.address : NULL, its.address, null, NULL));
  }
}

/** A GstVideoFrame's fields behind its GstVideoInfo: flags, buffer, meta and id, then where planes are. */
const DATA = GstVideoInfo.size + 32;

/** Where GStreamer itself sees the planes of a picture, by gst_video_frame_map(). */
export function planesOf(buffer: Address, text: string): { readonly address: bigint; readonly stride: number }[] {
  using its = caps(text);
  const info = new DataView(new ArrayBuffer(GstVideoInfo.size));
  gstVideo().gst_video_info_from_caps(info, its.address);
  const frame = new DataView(new ArrayBuffer(1024));
  if (gstVideo().gst_video_frame_map(frame, info, buffer, gs.GST_MAP_READ) === 0) {
    throw new Error("gst_video_frame_map");
  }
  gstVideo().gst_video_frame_unmap(frame);
  const planes = [0, 1, 2, 3].map((i) => {
    const { stride } = GstVideoInfo.fields;
    return { address: frame.getBigUint64(DATA + 8 * i, true), stride: frame.getInt32(stride.offset + 4 * i, true) };
  });
  return planes.filter(({ address }) => address !== 0n);
}

/** A list of buffers, which has a reference to each. */
export function listOf(...buffers: readonly CBuffer[]): Owned {
  const list = made(gst().gst_buffer_list_new_sized(buffers.length), "gst_buffer_list_new_sized");
  for (const buffer of buffers) gst().gst_buffer_list_insert(list, -1, buffer.again().address);
  return new Owned(list);
}
