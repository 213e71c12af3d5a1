import type { Address } from "../../ffi/address.ts";
import {
  CL_FALSE,
  CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM,
  CL_KERNEL_EXEC_INFO_SVM_PTRS,
  CL_TRUE,
} from "../../ffi/opencl/constants.ts";
import type { ClKernel } from "../../ffi/opencl/handles.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import { type Names, object } from "../core/argument.ts";
import type { Call, Memory } from "../core/contract.ts";
import type { MemoryClass } from "../core/device/proofs.ts";
import type { DType } from "../core/layout/dtype.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit, powerOfTwo } from "../core/layout/layout.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { PointerMemory } from "../core/tensors/pointer.ts";
import { PointerCommands } from "../core/tensors/pointer_commands.ts";
import { checks, refused } from "./check.ts";
import type { OpenCLContext } from "./context.ts";
import type { DeviceSvm } from "./devices/features.ts";
import type { ClLane } from "./lane.ts";
import { newer } from "./library.ts";
import { assertAligned } from "./pointers/memory.ts";
import { setSvmPointer, type SvmBlock, svmBlock, svmBlockOf, type SvmGrain } from "./svm/block.ts";
import { SvmMaps } from "./svm/maps.ts";
import { SVM_MEMORY, SYSTEM_MEMORY } from "./svm/memory.ts";
import { svmPorts } from "./svm/ports.ts";
import { type ExecInfo, OpenCLPointerTensor } from "./pointers/tensor.ts";

/** Options of {@link OpenCLSvm.allocate}. */
export interface SvmAllocation<D extends DType = DType> extends LayoutInit<D> {
  /**
   * The grain of sharing: `"coarse"` by default, which every device with shared virtual memory has. The host maps and
   * unmaps coarse-grained memory; it uses fine-grained memory in place.
   */
  readonly grain?: SvmGrain;
  /** True if host and device use atomics on it; only with `"fine"`. False by default. */
  readonly atomics?: boolean;
  /** The alignment of the address in bytes, a power of two; at least 128 if the device has 64-bit vectors. */
  readonly align?: number;
}

const NAMES: Names<SvmAllocation & Layout> = { ...LAYOUT_NAMES, grain: true, atomics: true, align: true };

const ABILITIES: { readonly [G in SvmGrain]: { readonly ability: keyof DeviceSvm; readonly name: string } } = {
  coarse: { ability: "coarseGrainBuffer", name: "CL_DEVICE_SVM_COARSE_GRAIN_BUFFER" },
  fine: { ability: "fineGrainBuffer", name: "CL_DEVICE_SVM_FINE_GRAIN_BUFFER" },
};

const OWN: ExecInfo = { pointers: CL_KERNEL_EXEC_INFO_SVM_PTRS };
const SYSTEM: ExecInfo = { flag: CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM };

/** Shared virtual memory: host and device use one address, its handle. From `cl.svm.allocate()`, or host memory. */
export class OpenCLSvmTensor extends OpenCLPointerTensor {
  /** Its context. */
  declare readonly context: OpenCLContext;

  /** Announces it to a kernel that finds its address in memory. For mappers. */
  override get execInfo(): ExecInfo {
    return svmBlockOf(this.grant.allocation, this.context) === undefined ? SYSTEM : OWN;
  }

  /** Passes it to a kernel. For mappers. */
  override setArgument(kernel: ClKernel, index: number): void {
    setSvmPointer(kernel, index, this.address);
  }
}

/** Shared virtual memory of one context: `cl.svm`. Kernels get pointers, and may find more pointers in that memory. */
export class OpenCLSvm extends PointerMemory<OpenCLSvmTensor> {
  /** The kind of memory. */
  override readonly kind = "opencl.svm";
  /** Its context. */
  declare readonly context: OpenCLContext;
  /** The capabilities that all devices of the context have (CL_DEVICE_SVM_CAPABILITIES). */
  readonly capabilities: DeviceSvm;
  /** Its maps for the host. For mappers. */
  readonly maps: SvmMaps;
  /** To and from the host, by the same address. Coarse-grained memory is mapped and unmapped. */
  override readonly ports: Memory<OpenCLSvmTensor, Address>;
  /** A queue's commands on it. For mappers. */
  readonly commands: PointerCommands<ClLane, OpenCLPointerTensor> = new PointerCommands(this, checks);

