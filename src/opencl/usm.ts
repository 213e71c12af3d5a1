import type { Address } from "../../ffi/address.ts";
import type { ClKernel } from "../../ffi/opencl/handles.ts";
import {
  CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
  CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
  CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
  CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL,
} from "../../ffi/opencl_usm/constants.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import { type Names, object } from "../core/argument.ts";
import type { DType } from "../core/layout/dtype.ts";
import type { Memory } from "../core/contract.ts";
import type { MemoryClass } from "../core/device/proofs.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit, powerOfTwo } from "../core/layout/layout.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { PointerMemory } from "../core/tensors/pointer.ts";
import type { Part } from "../core/tensors/tensor.ts";
import { checks } from "./check.ts";
import type { OpenCLContext } from "./context.ts";
import { type ExecInfo, OpenCLPointerTensor } from "./pointers/tensor.ts";
import { setUsmPointer, USM, USM_MEMORY, type UsmBlock, usmBlock, usmBlockOf, type UsmKind } from "./usm/block.ts";
import { usmPorts } from "./usm/ports.ts";
import { type UsmCapabilities, usmCapabilities } from "./usm/capabilities.ts";

/** Options of {@link OpenCLUsm.allocate}. */
export interface UsmAllocation<D extends DType = DType> extends LayoutInit<D> {
  /** Where it lies. */
  readonly kind: UsmKind;
  /** The alignment of the address in bytes, a power of two; the driver's choice by default. */
  readonly align?: number;
}

const NAMES: Names<UsmAllocation & Layout> = { ...LAYOUT_NAMES, kind: true, align: true };

const FLAGS: { readonly [K in UsmKind]: number } = {
  host: CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
  device: CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
  shared: CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
};

/** Unified shared memory (cl_intel_unified_shared_memory). Made by `cl.usm.allocate()`; its handle is its address. */
export class OpenCLUsmTensor extends OpenCLPointerTensor {
  /** Its context. */
  declare readonly context: OpenCLContext;

  /** Announces it to a kernel that finds its address in memory. For mappers. */
  override get execInfo(): ExecInfo {
    return { pointers: CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, flag: FLAGS[this.#kind] };
  }

  /** Passes it to a kernel. For mappers. */
  override setArgument(kernel: ClKernel, index: number): void {
    setUsmPointer(this.context, kernel, index, this.address);
  }

  /** Its address, if the host reaches it. */
  protected override get hostAddress(): bigint | undefined {
    return this.#kind === "device" ? undefined : this.address;
  }

  /** A tensor over a part of its bytes. */
  protected override derive(part: Part): OpenCLUsmTensor {
    return new OpenCLUsmTensor(this.initOf(part));
  }

  get #kind(): UsmKind {
    return usmBlockOf(this.grant.allocation, this.context)!.usm;
  }
}

/**
 * Unified shared memory of one context, if its driver has cl_intel_unified_shared_memory: `cl.usm`. A kernel gets its
 * tensors as pointers, and may find more pointers in their memory.
 */
export class OpenCLUsm extends PointerMemory<OpenCLUsmTensor> {
  /** The kind of memory. */
  override readonly kind = "opencl.usm";
  /** Its context. */
  declare readonly context: OpenCLContext;
  /** The host has its own address of host and shared memory. Device memory is copied. */
  override readonly ports: Memory<OpenCLUsmTensor, Address>;
  #capabilities: UsmCapabilities | undefined;

  /** Made by the context. */
  constructor(context: OpenCLContext) {
    super(context);
    this.ports = usmPorts(this, (init) => new OpenCLUsmTensor(init));
  }

  /** True if every device of the context has the extension. */
  get available(): boolean {
    return this.context.devices.every(({ extensions }) => extensions.includes(USM));
  }

  /**
   * The capabilities of the context's first device, for which it is allocated; undefined if a device lacks the extension.
   *
   * @throws {NativeCallError} if the driver fails.
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
   * @throws {ArgumentError} if the device lacks it, or this kind of it.
   * @throws {NativeCallError} if there is too little memory.
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
    checks.nameIn(kind, FLAGS, "kind");
    const { platform, name } = this.context.device;
    if (this.capabilities === undefined) {
      const hint = "PoCL from version 5 on has it, and Intel's drivers; cl.svm and cl.allocate() have other memory.";
      throw checks.wrong("kind", `${platform} has no ${USM} on ${name}.`, hint);
    }
    if (!this.capabilities[kind].access) {
      throw checks.wrong("kind", `${name} has no ${kind} memory.`, "cl.usm.capabilities says what it has.");
    }
    const multiple = align === undefined ? 0 : powerOfTwo(align, "align");
    const at = layoutIn(init, NAMES);
    this.context.resource.assertLive();
    return this.own(usmBlock(this.context, kind, at.byteOffset + at.byteLength, multiple), at);
  }

  /** The block of an allocation of this context; undefined for other memory. For mappers. */
  blockOf(allocation: Allocation): UsmBlock | undefined {
    return usmBlockOf(allocation, this.context);
  }

  /** The class of memory that the host reaches. For mappers. */
  classOf(kind: Exclude<UsmKind, "device">): MemoryClass<OpenCLContext> {
    return USM_MEMORY[kind];
  }
}
