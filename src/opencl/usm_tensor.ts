import type { Address } from "../../ffi/address.ts";
import type { ClKernel } from "../../ffi/opencl/handles.ts";
import type { TensorInit } from "../core/tensor.ts";
import type { OpenCLContext } from "./context.ts";
import { check } from "./errors.ts";
import { OpenCLPointerTensor } from "./pointer_tensor.ts";
import { usmBlockOf } from "./usm_block.ts";
import { usmOf } from "./usm_library.ts";

/** Unified shared memory (cl_intel_unified_shared_memory). Made by `cl.usm.allocate()`; its handle is its address. */
export class OpenCLUsmTensor extends OpenCLPointerTensor {
  /** @see {@link OpenCLPointerTensor.setArgument} */
  override setArgument(kernel: ClKernel, index: number): void {
    setUsmPointer(this.context, kernel, index, this.address);
  }

  /** @see {@link OpenCLPointerTensor.hostAddress} */
  protected override get hostAddress(): bigint | undefined {
    return usmBlockOf(this.grant.allocation, this.context)?.usm === "device" ? undefined : this.address;
  }

  /** @see {@link OpenCLPointerTensor.another} */
  protected override another(init: TensorInit<Address>): OpenCLUsmTensor {
    return new OpenCLUsmTensor(init);
  }
}

/** Passes an address to a kernel. @throws {NativeCallError} where the driver refuses. */
export function setUsmPointer({ device }: OpenCLContext, kernel: ClKernel, index: number, address: Address): void {
  check(usmOf(device).clSetKernelArgMemPointerINTEL(kernel, index, address), "clSetKernelArgMemPointerINTEL");
}
