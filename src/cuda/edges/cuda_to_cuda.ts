import type { Address } from "../../../ffi/address.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import { type Described, firstAddress, placed } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import { Frame, planesOf } from "../../core/tensors/frame.ts";
import {
  type MapJob,
  type Mapper,
  probedCopy,
  type ProbedStep,
  probedStep,
  refused,
  refuseDisposed,
  resourceOf,
} from "../../core/graph/mapper.ts";
import type { CudaContext } from "../context.ts";
import type { CudaTensor } from "../tensor.ts";
import { copyOnDevice, type DeviceCopy } from "./copy.ts";

const EDGE = "cuda→cuda";

/**
 * Memory of one GPU for the kernels of another. With peer access (cudaDeviceCanAccessPeer) they use its own address;
 * access is enabled first. Else, if copies are allowed, it is copied (cudaMemcpyPeerAsync), and back when the map ends.
 */
export const cudaToCuda: Mapper<CudaTensor | Frame<CudaTensor>, CudaTensor | Frame<CudaTensor>> = {
  from: "cuda",
  to: "cuda",

  prepare(source: Described, target: Target): void {
    const [owner, reader] = ends(source, target);
    if (refuse(source, owner, reader) !== undefined || isSame(owner, reader)) return;
    if (isNear(owner, reader)) reader.peers.tryToMeasure(owner);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ProbedStep | Refusal {
    const [owner, reader] = ends(source, target);
    const refusal = refuse(source, owner, reader);
    if (refusal !== undefined) return refusal;
    const waitReason = reader.stream.line.whyHostWaits(waits);
    if (isNear(owner, reader)) {
      return probedStep(
        EDGE,
        { aliases: true, evidence: evidenceOf(owner, reader) },
        waitReason,
        source.as(target, access),
      );
    }
    const why = `${reader.name} (device ${reader.device.ordinal}) has no peer access to ${owner.name} (device ` +
      `${owner.device.ordinal})`;
    return probedCopy(EDGE, why, waitReason, source.withoutAddress(target, access));
  },

  map(source: CudaTensor | Frame<CudaTensor>, target: Target, job: MapJob): CudaTensor | Frame<CudaTensor> {
    const [owner, reader] = ends(source.described, target);
    const planes = planesOf(source);
    const first = firstAddress(planes);
    const found = isNear(owner, reader) ? reached(owner, reader, first) : copied(owner, reader, job, first, source);
    const { handle, memory, giveBack, done } = found;
    const resource = resourceOf(reader.resource, job, giveBack);
    if (giveBack !== undefined || done !== undefined) resource.dependOn(reader.stream.resource); // the copies run on it
    resource.inherit(job.waits);
    if (done !== undefined) resource.inherit([done]);
    const places = planes.map((plane) => ({ memory, hostHandle: undefined, ...placed(plane, handle, first) }));
    if (!(source instanceof Frame)) return reader.tensor(resource, places[0], source);
    return reader.frame(resource, source.info, places, { metadata: source.metadata, parent: source });
  },
};

interface Found extends Partial<DeviceCopy> {
  readonly handle: Address;
  readonly memory: CudaTensor["memory"];
}

function reached(owner: CudaContext, reader: CudaContext, handle: Address): Found {
  reader.peers.open(owner);
  return { handle, memory: isSame(owner, reader) ? "device" : "peer" };
}

function copied(
  owner: CudaContext,
  reader: CudaContext,
  job: MapJob,
  from: Address,
  source: CudaTensor | Frame<CudaTensor>,
): Found {
  const { byteLength } = source.described.range;
  const { peers } = reader;
  const there = { to: reader.device.ordinal, from: owner.device.ordinal };
  const back = { to: there.from, from: there.to };
  const copy = copyOnDevice(reader, job, byteLength, {
    gaps: source.described.hasGaps,
    there: (to) => peers.copy(to, from, byteLength, there),
    back: (copied) => peers.copy(from, copied, byteLength, back),
  });
  return { ...copy, memory: "device" };
}

function ends(source: Described, target: Target): [owner: CudaContext, reader: CudaContext] {
  return [source.target.context as CudaContext, target.context as CudaContext];
}

function isNear(owner: CudaContext, reader: CudaContext): boolean {
  return reader.peers.canReach(owner.device.ordinal);
}

function isSame(owner: CudaContext, reader: CudaContext): boolean {
  return owner.device.ordinal === reader.device.ordinal;
}

function evidenceOf(owner: CudaContext, reader: CudaContext): string {
  if (isSame(owner, reader)) return "the same device, and the same primary context";
  const measured = reader.peers.measured(owner);
  const speed = measured === undefined
    ? "its bandwidth was not measured"
    : `measured ${measured.peer.toFixed(0)} GB/s, own ${measured.own.toFixed(0)}`;
  return `peer access by one address; ${speed}`;
}

function refuse(source: Described, owner: CudaContext, reader: CudaContext): Refusal | undefined {
  const disposed = refuseDisposed(EDGE, owner) ?? refuseDisposed(EDGE, reader);
  if (disposed !== undefined) return disposed;
  const refusal = owner.peers.refuse(source.range.allocation);
  return refusal === undefined ? undefined : refused(EDGE, refusal.reason, refusal.remedy);
}
