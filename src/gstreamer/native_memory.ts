import type { Address } from "../../ffi/address.ts";

/** OpenGL's memory, by GStreamer's names of its allocators. */
export const TEXTURES: readonly string[] = ["GLMemory", "GLMemoryPBO", "GLMemoryEGL"];

/** Memory of GStreamer's that frames of another context's are made of, where a context of GStreamer's stands on that. */
export interface NativeMemory {
  /** GStreamer's names of such allocators. */
  readonly kinds: readonly string[];
  /** True where GStreamer takes such frames, too. */
  readonly lends: boolean;
  /** How it is mapped for as long as its frame lives; undefined for memory that needs no map. */
  readonly mapFlags?: number;
  /** The other API's object: an fd, a texture. */
  objectOf(memory: Address): bigint;
  /** Waits for GStreamer's work on a buffer. @throws {ArgumentError} where the other context does not know its objects. */
  settle?(buffer: Address, memories: readonly Address[]): void;
  /** Has the elements of a pipeline work with the other context. */
  prepare?(pipeline: Address): void;
}
