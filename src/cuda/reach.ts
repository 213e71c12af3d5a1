import { ArgumentError } from "../core/errors.ts";
import type { CudaContext } from "./context.ts";
import { refusalOf } from "./memory/rules.ts";
import { virtualBlockOf } from "./memory/virtual/block.ts";
import type { CudaTensor } from "./tensor.ts";

/** Why a tensor is out of reach, and what to do about it. */
interface Unreachable {
  readonly reason: string;
  readonly remedy?: string | undefined;
}

/**
 * Throws unless what runs on a device reaches a tensor's bytes by the address that it has: a touch of what it may not
 * reach ends the use of CUDA in this process, on all of its devices.
 *
 * @param argument what the caller knows the tensor as
 * @throws {ArgumentError} where it does not, naming both devices.
 */
export function assertReachable(tensor: CudaTensor, context: CudaContext, argument: string): void {
  const { context: home } = tensor;
  if (home === context || home.device.ordinal === context.device.ordinal) return;
  const refused = unreachable(tensor, context);
  if (refused === undefined) return;
  const what = `${tensor.name} is of ${nameOf(home)}, and this runs on ${nameOf(context)}: ${refused.reason}`;
  throw new ArgumentError(`${argument}: ${what}`, {
    api: "cuda",
    argument,
    ...(refused.remedy === undefined ? {} : { hint: refused.remedy }),
  });
}

/** Why memory that was made for another device is out of reach; undefined where it is not. */
function unreachable({ memory, context: home, grant }: CudaTensor, { device }: CudaContext): Unreachable | undefined {
  for (const each of [device, home.device]) {
    const refused = refusalOf(memory, "kernel-on-another-device", each);
    if (refused !== undefined) return refused;
  }
  if (memory !== "virtual" || virtualBlockOf(grant.allocation)?.ordinals.includes(device.ordinal)) return undefined;
  return {
    reason: "it was not allocated for that device.",
    remedy: "Allocate it for both: cuda.virtual.allocate({ devices: [other], … }).",
  };
}

/** Two GPUs of one kind have one name. */
function nameOf({ device: { name, ordinal } }: CudaContext): string {
  return `device ${ordinal} (${name})`;
}
