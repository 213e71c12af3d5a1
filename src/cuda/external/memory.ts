import type { Address } from "../../../ffi/address.ts";
import { cudaExternalMemoryHandleTypeOpaqueFd } from "../../../ffi/cuda_runtime/constants.ts";
import type { CudaExternalMemory } from "../../../ffi/cuda_runtime/handles.ts";
import {
  cudaExternalMemoryBufferDesc,
  cudaExternalMemoryHandleDesc,
  writeCudaExternalMemoryBufferDesc,
  writeCudaExternalMemoryHandleDesc,
} from "../../../ffi/cuda_runtime/structs.ts";
import { type ErrorFields, throwAll } from "../../core/errors.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import type { Import } from "../../core/memory/imports.ts";
import { closeFd } from "../../core/native/fd.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import { allocatedBy } from "../memory/allocate.ts";
import { owned } from "../primary_context.ts";

/** The ledger's kinds. */
const MEMORY = "cuda.cudaExternalMemory_t";
const MAPPED = "cuda.external_buffer";

const out = new BigUint64Array(1);

/** A whole block of another API's memory, for kernels. */
export interface ExternalMemory extends Import {
  /** The address of its first byte. */
  readonly address: Address;
}

/**
 * Imports memory by an opaque fd (cudaImportExternalMemory), and maps all of it (cudaExternalMemoryGetMappedBuffer). The
 * driver closes the fd, whether it accepts it or not (facts).
 *
 * It ends before its context does: the CPU cannot hold it for longer.
 *
 * @param byteLength the whole length of the exporter's memory. The driver takes any, and fails later if it is too long.
 */
export function importMemory(context: CudaPrimaryContext, fd: number, byteLength: number): ExternalMemory {
  const size = BigInt(byteLength);
  const undo: Undo = [];
  let asked = false;
  try {
    const description = new DataView(new ArrayBuffer(cudaExternalMemoryHandleDesc.size));
    const type = cudaExternalMemoryHandleTypeOpaqueFd;
    writeCudaExternalMemoryHandleDesc(description, 0, { type, handle_fd: fd, size, flags: 0 });
    context.within(() => {
      asked = true;
      check(cudart().cudaImportExternalMemory(out, description), "cudaImportExternalMemory", ABOUT);
    });
    const handle = out[0] as CudaExternalMemory;
    const destroy = "cudaDestroyExternalMemory";
    owned(context, MEMORY, undo, () => checkRelease(cudart()[destroy](handle), destroy));
    const address = mapped(context, handle, size);
    owned(context, MAPPED, undo, () => checkRelease(cudart().cudaFree(address), "cudaFree"));
    return { address, release: () => throwAll(unwind(undo), "releasing imported memory") };
  } catch (error) {
    if (!asked) undo.push(() => closeFd(fd));
    throwAll([error, ...unwind(undo)], "importing memory");
    throw error;
  }
}

function mapped(context: CudaPrimaryContext, handle: CudaExternalMemory, size: bigint): Address {
  const description = new DataView(new ArrayBuffer(cudaExternalMemoryBufferDesc.size));
  writeCudaExternalMemoryBufferDesc(description, 0, { offset: 0n, size, flags: 0 });
  const fn = "cudaExternalMemoryGetMappedBuffer";
  return allocatedBy(context, fn, (out) => cudart()[fn](out, handle, description));
}

const ABOUT: ErrorFields = { hint: "Is it an opaque fd of memory on the same GPU, and not of another kind of file?" };
