import type { Refusal } from "../../core/errors.ts";
import type { ByteRange } from "../../core/tensors/described.ts";
import type { HostBuffer } from "../buffers/host_buffers.ts";
import type { OpenCLContext } from "../context.ts";

/**
 * Why a live object excludes a new one over some of its bytes; undefined if it does not. `asked` says what the new one
 * is: a parameter, because most maps find no live object, and a closure would be made for nothing.
 */
export type RefuseBeside<T> = (live: HostBuffer, range: ByteRange, cl: OpenCLContext, asked: T) => Refusal | undefined;

export const FREE: readonly HostBuffer[] = [];

export function roomFor<T>(
  range: ByteRange,
  cl: OpenCLContext,
  refuse: RefuseBeside<T>,
  asked: T,
): Refusal | readonly HostBuffer[] {
  const { hostBuffers } = cl.memory;
  const there = hostBuffers.overlapping(range);
  if (there.length === 0) return FREE;
  const returning: HostBuffer[] = [];
  for (const live of there) {
    const refusal = refuse(live, range, cl, asked);
    if (refusal === undefined) continue;
    if (!hostBuffers.isReturning(live)) return refusal;
    returning.push(live);
  }
  return returning;
}

export function whyRoomWaits(room: readonly HostBuffer[]): string | undefined {
  return room.length === 0 ? undefined : "another object over these bytes has to end first";
}

/** Waits for objects on their way back; returns the refusal if that is not enough. @throws {AccessError} */
export function makeRoom<T>(
  range: ByteRange,
  cl: OpenCLContext,
  refuse: RefuseBeside<T>,
  asked: T,
): Refusal | undefined {
  const { hostBuffers } = cl.memory;
  const room = roomFor(range, cl, refuse, asked);
  if ("reason" in room) return room;
  if (room.length === 0) return undefined;
  hostBuffers.settle(room);
  for (const live of hostBuffers.overlapping(range)) {
    const refusal = refuse(live, range, cl, asked);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}
