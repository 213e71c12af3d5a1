import type { Natives } from "../core/contract.ts";
import type { Undo } from "../core/life/undo.ts";
import { SharedGl } from "./gl.ts";
import { gstAllocators } from "./library.ts";
import type { NativeMemory } from "./native_memory.ts";
import { SharedVa } from "./va.ts";

/** By the API of the context that GStreamer's stands on. */
export const NATIVE_MEMORY: Readonly<Record<string, (natives: Natives, undo: Undo) => NativeMemory>> = {
  dmabuf: () => ({
    ...{ kinds: ["dmabuf"], lends: true },
    objectOf: (memory) => BigInt(gstAllocators().gst_dmabuf_memory_get_fd(memory)),
  }),
  egl: (natives, undo) => new SharedGl(natives, undo),
  vaapi: (natives, undo) => new SharedVa(natives, undo),
};
