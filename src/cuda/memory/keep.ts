import { isMade } from "../../core/argument.ts";
import { finalizers } from "../../core/life/finalizers.ts";
import { Mapped } from "../../core/tensors/mapped.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { type Undo, undone } from "../../core/life/undo.ts";
import { checks } from "../check.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { registerFlags, type RegisterOptions } from "./register_flags.ts";
import { refuseRegister, register } from "./registered.ts";

/** Host memory that stays registered between maps. Made by `cuda.register()`. */
export class CudaRegistration extends NativeObject {
  /** Its end of life. Maps that use the pages keep them registered until they end. */
  readonly resource: Resource;

  /** Registers all of the tensor's block. */
  constructor(context: CudaPrimaryContext, tensor: Mapped, options: RegisterOptions) {
    super();
    if (!isMade(tensor, Mapped)) throw checks.wrongKind("tensor", "a tensor of the host", tensor);
    const flags = registerFlags(options, context.device);
    tensor.resource.assertLive();
    context.resource.assertLive();
    const [grant] = tensor.resource.grants;
    if (grant === undefined) {
      throw checks.wrong("tensor", "its planes lie in several blocks.", "Register each of them.");
    }
    const { allocation } = grant;
    const refusal = refuseRegister(context, allocation);
    if (refusal !== undefined) {
      throw checks.wrong("tensor", refusal.reason, refusal.remedy, "cudaHostRegister");
    }
    const undo: Undo = [];
    try {
      register(context, allocation, undo, flags);
    } catch (error) {
      throw undone(error, undo, "registering host memory");
    }
    const name = `registration of ${tensor.name}`;
    this.resource = new Resource({ name, owners: [tensor.resource, context.resource], undo });
    finalizers.register(this, this.resource, this);
  }
}
