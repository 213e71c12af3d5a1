import type { Natives } from "../core/contract.ts";
import type { Undo } from "../core/life/undo.ts";
import { DmaBufs } from "./dmabuf.ts";
import { SharedGl } from "./gl.ts";
import type { NativeMemory } from "./native_memory.ts";
import { SharedVa } from "./va.ts";

/** By the API of the context that GStreamer's stands on. */
export const NATIVE_MEMORY: Readonly<Record<string, (natives: Natives, undo: Undo) => NativeMemory>> = {
  dmabuf: (_, undo) => new DmaBufs(undo),
  egl: (natives, undo) => new SharedGl(natives, undo),
  vaapi: (natives, undo) => new SharedVa(natives, undo),
};
