import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { shown } from "../../core/argument.ts";
import { owned } from "../../core/life/ledger.ts";
import { thenUndo, type Undo } from "../../core/life/undo.ts";
import { cString } from "../../core/native/text.ts";
import { check, errcode, made } from "../errors.ts";
import { opencl } from "../library.ts";
import type { BaseProgram } from "../base_context.ts";

export function createKernel(program: BaseProgram, name: string, undo: Undo): ClKernel {
  const text = cString(name);
  const kernel = made(opencl().clCreateKernel(program.handle, text, errcode), "clCreateKernel");
  owned("opencl.cl_kernel", undo, () => check(opencl().clReleaseKernel(kernel), "clReleaseKernel"));
  return kernel;
}

/** The list of announced pointers can be replaced, but not emptied: a kernel would keep pointers to freed memory. */
export function withOwnKernel(program: BaseProgram, name: string, use: (kernel: ClKernel) => void): void {
  thenUndo(`running ${shown(name)}`, (undo) => use(createKernel(program, name, undo)));
}
