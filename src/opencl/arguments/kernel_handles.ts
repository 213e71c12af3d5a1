import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import type { Undo } from "../../core/undo.ts";
import { createKernel } from "../kernels/handle.ts";
import { OpenCLPointerTensor } from "../pointers/tensor.ts";
import type { OpenCLProgram } from "../program.ts";

/**
 * The `cl_kernel`s of one kernel: one for each choice of parameters that are passed by an address of `cl.svm` or
 * `cl.usm`. NVIDIA's driver (580.159) never again takes a `cl_mem` for a parameter that was given an address once
 * (CL_INVALID_KERNEL_ARGS), whatever is set in between.
 */
export class KernelHandles {
  /** The one whose pointers are all buffers. */
  readonly first: ClKernel;
  readonly #program: OpenCLProgram;
  readonly #name: string;
  readonly #undo: Undo;
  readonly #others = new Map<string, ClKernel>();

  /** Makes the first; the release of this and all others goes on the undo list, which is the kernel's own. */
  constructor(program: OpenCLProgram, name: string, undo: Undo) {
    this.#program = program;
    this.#name = name;
    this.#undo = undo;
    this.first = createKernel(program, name, undo);
  }

  /** The one for these arguments. @throws {NativeCallError} where it cannot be made. */
  for(accepted: readonly unknown[]): ClKernel {
    let addresses = "";
    for (let i = 0; i < accepted.length; i++) {
      if (accepted[i] instanceof OpenCLPointerTensor) addresses += `${i} `;
    }
    if (addresses === "") return this.first;
    let kernel = this.#others.get(addresses);
    if (kernel === undefined) {
      kernel = createKernel(this.#program, this.#name, this.#undo);
      this.#others.set(addresses, kernel);
    }
    return kernel;
  }
}
