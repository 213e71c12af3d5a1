import type { Address } from "../../ffi/address.ts";
import type { NativePicture } from "../core/contract.ts";
import type { FrameInfo, PixelsInfo } from "../core/layout/frame_info.ts";

/** A GstMemory, and how many bytes GStreamer counts in it. */
export interface WrappedMemory {
  readonly memory: Address;
  readonly size: bigint;
  /** Bytes from row to row of the plane that begins with it, if the picture itself does not say. */
  readonly stride?: number;
}

/** Memory of an fd. */
export const DMABUF = "dmabuf";

/** OpenGL's memory, by GStreamer's names of its allocators. */
export const TEXTURES: readonly string[] = ["GLMemory", "GLMemoryPBO", "GLMemoryEGL"];

/** GStreamer's memory that frames of another context are made of, where the GStreamer context stands on that one. */
export interface NativeMemory {
  /** GStreamer's names of such allocators. */
  readonly kinds: readonly string[];
  /** The caps of frames in such memory, by those of frames in the CPU's; left out where they are the same. `isHidden`: the CPU does not see it. */
  inCaps?(caps: string, info: FrameInfo, isHidden: boolean): string;
  /** How it is mapped for as long as its frame lives; undefined for memory that needs no map. */
  readonly mapFlags?: number;
  /** The other API's object: an fd, a texture. */
  objectOf(memory: Address): bigint;
  /** Waits for GStreamer's work on a buffer. @throws {ArgumentError} where the other context does not take its objects. */
  settle?(buffer: Address, memories: readonly Address[], info: FrameInfo): void;
  /** A new GstMemory over an object of a frame's, which stays the frame's. @throws {ArgumentError} if it has no object. */
  wrap(picture: NativePicture, object: number, info: PixelsInfo): WrappedMemory;
  /** The GstContext that has the elements of a pipeline work with the other context, if they do. */
  readonly said?: Address;
}
