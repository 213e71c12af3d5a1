import type { Address } from "../../ffi/address.ts";
import { GST_FD_MEMORY_FLAG_DONT_CLOSE } from "../../ffi/gst_allocators/constants.ts";
import type { NativePicture } from "../core/contract.ts";
import type { FrameInfo } from "../core/layout/frame_info.ts";
import type { Undo } from "../core/life/undo.ts";
import { inDrm } from "./drm.ts";
import { gst, gstAllocators, made } from "./library.ts";
import { DMABUF, type NativeMemory, type WrappedMemory } from "./native_memory.ts";

/** GStreamer's memory that is an fd. */
export class DmaBufs implements NativeMemory {
  readonly kinds = [DMABUF];
  /** Made when it is first needed. */
  #allocator: Address | undefined;

  constructor(undo: Undo) {
    undo.push(() => {
      if (this.#allocator !== undefined) gst().gst_object_unref(this.#allocator);
    });
  }

  /** Elements of the CPU's map what has the caps of the CPU's memory. */
  inCaps(caps: string, info: FrameInfo, isHidden: boolean): string {
    return info.type === "image" && (info.modifier !== 0n || isHidden) ? inDrm(caps, info) : caps;
  }

  objectOf(memory: Address): bigint {
    return BigInt(gstAllocators().gst_dmabuf_memory_get_fd(memory));
  }

  wrap({ objects }: NativePicture, object: number): WrappedMemory {
    const { handle, byteLength } = objects[object];
    const { gst_dmabuf_allocator_new, gst_dmabuf_allocator_alloc_with_flags: alloc } = gstAllocators();
    this.#allocator ??= made(gst_dmabuf_allocator_new(), "gst_dmabuf_allocator_new");
    const size = BigInt(byteLength!);
    const memory = alloc(this.#allocator, Number(handle), size, GST_FD_MEMORY_FLAG_DONT_CLOSE);
    return { memory: made(memory, "gst_dmabuf_allocator_alloc_with_flags"), size };
  }
}
