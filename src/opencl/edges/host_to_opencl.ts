import { type Access, writes } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import type { ByteRange, Described } from "../../core/tensors/described.ts";
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
import type { OpenCLContext } from "../context.ts";
import type { HostBuffer } from "../buffers/host_buffers.ts";
import type { BufferPart } from "../buffers/native.ts";
import type { OpenCLSvmTensor } from "../svm.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { refuseBehindHost, refuseMappedCoarse } from "./refusals.ts";
import { FREE, makeRoom, roomFor, whyRoomWaits } from "./room.ts";

const EDGE = "host→opencl";

/** Memory with a host address; shared virtual memory is mapped in the same way. */
type Addressed = HostTensor | OpenCLSvmTensor;

/**
 * Host memory as an OpenCL buffer (CL_MEM_USE_HOST_PTR), over exactly the bytes of the map. `alias` if the device
 * provably uses memory of this alignment in place; else `migrate`: the driver moves the bytes.
 */
export const hostToOpenCL: Mapper<HostTensor | Frame<HostTensor>, OpenCLTensor | Frame<OpenCLTensor>> = {
  from: "host",
  to: "opencl",

  prepare(source: Described, target: Target): void {
    const cl = target.context as OpenCLContext;
    const { address, byteLength } = source.range;
    if (address === undefined || cl.queue.resource.state !== "live") return;
    cl.proofs.tryToProve(cl.memory.classOf(address, byteLength));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ProbedStep | Refusal {
    const cl = target.context as OpenCLContext;
    const { range } = source;
    const room = roomForBuffer(source, range, cl);
    if ("reason" in room) return room;
    const { address, byteLength } = range;
    const verdict = address === undefined ? UNMAPPED : cl.proofs.judge(cl.memory.classOf(address, byteLength));
    const waitReason = whyRoomWaits(room) ?? cl.queue.line.whyHostWaits(waits);
    const { start } = (room === FREE || room.length > 0 ? undefined : cl.memory.hostBuffers.find(range)) ?? range;
    return probedStep(EDGE, verdict, waitReason, cl.memory.describe(source, access, start));
  },

  map(source: HostTensor | Frame<HostTensor>, target: Target, job: MapJob): OpenCLTensor | Frame<OpenCLTensor> {
    return mapBuffer(source, target.context as OpenCLContext, job, source.described.range);
  },
};

/** Maps to a buffer over `whole`, the bytes of the map or more. @throws {NoRouteError} if there can be none. */
export function mapBuffer(
  source: Addressed | Frame<Addressed>,
  cl: OpenCLContext,
  job: MapJob,
  whole: ByteRange,
): OpenCLTensor | Frame<OpenCLTensor> {
  const refusal = makeRoom(whole, cl, refuseBeside, source.described);
  if (refusal !== undefined) throw noRoute(source.name, cl.name, [refusal]);
  const share = cl.memory.hostBuffers.acquire(whole, job.undo);
  const root = share.buffer;
  const parts = source instanceof Frame
    ? source.planes.map((plane) => partOf(plane, root, cl, job))
    : [partOf(source, root, cl, job)];
  const written = writes(job.grants[0].access);
  const giveBack = written ? giveBackOf(cl, root, source.described.range) : undefined;
  const resource = resourceOf(cl.queue.resource, job, source.resource, giveBack);
  share.holder = resource;
  if (written) cl.memory.hostBuffers.write(root, resource);
  resource.inherit(job.waits);
  if (source instanceof Frame) return cl.memory.frame(resource, root, parts, source);
  return cl.memory.tensor(resource, root, parts[0], source);
}

function partOf({ grant, layout }: Addressed, root: HostBuffer, { memory }: OpenCLContext, job: MapJob): BufferPart {
  return memory.part(root, grant.start - root.start, layout, job.undo);
}

/** What was written has to be published before the host may look. */
function giveBackOf({ proofs, memory }: OpenCLContext, root: HostBuffer, { start, byteLength }: ByteRange): GiveBack {
  const { aliases } = proofs.judge(memory.classOf(root.hostAddress, root.byteLength));
  return memory.publish(root.mem, start - root.start, byteLength, aliases);
}

/** Why there can be no buffer over a range; or the buffers on their way back to wait for. */
export function roomForBuffer(
  source: Described,
  range: ByteRange,
  cl: OpenCLContext,
): Refusal | readonly HostBuffer[] {
  return refuseBuffer(source, range, cl) ?? roomFor(range, cl, refuseBeside, source);
}

/** Why there can be none, apart from live buffers over these bytes. */
function refuseBuffer(source: Described, range: ByteRange, cl: OpenCLContext): Refusal | undefined {
  return refuseEnded(EDGE, cl) ?? refuseTooLarge(range, cl) ?? refuseMappedCoarse(EDGE, source, cl);
}

function refuseTooLarge({ byteLength }: ByteRange, { maxAllocation, name }: OpenCLContext): Refusal | undefined {
  if (byteLength <= maxAllocation) return undefined;
  const reason = `${byteLength} bytes are more than the ${maxAllocation} that ${name} takes in one buffer.`;
  return refused(EDGE, reason, "Map it in slices.");
}

/** Why a live object over some of the bytes excludes a buffer. */
function refuseBeside(live: HostBuffer, range: ByteRange, cl: OpenCLContext, source: Described): Refusal | undefined {
  const moved = !cl.proofs.judge(cl.memory.classOf(live.hostAddress, live.byteLength)).aliases;
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
