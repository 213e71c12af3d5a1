import type { Address } from "../../../ffi/address.ts";
import { cudaArrayLayered, cudaArraySurfaceLoadStore } from "../../../ffi/cuda_runtime/constants.ts";
import type { CudaArray, CudaExternalMemory, CudaMipmappedArray } from "../../../ffi/cuda_runtime/handles.ts";
import {
  cudaExternalMemoryBufferDesc,
  cudaExternalMemoryMipmappedArrayDesc,
  writeCudaExternalMemoryBufferDesc,
  writeCudaExternalMemoryMipmappedArrayDesc,
} from "../../../ffi/cuda_runtime/structs.ts";
import type { ErrorFields } from "../../core/errors.ts";
import { type Undo, undoAll, undone } from "../../core/life/undo.ts";
import type { PictureSize } from "../../core/layout/pictures.ts";
import type { Import } from "../../core/memory/imports.ts";
import { closeFd } from "../../core/native/fd.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { channelsOf, type CudaImageFormat } from "../arrays/format.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import { allocatedBy } from "../memory/allocate.ts";
import { owned } from "../primary_context.ts";
import { memoryHandle } from "./handles.ts";

const MEMORY = "cuda.cudaExternalMemory_t";
const MAPPED = "cuda.external_buffer";
const IMAGE = "cuda.cudaMipmappedArray_t";

const out = new BigUint64Array(1);

/** The fd of another API's memory, which the import takes over. */
export interface MemoryFd {
  readonly fd: number;
  /** The whole length of the exporter's memory. The driver takes any, and fails later if it is too long. */
  readonly byteLength: number;
  /** True if the memory was allocated for one object alone. */
  readonly dedicated: boolean;
}

export interface ExternalMemory extends Import {
  readonly address: Address;
}

export interface ExternalImage extends Import {
  readonly array: CudaArray;
}

export interface ImagePlace extends PictureSize {
  readonly format: CudaImageFormat;
  readonly offset: number;
}

/**
 * Imports memory by an opaque fd (cudaImportExternalMemory), and maps all of it (cudaExternalMemoryGetMappedBuffer). The
 * driver closes the fd, whether it accepts it or not.
 *
 * It ends before its context, because no CPU view can hold it longer.
 */
export function importMemory(context: CudaPrimaryContext, memory: MemoryFd): ExternalMemory {
  return imported(context, memory, (handle, undo) => {
    const description = new DataView(new ArrayBuffer(cudaExternalMemoryBufferDesc.size));
    writeCudaExternalMemoryBufferDesc(description, 0, { offset: 0n, size: BigInt(memory.byteLength), flags: 0 });
    const fn = "cudaExternalMemoryGetMappedBuffer";
    const address = allocatedBy(context, fn, (out) => cudart()[fn](out, handle, description));
    owned(context, MAPPED, undo, () => checkRelease(cudart().cudaFree(address), "cudaFree"));
    return { address };
  });
}

/**
 * Imports an image in the driver's own order of pixels, as an array of one level, layered if the image is, that surfaces may
 * write (cudaExternalMemoryGetMappedMipmappedArray).
 */
export function importImage(context: CudaPrimaryContext, memory: MemoryFd, place: ImagePlace): ExternalImage {
  return imported(context, memory, (handle, undo) => {
    const description = new DataView(new ArrayBuffer(cudaExternalMemoryMipmappedArrayDesc.size));
    const { format, width, height, layers, offset } = place;
    const flags = layers === undefined ? cudaArraySurfaceLoadStore : cudaArraySurfaceLoadStore | cudaArrayLayered;
    const { x, y, z, w, f } = channelsOf(format);
    writeCudaExternalMemoryMipmappedArrayDesc(description, 0, {
      ...{ offset: BigInt(offset), flags, numLevels: 1 },
      ...{ format_x: x, format_y: y, format_z: z, format_w: w, format_f: f },
      ...{ width: BigInt(width), height: BigInt(height), depth: BigInt(layers ?? 0) },
    });
    const fn = "cudaExternalMemoryGetMappedMipmappedArray";
    context.within(() => check(cudart()[fn](out, handle, description), fn));
    const levels = out[0] as CudaMipmappedArray;
    owned(context, IMAGE, undo, () => checkRelease(cudart().cudaFreeMipmappedArray(levels), "cudaFreeMipmappedArray"));
    const level = "cudaGetMipmappedArrayLevel";
    context.within(() => check(cudart()[level](out, levels, 0), level));
    return { array: out[0] as CudaArray };
  });
}

function imported<T extends object>(
  context: CudaPrimaryContext,
  { fd, byteLength, dedicated }: MemoryFd,
  map: (handle: CudaExternalMemory, undo: Undo) => T,
): T & Import {
  const undo: Undo = [];
  let asked = false;
  try {
    const description = memoryHandle({ kind: "opaque-fd", handle: fd, byteLength, dedicated });
    context.within(() => {
      asked = true;
      check(cudart().cudaImportExternalMemory(out, description), "cudaImportExternalMemory", ABOUT);
    });
    const handle = out[0] as CudaExternalMemory;
    const destroy = "cudaDestroyExternalMemory";
    owned(context, MEMORY, undo, () => checkRelease(cudart()[destroy](handle), destroy));
    return { ...map(handle, undo), release: () => undoAll(undo, "releasing imported memory") };
  } catch (error) {
    if (!asked) undo.push(() => closeFd(fd));
    throw undone(error, undo, "importing memory");
  }
}

const ABOUT: ErrorFields = { hint: "Is it an opaque fd of memory on the same GPU, and not of another kind of file?" };
