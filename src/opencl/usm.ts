import type { Address } from "../../ffi/address.ts";
import { CL_FALSE, CL_TRUE } from "../../ffi/opencl/constants.ts";
import type { ClKernel } from "../../ffi/opencl/handles.ts";
import {
  CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
  CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
  CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
  CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL,
} from "../../ffi/opencl_usm/constants.ts";
import type { Checks } from "../core/checks.ts";
import type { Call, Memory } from "../core/contract.ts";
import type { MemoryClass } from "../core/device/proofs.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { PointerCommands } from "../core/tensors/pointer_commands.ts";
import { type Home, type PointerFacts, UnifiedMemory, unifiedPorts, type UsmKind } from "../core/tensors/unified.ts";
import { checks } from "./check.ts";
import type { OpenCLContext } from "./context.ts";
import { type ExecInfo, OpenCLPointerTensor } from "./pointers/tensor.ts";
import type { ClLane } from "./lane.ts";
import { assertAligned, holdContext } from "./pointers/memory.ts";
import { pointerFacts, setUsmPointer, USM, USM_MEMORY, type UsmBlock, usmBlock, usmOf } from "./usm/block.ts";
import { type UsmCapabilities, usmCapabilities } from "./usm/capabilities.ts";

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

  get #kind(): UsmKind {
    return this.context.usm.blockOf(this.grant.allocation)!.usm;
  }
}

/**
 * Unified shared memory of one context, if its driver has cl_intel_unified_shared_memory: `cl.usm`. A kernel gets its
 * tensors as pointers, and may find more pointers in their memory.
 */
export class OpenCLUsm extends UnifiedMemory<OpenCLUsmTensor, OpenCLContext> {
  /** The kind of memory. */
  override readonly kind = "opencl.usm";
  /** Its context. */
  declare readonly context: OpenCLContext;
  /** The host has its own address of host and shared memory. Device memory is copied. */
  override readonly ports: Memory<OpenCLUsmTensor, Address>;
  /** What its blocks are known by. For mappers. */
  override readonly home: Home;
  /** A queue's commands on it. For mappers. */
  readonly commands: PointerCommands<ClLane, OpenCLPointerTensor> = new PointerCommands(this, checks);
  #capabilities: UsmCapabilities | undefined;

  /** Host and device use the memory at the same time: a driver may still move what fails that. */
  override readonly takesTurns = false;
  /** The checks of OpenCL's arguments. */
  protected override readonly checks: Checks = checks;
  /** The native function that reports where an address lies. */
  protected override readonly finder = "clGetMemAllocInfoINTEL";

  /** Made by the context. */
  constructor(context: OpenCLContext) {
    super(context);
    this.home = { kind: this.kind, owner: context.rawHandle };
    this.ports = unifiedPorts(this, (init) => new OpenCLUsmTensor(init), {}, "sycl.usm");
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

  /** Keeps the `cl_context`. For mappers. */
  override hold(): () => void {
    return holdContext(this.context.rawHandle);
  }

  /** The class of memory that the host reaches. For mappers. */
  override classOf(kind: Exclude<UsmKind, "device">): MemoryClass<OpenCLContext> {
    return USM_MEMORY[kind];
  }

  /** clEnqueueMemFillINTEL. For mappers. @throws {LayoutError} for an address that is no multiple of the pattern. */
  fillCall(at: Address, pattern: Uint8Array<ArrayBuffer>, byteLength: number): Call {
    assertAligned(at, pattern);
    const { clEnqueueMemFillINTEL: enqueue } = usmOf(this.context.device);
    const [size, length] = [BigInt(pattern.length), BigInt(byteLength)];
    const call = ({ queue, waitCount, waitList, slot }: ClLane) =>
      enqueue(queue, at, pattern, size, length, waitCount, waitList, slot);
    return { fn: "clEnqueueMemFillINTEL", call } satisfies Call<ClLane> as Call;
  }

  /** clEnqueueMemcpyINTEL. For mappers. */
  override copyCall(to: Address, from: Address, byteLength: number, blocks: boolean): Call {
    const { clEnqueueMemcpyINTEL: enqueue } = usmOf(this.context.device);
    const call = ({ queue, waitCount, waitList, slot }: ClLane) =>
      enqueue(queue, blocks ? CL_TRUE : CL_FALSE, to, from, BigInt(byteLength), waitCount, waitList, slot);
    return { fn: "clEnqueueMemcpyINTEL", blocks, call } satisfies Call<ClLane> as Call;
  }

  /** Throws unless the device has a kind of memory. */
  protected override assertHas(kind: UsmKind): void {
    this.#assertAvailable("kind");
    if (this.capabilities![kind].access) return;
    const what = `${this.context.device.name} has no ${kind} memory.`;
    throw checks.wrong("kind", what, "cl.usm.capabilities says what it has.");
  }

  /** A new block. */
  protected override newBlock(kind: UsmKind, byteLength: number, align: number): UsmBlock {
    return usmBlock(this.context, kind, byteLength, align);
  }

  /** What the driver reports of an address (clGetMemAllocInfoINTEL). */
  protected override find(pointer: Address): PointerFacts | undefined {
    this.#assertAvailable("pointer");
    return pointerFacts(this.context, pointer);
  }

  /** Whether an address is memory of this context, as its driver reports. For mappers. */
  override has(address: bigint): boolean {
    return this.available && super.has(address);
  }

  #assertAvailable(argument: string): void {
    if (this.capabilities !== undefined) return;
    const { platform, name } = this.context.device;
    const hint = "PoCL from version 5 on has it, and Intel's drivers; cl.svm and cl.allocate() have other memory.";
    throw checks.wrong(argument, `${platform} has no ${USM} on ${name}.`, hint);
  }
}
