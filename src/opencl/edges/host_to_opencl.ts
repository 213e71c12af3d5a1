import { CL_MAP_READ } from "../../../ffi/opencl/constants.ts";
import { type Access, writes } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import type { ByteRange, Described, DescribedPlane } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import { Frame } from "../../core/tensors/frame.ts";
import {
  type MapJob,
  type Mapper,
  type ProbedStep,
  probedStep,
  refused,
  refuseEnded,
  resourceOf,
  UNMAPPED,
} from "../../core/graph/mapper.ts";
import type { GiveBack } from "../../core/life/resource.ts";
import { noRoute } from "../../core/graph/route.ts";
import type { HostTensor } from "../../host/tensor.ts";
import { classAt } from "../alias/memory.ts";
import type { OpenCLContext } from "../context.ts";
import type { HostBuffer } from "../buffers/host_buffers.ts";
import { type BufferPart, mapCall, partOf, Publication } from "../buffers/native.ts";
import type { OpenCLSvmTensor } from "../svm.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { mappedCoarse } from "../svm/block.ts";

const EDGE = "host→opencl";

/** Memory with a host address; shared virtual memory is mapped in the same way. */
type Addressed = HostTensor | OpenCLSvmTensor;

/**
 * Host memory as an OpenCL buffer (CL_MEM_USE_HOST_PTR), over exactly the bytes of the map. `alias` if the device
 * provably uses memory of this alignment in place; else `migrate`: the driver moves the bytes. The planes of a frame are
 * parts of one buffer. Where one begins where no sub-buffer may, a kernel could not take it: each plane has a buffer then.
 */
