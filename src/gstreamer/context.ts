import type { Address } from "../../ffi/address.ts";
import type { Memory } from "../core/contract.ts";
import type { Context } from "../core/graph/context.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { contextOn } from "../core/device/device_on.ts";
import { attachingMedia, MEDIA_ATTACH, type MediaAttach, MediaContext, wantedIn } from "../media/context.ts";
import { attachedBytes, attachedFrame } from "./attached.ts";
import { frameIn } from "../media/given.ts";
import { givenBatch, givenBuffer, givenSample } from "./held.ts";
import { KnownCaps } from "./caps.ts";
import { lend, loans } from "./lent.ts";
import { checks, initialize, initializeSync, version } from "./library.ts";
import { type GStreamerTensor, ports } from "./memory.ts";
import type { NativeMemory } from "./native_memory.ts";
import { NATIVE_MEMORY } from "./shared.ts";
import type { UpstreamPool } from "./pool.ts";
import { type LaunchOptions, Pipeline } from "./pipeline.ts";

/** Options of {@link GStreamerContext.attach}. */
export interface GStreamerAttach extends MediaAttach {
  /** What a buffer holds: the address of `GstCaps`, or their text. By default, what its sample says. */
  readonly caps?: bigint | string;
}

/** What GStreamer's memory of devices becomes. */
export interface GStreamerChoice {
  /**
   * `dmabuf`: buffers of dma-bufs are its frames, and go wherever those go. Left out, they are mapped for the CPU. Or an
   * `EglContext` that was opened to be shared: the elements of a pipeline work with its textures, and OpenGL's buffers
   * memory are its frames. Or a `VaapiContext`: the elements of VA-API work on its display, and their surfaces are its frames.
   */
  readonly on?: Context;
}

const CHOICE: Names<GStreamerChoice> = { on: true };

const ATTACH: Names<GStreamerAttach> = { ...MEDIA_ATTACH, caps: true };

const BATCH: Names<Omit<GStreamerAttach, "owner" | "after">> = { access: true, caps: true, copy: true };

/**
 * GStreamer's buffers (`GstBuffer`) in the host's memory. It is its own target: memory of the host is mapped to it and
 * back in place.
 *
 * @example
 * ```ts
 * import { GStreamerContext } from "@samepage/interop/gstreamer";
 *
 * using gst = await GStreamerContext.open();
 * console.log(gst.name.startsWith("GStreamer 1.")); // true
 * ```
 */
export class GStreamerContext extends MediaContext<GStreamerTensor> {
  /** The API's name. */
  readonly api = "gstreamer";
  /** The kind of memory: that of GstBuffers. */
  readonly kind = "gstbuffer";
  /** Its ports: host pointers both ways. For mappers. */
  readonly ports: Memory<GStreamerTensor, Address> = ports;

  /** @internal The caps of the buffers that were attached lately. */
  readonly caps: KnownCaps;
  /** @internal The memory that is frames of that context. */
  readonly native: NativeMemory | undefined;

  private constructor(on: Context | undefined) {
    const caps = new KnownCaps();
    const undo: Undo = [() => caps.free()];
    const native = on && allOrNothing("sharing OpenGL", () => NATIVE_MEMORY[on.api](on.natives!, undo), undo);
    super({ api: "gstreamer", name: `GStreamer ${version().join(".")}`, on, undo });
    [this.caps, this.native] = [caps, native];
    this.opened();
  }

  /**
   * Opens GStreamer. The first time in a process it reads its registry of plugins on another thread, which takes 10 ms, or
   * some 300 where it has to make one. It starts no process, and writes the registry's file past Deno's permissions: into
   * the user's cache, or where `GST_REGISTRY` says.
   *
   * @throws {ArgumentError} for `on` that has no frames of dma-bufs.
   * @throws {LibraryNotFoundError} if it is not there.
   * @throws {InteropError} if it is older than 1.22.
   * @throws {NativeCallError} if it cannot start.
   */
  static async open(options: GStreamerChoice = {}): Promise<GStreamerContext> {
    const on = onIn(options);
    await initialize();
    return new GStreamerContext(on);
  }

