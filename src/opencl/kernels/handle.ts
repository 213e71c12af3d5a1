import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { ledger } from "../../core/life/ledger.ts";
import type { Undo } from "../../core/life/undo.ts";
import { check, errcode, made } from "../errors.ts";
import { opencl } from "../library.ts";
import type { OpenCLProgram } from "../program.ts";

/** A new `cl_kernel`, whose release goes on the undo list. */
export function createKernel(program: OpenCLProgram, name: string, undo: Undo): ClKernel {
  const text = new TextEncoder().encode(`${name}\0`);
  const kernel = made(opencl().clCreateKernel(program.handle, text, errcode), "clCreateKernel");
  ledger.add("opencl.cl_kernel");
  undo.push(() => {
    ledger.remove("opencl.cl_kernel");
    check(opencl().clReleaseKernel(kernel), "clReleaseKernel");
  });
  return kernel;
}
