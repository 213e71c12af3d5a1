import type { Refusal } from "../../core/errors.ts";
import type { ByteRange } from "../../core/tensors/described.ts";
import type { HostBuffer } from "../../opencl/buffers/host_buffers.ts";
import type { OpenCLContext } from "../../opencl/context.ts";

/** Why a live object excludes a new one over some of its bytes; undefined if it does not. */
export type RefuseBeside = (live: HostBuffer) => Refusal | undefined;

/**
 * Looks for room for a native object over a range; two over the same bytes are undefined in OpenCL. Returns the
 * refusal, or the objects on their way back that the host has to wait for.
 */
export function roomFor(
  range: ByteRange,
  { memory: { hostBuffers } }: OpenCLContext,
  refuse: RefuseBeside,
): Refusal | readonly HostBuffer[] {
  const returning: HostBuffer[] = [];
  for (const live of hostBuffers.overlapping(range)) {
    const refusal = refuse(live);
    if (refusal === undefined) continue;
    if (!hostBuffers.isReturning(live)) return refusal;
    returning.push(live);
  }
  return returning;
}

/**
 * Waits for objects on their way back. Returns the refusal if there is no room even then.
 *
 * @throws {AccessError} if the wait could never end.
 */
export function makeRoom(range: ByteRange, cl: OpenCLContext, refuse: RefuseBeside): Refusal | undefined {
  const { hostBuffers } = cl.memory;
  const room = roomFor(range, cl, refuse);
  if ("reason" in room) return room;
  if (room.length === 0) return undefined;
  hostBuffers.settle(room);
  return hostBuffers.overlapping(range).map(refuse).find((refusal) => refusal !== undefined);
}