  /** Made by the context. */
  constructor(context: OpenCLContext) {
    super(context);
    const all = (ability: keyof DeviceSvm) => context.devices.every(({ svm }) => svm[ability]);
    this.capabilities = {
      coarseGrainBuffer: all("coarseGrainBuffer"),
      fineGrainBuffer: all("fineGrainBuffer"),
      fineGrainSystem: all("fineGrainSystem"),
      atomics: all("atomics"),
    };
    this.maps = new SvmMaps(context);
    this.ports = svmPorts(this, (init) => new OpenCLSvmTensor(init));
  }

  /** True for tensors of this memory. */
  override is(value: Mapped): value is OpenCLSvmTensor {
    return value instanceof OpenCLSvmTensor && value.target === this;
  }

  /**
   * Allocates shared virtual memory (clSVMAlloc), not initialised.
   *
   * @throws {LayoutError} for a wrong shape, dtype, stride or alignment, or more than the device takes in one piece.
   * @throws {ArgumentError} if the device lacks it, the grain, or the atomics.
   * @throws {NativeCallError} if there is too little memory.
   *
   * @example
   * ```ts
   * import { OpenCLContext } from "@samepage/interop/opencl";
   *
   * using cl = OpenCLContext.open();
   * if (cl.svm.capabilities.coarseGrainBuffer) {
   *   using samples = cl.svm.allocate({ shape: [1024], dtype: "f32" });
   *   console.log(samples.handle % 4n); // 0n
   * }
   * ```
   */
  allocate(init: SvmAllocation): OpenCLSvmTensor {
    const { grain, atomics, align } = this.#asked(init);
    const at = layoutIn(init, NAMES);
    const byteLength = at.byteOffset + at.byteLength;
    this.context.resource.assertLive();
    return this.own(svmBlock(this.context, { byteLength, grain, atomics, align }), at);
  }

  /** clEnqueueSVMMemFill. For mappers. @throws {LayoutError} for an address that is no multiple of the pattern. */
  fillCall(at: Address, pattern: Uint8Array<ArrayBuffer>, byteLength: number): Call {
    assertAligned(at, pattern);
    const enqueue = newer("clEnqueueSVMMemFill");
    const [size, length] = [BigInt(pattern.length), BigInt(byteLength)];
    const call = ({ queue, waitCount, waitList, slot }: ClLane) =>
      enqueue(queue, at, pattern, size, length, waitCount, waitList, slot);
    return { fn: "clEnqueueSVMMemFill", call } satisfies Call<ClLane> as Call;
  }

  /** clEnqueueSVMMemcpy. For mappers. */
  copyCall(to: Address, from: Address, byteLength: number, blocks: boolean): Call {
    const enqueue = newer("clEnqueueSVMMemcpy");
    const call = ({ queue, waitCount, waitList, slot }: ClLane) =>
      enqueue(queue, blocks ? CL_TRUE : CL_FALSE, to, from, BigInt(byteLength), waitCount, waitList, slot);
    return { fn: "clEnqueueSVMMemcpy", blocks, call } satisfies Call<ClLane> as Call;
  }

  /** The block of an allocation of this context; undefined for other memory. For mappers. */
  blockOf(allocation: Allocation): SvmBlock | undefined {
    return svmBlockOf(allocation, this.context);
  }

  /** The class of an allocation used by pointer, or by a buffer over it. For mappers. */
  classOf(allocation: Allocation, by: "pointer" | "buffer" = "pointer"): MemoryClass<OpenCLContext> {
    const block = this.blockOf(allocation);
    if (block === undefined) return SYSTEM_MEMORY;
    return by === "pointer" ? SVM_MEMORY[block.grain].byPointer : SVM_MEMORY[block.grain].byBuffer;
  }

  #asked(init: SvmAllocation): { grain: SvmGrain; atomics: boolean; align: number } {
    const { grain = "coarse", atomics = false, align } = object(init, "init");
    checks.nameIn(grain, ABILITIES, "grain");
    checks.assertBoolean(atomics, "atomics");
    const { ability, name } = ABILITIES[grain];
    const { capabilities } = this;
    if (!capabilities[ability]) {
      const hint = capabilities.coarseGrainBuffer ? 'Ask for grain: "coarse".' : "cl.allocate() has buffers.";
      throw refused("clSVMAlloc", "grain", `${this.context.name} shares no ${grain}-grained memory (${name}).`, hint);
    }
    if (atomics && grain !== "fine") {
      throw refused("clSVMAlloc", "atomics", "only fine-grained memory can have them.", 'Ask for grain: "fine".');
    }
    if (atomics && !capabilities.atomics) {
      throw refused(
        "clSVMAlloc",
        "atomics",
        `${this.context.name} has none across host and device (CL_DEVICE_SVM_ATOMICS).`,
      );
    }
    return { grain, atomics, align: align === undefined ? 0 : powerOfTwo(align, "align") };
  }
}
