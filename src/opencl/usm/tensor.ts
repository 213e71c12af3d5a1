import type { Address } from "../../../ffi/address.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import {
  CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
  CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
  CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
  CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL,
} from "../../../ffi/opencl_usm/constants.ts";
import type { TensorInit } from "../../core/tensors/tensor.ts";
import type { OpenCLContext } from "../context.ts";
import { check } from "../errors.ts";
import { type ExecInfo, OpenCLPointerTensor } from "../pointers/tensor.ts";
import { usmBlockOf, type UsmKind } from "./block.ts";
import { usmOf } from "./library.ts";

const FLAGS: { readonly [K in UsmKind]: number } = {
  host: CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
  device: CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
  shared: CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
};

/** Unified shared memory (cl_intel_unified_shared_memory). Made by `cl.usm.allocate()`; its handle is its address. */
export class OpenCLUsmTensor extends OpenCLPointerTensor {
  /** Announces it to a kernel that finds its address in memory. For those who write mappers. */
  override get execInfo(): ExecInfo {
    return { pointers: CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, flag: FLAGS[this.#kind] };
  }

  /** Passes it to a kernel. For those who write mappers. */
  override setArgument(kernel: ClKernel, index: number): void {
    setUsmPointer(this.context, kernel, index, this.address);
  }

  /** Its address, if the host reaches it. */
  protected override get hostAddress(): bigint | undefined {
    return this.#kind === "device" ? undefined : this.address;
  }

  /** A tensor over a part of its bytes. */
  protected override another(init: TensorInit<Address>): OpenCLUsmTensor {
    return new OpenCLUsmTensor(init);
  }

  get #kind(): UsmKind {
    return usmBlockOf(this.grant.allocation, this.context)!.usm;
  }
}

/** Passes an address to a kernel. @throws {NativeCallError} if the driver refuses. */
export function setUsmPointer({ device }: OpenCLContext, kernel: ClKernel, index: number, address: Address): void {
  check(usmOf(device).clSetKernelArgMemPointerINTEL(kernel, index, address), "clSetKernelArgMemPointerINTEL");
}
