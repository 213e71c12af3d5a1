import type { Address } from "../../../ffi/address.ts";
import {
  CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM,
  CL_KERNEL_EXEC_INFO_SVM_PTRS,
} from "../../../ffi/opencl/constants.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import type { TensorInit } from "../../core/tensors/tensor.ts";
import { check } from "../errors.ts";
import { newer } from "../library.ts";
import { type ExecInfo, OpenCLPointerTensor } from "../pointers/tensor.ts";
import { svmBlockOf } from "./block.ts";

const OWN: ExecInfo = { pointers: CL_KERNEL_EXEC_INFO_SVM_PTRS };
const SYSTEM: ExecInfo = { flag: CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM };

/**
 * Shared virtual memory. Host and device use the same address, which is its handle. Made by `cl.svm.allocate()`, or of host
 * memory if a device shares all of that.
 */
export class OpenCLSvmTensor extends OpenCLPointerTensor {
  /** Announces it to a kernel that finds its address in memory. For those who write mappers. */
  override get execInfo(): ExecInfo {
    return svmBlockOf(this.grant.allocation, this.context) === undefined ? SYSTEM : OWN;
  }

  /** Passes it to a kernel. For those who write mappers. */
  override setArgument(kernel: ClKernel, index: number): void {
    setSvmPointer(kernel, index, this.address);
  }

  /** A tensor over a part of its bytes. */
  protected override another(init: TensorInit<Address>): OpenCLSvmTensor {
    return new OpenCLSvmTensor(init);
  }
}

/** Passes an address to a kernel. @throws {NativeCallError} if the driver refuses. */
export function setSvmPointer(kernel: ClKernel, index: number, address: Address): void {
  check(newer("clSetKernelArgSVMPointer")(kernel, index, address), "clSetKernelArgSVMPointer");
}
