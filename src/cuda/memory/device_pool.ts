import {
  cudaMemAllocationTypePinned,
  cudaMemHandleTypeNone,
  cudaMemLocationTypeDevice,
  cudaMemPoolAttrReleaseThreshold,
  cudaMemPoolAttrReservedMemCurrent,
  cudaMemPoolAttrReservedMemHigh,
  cudaMemPoolAttrUsedMemCurrent,
  cudaMemPoolAttrUsedMemHigh,
} from "../../../ffi/cuda_runtime/constants.ts";
import type { CudaMemPool } from "../../../ffi/cuda_runtime/handles.ts";
import { cudaMemPoolProps, writeCudaMemPoolProps } from "../../../ffi/cuda_runtime/structs.ts";
import { NULL } from "../../../ffi/address.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { whole } from "../../core/layout/layout.ts";
import { finalizers } from "../../core/life/finalizers.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { type Undo, undone } from "../../core/life/undo.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import { owned } from "../primary_context.ts";

/** Options of {@link CudaContext.createPool}. */
export interface MemoryPoolOptions {
  /** The limit of the pool in bytes; by default the system's limit. From CUDA 12.2. */
  readonly maxBytes?: number;
  /** The unused bytes that the pool keeps when a wait for a stream, an event or the device frees memory. 0 by default. */
  readonly releaseThreshold?: number;
}

const OPTIONS: Names<MemoryPoolOptions> = { maxBytes: true, releaseThreshold: true };

/** The bytes of a pool (cudaMemPoolGetAttribute). */
export interface MemoryPoolStatistics {
  /** The bytes in use. */
  readonly used: number;
  /** The most bytes ever in use. */
  readonly usedHigh: number;
  /** The bytes taken from the device. */
  readonly reserved: number;
  /** The most bytes ever taken. */
  readonly reservedHigh: number;
}

/** A pool of device memory for `stream.allocate()`: made by `cuda.createPool()`. */
export class CudaMemoryPool extends NativeObject {
  /** Its context. */
  readonly context: CudaPrimaryContext;
  /** Its end of life: its tensors end first. */
  readonly resource: Resource;
  readonly #handle: CudaMemPool;

  /** Made by the context. */
  constructor(context: CudaPrimaryContext, options: MemoryPoolOptions = {}) {
    super();
    const { maxBytes = 0, releaseThreshold = 0 } = optionsIn(options, OPTIONS);
    whole(maxBytes, "maxBytes", 0);
    whole(releaseThreshold, "releaseThreshold", 0);
    assertPools(context);
    context.resource.assertLive();
    this.context = context;
    const undo: Undo = [];
    try {
      this.#handle = createPool(context, maxBytes, undo);
      if (releaseThreshold > 0) this.#set(cudaMemPoolAttrReleaseThreshold, releaseThreshold);
    } catch (error) {
      throw undone(error, undo, "making a memory pool");
    }
    this.resource = new Resource({ name: `cuda memory pool (${context.name})`, owners: [context.resource], undo });
    finalizers.register(this, this.resource, this);
  }

  /** The `cudaMemPool_t`. */
  get handle(): CudaMemPool {
    this.resource.assertLive();
    return this.#handle;
  }

  /** The `cudaMemPool_t`, without a check that the pool lives. For mappers. */
  get rawHandle(): CudaMemPool {
    return this.#handle;
  }

  /** Its bytes now, and at most. */
  get statistics(): MemoryPoolStatistics {
    this.resource.assertLive();
    return {
      used: this.#get(cudaMemPoolAttrUsedMemCurrent),
      usedHigh: this.#get(cudaMemPoolAttrUsedMemHigh),
      reserved: this.#get(cudaMemPoolAttrReservedMemCurrent),
      reservedHigh: this.#get(cudaMemPoolAttrReservedMemHigh),
    };
  }

  /**
   * Frees unused memory until the pool holds at most so many bytes (cudaMemPoolTrimTo). Memory that was freed in stream
   * order counts as unused after `stream.finish()`.
   */
  trim(bytesToKeep: number = 0): void {
    const bytes = BigInt(whole(bytesToKeep, "bytesToKeep", 0));
    this.resource.assertLive();
    this.context.within(() => check(cudart().cudaMemPoolTrimTo(this.#handle, bytes), "cudaMemPoolTrimTo"));
  }

  #get(attribute: number): number {
    const value = new BigUint64Array(1);
    const call = () => cudart().cudaMemPoolGetAttribute(this.#handle, attribute, value);
    this.context.within(() => check(call(), "cudaMemPoolGetAttribute"));
    return Number(value[0]);
  }

  #set(attribute: number, bytes: number): void {
    const value = BigUint64Array.of(BigInt(bytes));
    const call = () => cudart().cudaMemPoolSetAttribute(this.#handle, attribute, value);
    this.context.within(() => check(call(), "cudaMemPoolSetAttribute"));
  }
}

export function assertPools({ name, device: { attributes } }: CudaPrimaryContext): void {
  if (attributes.memoryPoolsSupported === 1) return;
  throw new ArgumentError(`${name} has no memory pools (memoryPoolsSupported is 0).`, {
    api: "cuda",
    fn: "cudaMallocAsync",
    argument: "device",
    hint: "Use cuda.allocate().",
  });
}

function createPool(context: CudaPrimaryContext, maxBytes: number, undo: Undo): CudaMemPool {
  const properties = new Uint8Array(cudaMemPoolProps.size);
  writeCudaMemPoolProps(new DataView(properties.buffer), 0, {
    allocType: cudaMemAllocationTypePinned,
    handleTypes: cudaMemHandleTypeNone,
    location_type: cudaMemLocationTypeDevice,
    location_id: context.device.ordinal,
    win32SecurityAttributes: NULL,
    maxSize: BigInt(maxBytes),
    usage: 0,
  });
  const out = new BigUint64Array(1);
  context.within(() => check(cudart().cudaMemPoolCreate(out, properties), "cudaMemPoolCreate"));
  const handle = out[0] as CudaMemPool;
  const destroy = () => checkRelease(cudart().cudaMemPoolDestroy(handle), "cudaMemPoolDestroy");
  owned(context, "cuda.cudaMemPool_t", undo, destroy);
  return handle;
}
