import type { Refusal } from "../../core/errors.ts";
import type { ByteRange } from "../../core/tensors/described.ts";
import type { HostBuffer } from "../../opencl/buffers/host_buffers.ts";
import type { OpenCLContext } from "../../opencl/context.ts";

/** Why a live object stands in the way of a new one over some of its bytes; undefined where it does not. */
export type RefuseBeside = (live: HostBuffer) => Refusal | undefined;

/**
 * Is there room for a native object over a range? Two over the same bytes are undefined in OpenCL. Answers why not; or what
 * stands in the way but is on its way back, which the host has to wait for.
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
 * Makes the room: waits for what is on its way back. Answers why there still is none.
 *
 * @throws {AccessError} where the wait could never end.
 */
export function makeRoom(range: ByteRange, cl: OpenCLContext, refuse: RefuseBeside): Refusal | undefined {
  const { hostBuffers } = cl.memory;
  const room = roomFor(range, cl, refuse);
  if ("reason" in room) return room;
  if (room.length === 0) return undefined;
  hostBuffers.settle(room);
  return hostBuffers.overlapping(range).map(refuse).find((refusal) => refusal !== undefined);
}
