import type { Address } from "../../ffi/address.ts";
import type { Memory, MemoryTarget } from "../core/contract.ts";
import type { Context, Target } from "../core/graph/context.ts";
import { DeviceContext } from "../core/graph/device_context.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { initialize, initializeSync, version } from "./library.ts";
import { type GStreamerTensor, ports } from "./memory.ts";

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
export class GStreamerContext extends DeviceContext implements MemoryTarget<GStreamerTensor> {
  /** The API's name. */
  readonly api = "gstreamer";
  /** The kind of memory: that of GstBuffers. */
  readonly kind = "gstbuffer";
  /** Itself. */
  readonly context: Context = this;
  /** Itself. */
  readonly targets: readonly Target[] = [this];
  /** Its ports: host pointers both ways. For mappers. */
  readonly ports: Memory<GStreamerTensor, Address> = ports;

  private constructor() {
    super("gstreamer", { name: `GStreamer ${version().join(".")}`, id: {} }, []);
    this.opened();
  }

  /**
   * Opens GStreamer. The first time in a process it reads its registry of plugins on another thread, which takes 10 ms, or
   * some 300 where it has to make one. It starts no process, and writes the registry's file past Deno's permissions: into
   * the user's cache, or where `GST_REGISTRY` says.
   *
   * @throws {LibraryNotFoundError} if it is not there.
   * @throws {InteropError} if it is older than 1.22.
   * @throws {NativeCallError} if it cannot start.
   */
  static async open(): Promise<GStreamerContext> {
    await initialize();
    return new GStreamerContext();
  }

  /**
   * The same, but the calling thread waits.
   *
   * @throws {LibraryNotFoundError} if it is not there.
   * @throws {InteropError} if it is older than 1.22.
   * @throws {NativeCallError} if it cannot start.
   */
  static openSync(): GStreamerContext {
    initializeSync();
    return new GStreamerContext();
  }

  /** True for planes of its frames. */
  is(value: Mapped): value is GStreamerTensor {
    return value?.target === this;
  }
}
