import { ForeignSemaphore, importedSemaphore, type ImportSemaphoreOptions } from "../core/device/foreign_semaphore.ts";
import type { CudaStreamContext } from "./stream.ts";

/** A semaphore that other code made, such as a Vulkan program, as a `cudaExternalSemaphore_t`: `cuda.importSemaphore()`. */
export class CudaSemaphore extends ForeignSemaphore {
  /** Its context. */
  override readonly context: CudaStreamContext;

  /** Made by the context. */
  constructor(context: CudaStreamContext, fd: number, options: ImportSemaphoreOptions) {
    super(importedSemaphore(context.stream, fd, options), context.resource);
    this.context = context;
  }
}