  /**
   * The same, but the calling thread waits.
   *
   * @throws {ArgumentError} for `on` that has no frames of dma-bufs.
   * @throws {LibraryNotFoundError} if it is not there.
   * @throws {InteropError} if it is older than 1.22.
   * @throws {NativeCallError} if it cannot start.
   */
  static openSync(options: GStreamerChoice = {}): GStreamerContext {
    const on = onIn(options);
    initializeSync();
    return new GStreamerContext(on);
  }

  /**
   * A frame over the memory of a buffer that other code has made: of pixels, or of sound. It has a reference of its own, so
   * yours may be given back at once; `frame.handle` is the address of the `GstBuffer`, valid until the frame ends.
   *
   * Planes lie where the buffer's GstVideoMeta or GstAudioMeta say, in one block of memory or in several, and where caps
   * alone say what it is, as GStreamer lays such frames out. A GstVideoCropMeta is what the frame shows of it. A buffer that
   * others refer to as well can be read only, as gst_buffer_is_writable() says.
   *
   * @param pointer the address of a `GstBuffer`, or of a `GstSample`, which has caps
   * @throws {ArgumentError} if there is neither, or it is empty; for memory of a device, caps that do not fit, and formats
   * without values in memory.
   * @throws {LayoutError} for planes that do not lie in its memory, or whose rows go upwards.
   * @throws {AccessError} to write a buffer that others refer to, without `{ copy: "allow" }`.
   * @throws {NativeCallError} if GStreamer has no memory, or other code writes the buffer.
   *
   * @example
   * ```ts
   * import { GStreamerContext } from "@samepage/interop/gstreamer";
   *
   * using gst = await GStreamerContext.open();
   * const c = Deno.dlopen("libgstreamer-1.0.so.0", {
   *   gst_buffer_new_allocate: { parameters: ["u64", "u64", "u64"], result: "u64" },
   *   gst_mini_object_unref: { parameters: ["u64"], result: "void" },
   * }).symbols;
   * const pointer = c.gst_buffer_new_allocate(0n, 24n, 0n); // by other code, as a rule
   * using frame = gst.attach(pointer, { caps: "video/x-raw,format=NV12,width=4,height=4" });
   * c.gst_mini_object_unref(pointer);
   * console.log(frame.info.format, frame.planes[1].shape); // NV12 [ 2, 2, 2 ]
   * ```
   */
  attach(pointer: bigint, options: GStreamerAttach = {}): Frame {
    return attachingMedia(this, checks, pointer, options, (address, wanted) => {
      return attachedFrame(this, givenBuffer(address, options.caps), wanted);
    }, ATTACH);
  }

  /**
   * The frames of a batch: a `GstBufferList`, as DL Streamer's frame batch is one. Each is a frame of its own, with its
   * buffer's planes, metadata and times, as {@link attach} makes it.
   *
   * @param pointer the address of a `GstBufferList`, or of a `GstSample` with one, which has caps
   * @throws as {@link attach}: for one buffer that cannot be attached none is.
   */
  attachBatch(pointer: bigint, options: Omit<GStreamerAttach, "owner" | "after"> = {}): Frame[] {
    this.resource.assertLive();
    const { caps, ...about } = optionsIn(options, BATCH);
    const wanted = wantedIn(checks, about);
    const batch = givenBatch(checks.handleIn<Address>(pointer, "pointer"), caps);
    return allOrNothing("attaching a batch", (undo) =>
      batch.map((given) => {
        const frame = attachedFrame(this, given, wanted);
        undo.push(() => frame[Symbol.dispose]());
        return frame;
      }));
  }

  /** @internal The frame over a sample of a pipeline's, in the memory of the pool at its sink if it lies there. */
  take(sample: Address, pool: UpstreamPool | undefined): Frame {
    this.resource.assertLive();
    return attachedFrame(this, givenSample(sample), { access: undefined, mayCopy: false }, pool);
  }

