import { isMade, withArticle } from "../argument.ts";
import type { Checks } from "../checks.ts";
import type { Commands } from "../contract.ts";
import type { Use } from "../device/line.ts";
import { wrongMemory } from "../device/wrong_memory.ts";
import type { Access } from "../memory/access.ts";
import { PointerCommands } from "./pointer_commands.ts";
import type { UnifiedDeviceContext, UnifiedDeviceMemory, UnifiedTensor } from "./unified_device.ts";

/** A queue's commands where all memory is unified shared memory. For backends. */
export class UnifiedCommands<L, T extends UnifiedTensor> extends PointerCommands<L, T> implements Commands<L, T> {
  readonly #usm: UnifiedDeviceMemory<T, UnifiedDeviceContext>;

  /** Those of one context. */
  constructor(usm: UnifiedDeviceMemory<T, UnifiedDeviceContext>, checks: Checks) {
    super(usm, checks);
    this.#usm = usm;
  }

  useOf(tensor: T, access: Access, argument: string): Use {
    const { tensors, title, context } = this.#usm;
    if (!isMade(tensor, tensors)) {
      throw wrongMemory(this.checks, tensor, access, argument, { expected: withArticle(tensors.name), target: title });
    }
    this.checks.assertHere(tensor.target.context, context, argument, tensor.name);
    return { tensor, access, argument };
  }
}
