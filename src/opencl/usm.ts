import type { Address } from "../../ffi/address.ts";
import { CL_FALSE, CL_TRUE } from "../../ffi/opencl/constants.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import { type Names, object, shown } from "../core/argument.ts";
import type { DType } from "../core/layout/dtype.ts";
import { ArgumentError } from "../core/errors.ts";
import type { Call } from "../core/device/driver.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit, powerOfTwo } from "../core/layout/layout.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { TensorInit } from "../core/tensors/tensor.ts";
import type { MemoryKind } from "./alias/memory.ts";
import type { ClLane } from "./lane.ts";
import { OpenCLPointerMemory } from "./pointers/memory.ts";
import { type UsmBlock, usmBlock, usmBlockOf, type UsmKind } from "./usm/block.ts";
import { type UsmCapabilities, usmCapabilities } from "./usm/capabilities.ts";
import { USM, usmOf } from "./usm/library.ts";
import { USM_MEMORY } from "./usm/memory.ts";
import { OpenCLUsmTensor } from "./usm/tensor.ts";

/** What {@link OpenCLUsm.allocate} makes. */
export interface UsmAllocation<D extends DType = DType> extends LayoutInit<D> {
  /** Where it lies. */
  readonly kind: UsmKind;
  /** The address will be a multiple of this power of two; the driver's choice by default. */
  readonly align?: number;
}

const NAMES: Names<UsmAllocation & Layout> = { ...LAYOUT_NAMES, kind: true, align: true };

/**
 * Unified shared memory of one context, where its driver has cl_intel_unified_shared_memory: `cl.usm`. A kernel is
 * passed its tensors as pointers, and may find more pointers behind those.
 */
export class OpenCLUsm extends OpenCLPointerMemory<OpenCLUsmTensor> {
  /** The kind of memory. */
  override readonly kind = "opencl.usm";
  #capabilities: UsmCapabilities | undefined;

  /** True where every device of the context has the extension. */
  get available(): boolean {
    return this.context.devices.every(({ extensions }) => extensions.includes(USM));
  }

  /**
   * What the context's first device, for which it is allocated, has of it; undefined where one lacks the extension.
   *
   * @throws {NativeCallError} where the driver does not answer.
   */
  get capabilities(): UsmCapabilities | undefined {
    return this.#capabilities ??= this.available ? usmCapabilities(this.context.device) : undefined;
  }

  /** True for tensors of this memory. */
  override is(value: Mapped): value is OpenCLUsmTensor {
    return value instanceof OpenCLUsmTensor && value.target === this;
  }

  /**
   * Allocates unified shared memory, not initialised.
   *
   * @throws {LayoutError} for a wrong shape, dtype, stride or alignment, or more than the device takes in one piece.
   * @throws {ArgumentError} where the device has none, or none of this kind.
   * @throws {NativeCallError} where there is not enough memory.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * if (cl.usm.available) {
   *   using samples = cl.usm.allocate({ kind: "shared", shape: [1024], dtype: "f32" });
   *   console.log(samples.handle % 4n); // 0n
   * }
   * ```
   */
  allocate(init: UsmAllocation): OpenCLUsmTensor {
    const { kind, align } = object(init, "init");
    if (kind !== "host" && kind !== "device" && kind !== "shared") {
      throw refused("kind", `${shown(kind)} is none.`, 'Use "host", "shared" or "device".');
    }
    const { platform, name } = this.context.device;
    if (this.capabilities === undefined) {
      const hint = "PoCL from version 5 on has it, and Intel's drivers; cl.svm and cl.allocate() have other memory.";
      throw refused("kind", `${platform} has no ${USM} on ${name}.`, hint);
    }
    if (!this.capabilities[kind].access) {
      throw refused("kind", `${name} has no ${kind} memory.`, "cl.usm.capabilities says what it has.");
    }
    const multiple = align === undefined ? 0 : powerOfTwo(align, "align");
    const at = layoutIn(init, NAMES);
    this.context.resource.assertLive(); // asked last: what was given may have run the program's own code
    return this.own(usmBlock(this.context, kind, at.byteOffset + at.byteLength, multiple), at);
  }

  /** The block of this context that an allocation is; undefined for other memory: for those who write mappers. */
  blockOf(allocation: Allocation): UsmBlock | undefined {
    return usmBlockOf(allocation, this.context);
  }

  /** What has to be proven of memory that the host can reach: for those who write mappers. */
  memoryOf(kind: Exclude<UsmKind, "device">): MemoryKind {
    return USM_MEMORY[kind];
  }

  /**
   * Copies bytes between two addresses (clEnqueueMemcpyINTEL), and blocks until they are there: for those who write
   * mappers.
   *
   * @throws {AccessError} where it would wait for a promise that is not settled.
   */
  copy(to: Address, from: Address, byteLength: number): void {
    this.context.queue.line.submitRaw(this.copying(to, from, byteLength, true));
  }

  /** The call that does so: for those who write mappers. */
  copying(to: Address, from: Address, byteLength: number, blocks = false): Call<ClLane> {
    const { context } = this;
    const usm = usmOf(context.device);
    return {
      fn: "clEnqueueMemcpyINTEL",
      blocks,
      call({ queue, waitCount, waitList, slot }) {
        const blocking = blocks ? CL_TRUE : CL_FALSE;
        const length = BigInt(byteLength);
        const code = usm.clEnqueueMemcpyINTEL(queue, blocking, to, from, length, waitCount, waitList, slot);
        if (code === 0) context.countCopied(byteLength);
        return code;
      },
    };
  }

  /** Makes a tensor of this memory. */
  protected override make(init: TensorInit<Address>): OpenCLUsmTensor {
    return new OpenCLUsmTensor(init);
  }
}

function refused(argument: string, what: string, hint: string): ArgumentError {
  return new ArgumentError(`${argument}: ${what}`, { api: "opencl", fn: "cl.usm.allocate", argument, hint });
}