  /**
   * The bytes of such a buffer, whatever they are: encoded pictures, or anything else.
   *
   * @throws {ArgumentError} if there is neither a `GstBuffer` nor a `GstSample`, or it is empty; for memory of a device.
   * @throws {LayoutError} for a buffer of several blocks of memory.
   * @throws {AccessError} to write a buffer that others refer to, without `{ copy: "allow" }`.
   * @throws {NativeCallError} if GStreamer has no memory, or other code writes the buffer.
   */
  attachBytes(pointer: bigint, options: MediaAttach = {}): GStreamerTensor {
    return attachingMedia(this, checks, pointer, options, (address, wanted) => {
      return attachedBytes(this, givenBuffer(address), wanted);
    });
  }

  /**
   * A new `GstBuffer` over a frame's memory, for elements that may keep it for as long as they like, on their own threads. It
   * is yours: push it or give it back (gst_buffer_unref). The frame is in use as long as GStreamer has a reference to its
   * memory: its end waits for that, and so does each map for writing. A map for reading waits only where GStreamer may write.
   *
   * Its GstVideoMeta or GstAudioMeta have the frame's own offsets and strides, and its times are those of `info.media`. Work
   * in flight on the frame is over before this returns. Elements may write it where the frame may be written.
   *
   * @param frame a frame of this context: `graph.map(frame, gstreamer)`
   * @throws {ArgumentError} for a format that GStreamer does not have, and times without a time base.
   * @throws {LayoutError} for rows with gaps in them.
   * @throws {AccessError} if the bytes are lent, or work on them waits for a promise.
   * @throws {NativeCallError} if GStreamer has no memory.
   *
   * @example
   * ```ts
   * import { host, imageInfo, MapperGraph } from "@samepage/interop";
   * import { GStreamerContext } from "@samepage/interop/gstreamer";
   *
   * using gst = await GStreamerContext.open();
   * using graph = new MapperGraph([host, gst]);
   * using picture = host.allocateFrame(imageInfo({ format: "NV12", width: 640, height: 480 }), { rowAlign: 64 });
   * await using mapped = graph.map(picture, gst, { access: "read" });
   * const buffer = gst.buffer(mapped); // gst_app_src_push_buffer(source, buffer), which takes it
   *
   * const gstreamer = Deno.dlopen("libgstreamer-1.0.so.0", {
   *   gst_mini_object_unref: { parameters: ["pointer"], result: "void" },
   * });
   * gstreamer.symbols.gst_mini_object_unref(Deno.UnsafePointer.create(buffer));
   * ```
   */
  buffer(frame: Frame): Address {
    this.resource.assertLive();
    frameIn(checks, this, frame, this.on);
    return loans.untilLetGo(frame, (access) => lend(this, frame, access));
  }

  /**
   * A pipeline, as gst-launch-1.0 describes them. Its appsinks are loops of frames, and its appsrcs streams to write to.
   *
   * @param description elements and links: `"videotestsrc ! videoconvert ! appsink name=out"`
   * @throws {ArgumentError} for a description that GStreamer does not read: an element that is not installed, a property that
   * it does not have, a link that cannot be.
   *
   * @example
   * ```ts
   * import { GStreamerContext } from "@samepage/interop/gstreamer";
   *
   * using gst = await GStreamerContext.open();
   * await using pipeline = gst.launch("videotestsrc num-buffers=3 ! video/x-raw,format=NV12 ! appsink name=out");
   * for await (using frame of pipeline.sink("out")) console.log(frame.info.format, frame.planes.length); // NV12 2
   * ```
   */
  launch(description: string, options: LaunchOptions = {}): Pipeline {
    return new Pipeline(this, description, options);
  }
}

function onIn(options: GStreamerChoice): Context | undefined {
  const { on } = optionsIn(options, CHOICE);
  if (on === undefined) return undefined;
  const context = contextOn(checks, on);
  if (Object.hasOwn(NATIVE_MEMORY, context.api)) return context;
  throw checks.wrong(
    "on",
    `GStreamer's buffers are not frames of ${context.name} (${context.api}).`,
    "Pass dmabuf and map its frames to that, or an EglContext or a VaapiContext.",
  );
}
