import type { Allocation } from "../core/memory/allocation.ts";
import type { CudaPrimaryContext } from "./base.ts";
import { type CudaDevice, numbered } from "./device.ts";
import { check } from "./errors.ts";
import { cudart } from "./library.ts";
import type { CudaMemoryKind } from "./memory/block.ts";
import { refusalOf } from "./memory/rules.ts";
import { virtualBlockOf } from "./memory/virtual/block.ts";
import type { CudaTensor } from "./tensor.ts";
import { checks } from "./check.ts";

const out = new Int32Array(1);

export function canAccess(reader: number, owner: number): boolean {
  if (reader === owner) return true;
  check(cudart().cudaDeviceCanAccessPeer(out, reader, owner), "cudaDeviceCanAccessPeer");
  return out[0] === 1;
}

export interface Unreachable {
  readonly reason: string;
  readonly remedy?: string;
}

/**
 * Throws unless a device reaches a tensor by its address, because an access to unreachable memory breaks CUDA for this process
 * on all devices.
 * @param argument the tensor's argument name
 * @throws {ArgumentError} for a tensor out of reach; the message names both devices.
 */
export function assertReachable(tensor: CudaTensor, context: CudaPrimaryContext, argument: string): void {
  const { context: home } = tensor;
  if (home === context || home.device.ordinal === context.device.ordinal) return;
  const refused = unreachable(tensor, context);
  if (refused === undefined) return;
  const what = `${tensor.name} is of ${numbered(home.device)}, and this runs on ${
    numbered(context.device)
  }: ${refused.reason}`;
  throw checks.wrong(argument, what, refused.remedy);
}

function unreachable(
  { memory, context: home, grant }: CudaTensor,
  { device }: CudaPrimaryContext,
): Unreachable | undefined {
  return refusalOf(memory, "kernel-on-another-device", home.device) ?? refuseReach(memory, grant.allocation, device);
}

export function refuseReach(
  memory: CudaMemoryKind,
  allocation: Allocation,
  device: CudaDevice,
): Unreachable | undefined {
  const refused = refusalOf(memory, "kernel-on-another-device", device);
  if (refused !== undefined) return refused;
  if (memory !== "virtual" || virtualBlockOf(allocation)?.ordinals.includes(device.ordinal)) return undefined;
  return {
    reason: "it was not allocated for that device.",
    remedy: "Allocate it for both: cuda.virtual.allocate({ devices: [other], … }).",
  };
}