export const hostToOpenCL: Mapper<HostTensor | Frame<HostTensor>, OpenCLTensor | Frame<OpenCLTensor>> = {
  from: "host",
  to: "opencl",

  byPlane({ planes, range }: Described, target: Target): boolean {
    const { subBufferAlign } = target.context as OpenCLContext;
    for (const { start } of planes) if ((start - range.start) % subBufferAlign !== 0) return areApart(planes);
    return false;
  },

  prepare(source: Described, target: Target): void {
    const cl = target.context as OpenCLContext;
    const { address, byteLength } = source.range;
    if (address === undefined || cl.queue.line.resource.state !== "live") return;
    cl.proofs.tryToProve(classAt(address, byteLength));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ProbedStep | Refusal {
    const cl = target.context as OpenCLContext;
    const { range } = source;
    const room = roomForBuffer(source, range, cl);
    if ("reason" in room) return room;
    const { address, byteLength } = range;
    const verdict = address === undefined ? UNMAPPED : cl.proofs.judge(classAt(address, byteLength));
    const behind = waits.length === 0 ? undefined : cl.queue.line.whyHostWaits(waits);
    const waitReason = room.length > 0 ? ROOM_WAITS : behind;
    const { start } = (room === FREE || room.length > 0 ? undefined : cl.memory.hostBuffers.find(range)) ?? range;
    return probedStep(EDGE, verdict, waitReason, cl.memory.describe(source, access, start));
  },

  map(source: HostTensor | Frame<HostTensor>, target: Target, job: MapJob): OpenCLTensor | Frame<OpenCLTensor> {
    return mapBuffer(source, target.context as OpenCLContext, job, source.described.range);
  },
};

/** True if no plane begins before the one in front of it ends: buffers over the same bytes are undefined in OpenCL. */
function areApart(planes: readonly DescribedPlane[]): boolean {
  const inOrder = planes.toSorted((a, b) => a.start - b.start);
  return inOrder.every(({ start }, i) => i === 0 || inOrder[i - 1].start + inOrder[i - 1].layout.byteLength <= start);
}

/** Maps to a buffer over `whole`, the bytes of the map or more. @throws {NoRouteError} if there can be none. */
export function mapBuffer(
  source: Addressed | Frame<Addressed>,
  cl: OpenCLContext,
  job: MapJob,
  whole: ByteRange,
): OpenCLTensor | Frame<OpenCLTensor> {
  const { described } = source;
  const { memory, queue } = cl;
  const there = makeRoom(whole, cl, refuseBeside, described);
  if (there !== undefined && "reason" in there) throw noRoute(source.name, cl.name, [there]);
  const share = memory.hostBuffers.acquire(whole, there, job.undo);
  const root = share.buffer;
  const { planes } = described;
  const parts = planes.length === 1
    ? [partIn(root, planes[0], cl, job)] // most maps: they make no closure
    : planes.map((plane) => partIn(root, plane, cl, job));
  const written = writes(job.grants[0].access);
  const resource = resourceOf(queue.line.resource, job, written ? giveBackOf(cl, root, described.range) : undefined);
  share.holder = resource;
  if (written) memory.hostBuffers.write(root, resource);
  resource.inherit(job.waits);
  if (source instanceof Frame) return memory.frame(resource, root, parts, source);
  return memory.tensor(resource, root, parts[0], source);
}

function partIn(root: HostBuffer, { start, layout }: DescribedPlane, cl: OpenCLContext, job: MapJob): BufferPart {
  return partOf(cl, root.mem, start - root.start, layout, job.undo);
}

/** What was written has to be published before the host may look. */
function giveBackOf({ proofs, queue }: OpenCLContext, root: HostBuffer, { start, byteLength }: ByteRange): GiveBack {
  const { mem } = root;
  const offset = start - root.start;
  const { aliases } = proofs.judge(classAt(root.hostAddress, root.byteLength));
  return new Publication(queue.line, aliases, () => mapCall(mem, false, CL_MAP_READ, offset, byteLength));
}

/** Why there can be no buffer over a range; or the buffers on their way back to wait for. */
export function roomForBuffer(
  source: Described,
  range: ByteRange,
  cl: OpenCLContext,
): Refusal | readonly HostBuffer[] {
  if (range.byteLength > cl.maxAllocation) return refuseEnded(EDGE, cl) ?? tooLarge(range, cl);
  return refuseEnded(EDGE, cl) ?? refuseMappedCoarse(EDGE, source, cl) ?? roomFor(range, cl, refuseBeside, source);
}

function tooLarge({ byteLength }: ByteRange, { maxAllocation, name }: OpenCLContext): Refusal {
  const reason = `${byteLength} bytes are more than the ${maxAllocation} that ${name} takes in one buffer.`;
  return refused(EDGE, reason, "Map it in slices.");
}

/** Why a live object over some of the bytes excludes a buffer. */
function refuseBeside(live: HostBuffer, range: ByteRange, cl: OpenCLContext, source: Described): Refusal | undefined {
  const moved = !cl.proofs.judge(classAt(live.hostAddress, live.byteLength)).aliases;
  if (moved && live.hostWriters > 0) return refuseBehindHost(EDGE, cl);
  if (live.limits !== undefined) {
    return refused(
      EDGE,
      `${cl.name} has a buffer over these bytes that was made with ${live.limits.flags}, and attached to: two ` +
        "buffers over the same bytes are undefined in OpenCL.",
      "Use the attached tensor, or dispose it first.",
    );
  }
  const { hostBuffers } = cl.memory;
  if (hostBuffers.shares(live, range)) {
    if (!moved || !hostBuffers.isOld(live, source.range)) return undefined;
    return refused(
      EDGE,
      `${cl.name} has a copy of its own of these bytes, and the host has had some of them since: that copy may be old.`,
      "Dispose the maps that are left of that memory first.",
    );
  }
  // For an image that is yet to be mapped for the host, it is unknown where the driver will show it.
  const at = range.address === undefined ? "" : ` at 0x${range.address.toString(16)}`;
  return refused(
    EDGE,
    `${range.byteLength} bytes${at} overlap a live map in ${cl.name} in part, or as ` +
      `something else: it is ${live.what} of ${live.byteLength} bytes at 0x${live.hostAddress.toString(16)}, and two ` +
      "objects over the same bytes are undefined in OpenCL.",
    "Dispose that map first, or map the whole range first.",
  );
}

export function refuseMappedCoarse(edge: string, source: Described, cl: OpenCLContext): Refusal | undefined {
  const { target, range: { allocation } } = source;
  if (target.kind !== "host" || allocation.block.kind !== "opencl.svm") return undefined;
  if (cl.svm.blockOf(allocation)?.grain !== "coarse") return undefined;
  return { edge, ...mappedCoarse(cl) };
}

/** Refuses bytes that the host may be writing, while the device has its own copy of them. */
export function refuseBehindHost(edge: string, { name }: OpenCLContext): Refusal {
  const reason = `${name} has a copy of its own of these bytes, which a map of it to the host may be changing.`;
  return refused(edge, reason, "Dispose the host's map first.");
}

/**
 * Why a live object excludes a new one over some of its bytes; undefined if it does not. `asked` says what the new one
 * is: a parameter, because most maps find no live object, and a closure would be made for nothing.
 */
export type RefuseBeside<T> = (live: HostBuffer, range: ByteRange, cl: OpenCLContext, asked: T) => Refusal | undefined;

const FREE: readonly HostBuffer[] = [];

export const ROOM_WAITS = "another object over these bytes has to end first";

/** Why there can be no new object over a range; or the objects on their way back that have to end before. */
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

/**
 * Waits for objects on their way back. Returns the live object to share, if any; or why there can be no new one.
 * @throws {AccessError} if one could never end.
 */
export function makeRoom<T>(
  range: ByteRange,
  cl: OpenCLContext,
  refuse: RefuseBeside<T>,
  asked: T,
): Refusal | HostBuffer | undefined {
  const { hostBuffers } = cl.memory;
  if (hostBuffers.overlapping(range).length === 0) return undefined;
  hostBuffers.endThoseOver(range);
  const room = roomFor(range, cl, refuse, asked);
  if (room === FREE) return undefined;
  if ("reason" in room) return room;
  hostBuffers.settle(room);
  const left = hostBuffers.overlapping(range);
  for (const live of left) {
    const refusal = refuse(live, range, cl, asked);
    if (refusal !== undefined) return refusal;
  }
  return left[0];
}
