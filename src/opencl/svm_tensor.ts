import type { Address } from "../../ffi/address.ts";
import type { ClKernel } from "../../ffi/opencl/handles.ts";
import type { TensorInit } from "../core/tensor.ts";
import { check } from "./errors.ts";
import { newer } from "./library.ts";
import { OpenCLPointerTensor } from "./pointer_tensor.ts";

/**
 * Shared virtual memory: host and device call it by the same address, which is its handle. Made by `cl.svm.allocate()`,
 * or of host memory where a device shares all of that.
 */
export class OpenCLSvmTensor extends OpenCLPointerTensor {
  /** @see {@link OpenCLPointerTensor.setArgument} */
  override setArgument(kernel: ClKernel, index: number): void {
    setSvmPointer(kernel, index, this.address);
  }

  /** @see {@link OpenCLPointerTensor.another} */
  protected override another(init: TensorInit<Address>): OpenCLSvmTensor {
    return new OpenCLSvmTensor(init);
  }
}

/** Passes an address to a kernel. @throws {NativeCallError} where the driver refuses. */
export function setSvmPointer(kernel: ClKernel, index: number, address: Address): void {
  check(newer("clSetKernelArgSVMPointer")(kernel, index, address), "clSetKernelArgSVMPointer");
}
