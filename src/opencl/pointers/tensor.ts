import type { Address } from "../../../ffi/address.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import type { Target } from "../../core/graph/context.ts";
import { PointerTensor } from "../../core/tensors/pointer.ts";
import type { PointerCommands } from "../../core/tensors/pointer_commands.ts";
import type { TensorInit } from "../../core/tensors/tensor.ts";
import type { BaseContext } from "../base_context.ts";
import type { ClLane } from "../lane.ts";

/** The CL_KERNEL_EXEC_INFO_… values that announce memory which a kernel reaches by a pointer in memory. */
export interface ExecInfo {
  /** The list of addresses to add this one to. */
  readonly pointers?: number;
  /** The flag that announces such memory. */
  readonly flag?: number;
}

/** Memory that kernels reach by its address, which is its handle. A part has an offset, and may begin at any byte. */
export abstract class OpenCLPointerTensor extends PointerTensor {
  /** Its memory, with a queue's commands on it. */
  declare readonly target: Target & { readonly commands: PointerCommands<ClLane, OpenCLPointerTensor> };
  /** Its context. */
  readonly context: BaseContext;

  /** Takes the resource over. */
  constructor(init: TensorInit<Address>) {
    super(init);
    this.context = init.target.context as BaseContext;
  }

  /** Announces it to a kernel that finds its address in memory. For mappers. */
  abstract get execInfo(): ExecInfo;

  /** Passes it to a kernel. For mappers. @throws {NativeCallError} if the driver refuses. */
  abstract setArgument(kernel: ClKernel, index: number): void;
}
