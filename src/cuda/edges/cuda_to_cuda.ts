import type { Address } from "../../../ffi/address.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import type { Target } from "../../core/graph/context.ts";
import { type Described, firstAddress, placed } from "../../core/tensors/described.ts";
import type { Reason, Refusal } from "../../core/errors.ts";
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
import type { CudaMemoryKind } from "../memory/block.ts";
import { virtualBlockOf } from "../memory/virtual/block.ts";
import { refuseReach } from "../reach.ts";
import type { CudaTensor } from "../tensor.ts";
import { copyOnDevice, type DeviceCopy } from "./copy.ts";

/**
 * Memory of one GPU for the kernels of another. With peer access (cudaDeviceCanAccessPeer), which the map enables, they use
 * its own address. Else, if copies are allowed, it is copied (cudaMemcpyPeerAsync), and copied back when the map ends.
 */
export const cudaToCuda: Mapper<CudaTensor | Frame<CudaTensor>, CudaTensor | Frame<CudaTensor>> = edgeFrom("cuda", {
  refuse: (allocation, owner) => owner.peers.refuse(allocation),
  whyFar(_allocation, owner, reader) {
    if (reader.peers.canReach(owner.device.ordinal)) return undefined;
    return `${named(reader)} has no peer access to ${named(owner)}`;
  },
  prepare: (owner, reader) => isSame(owner, reader) ? undefined : reader.peers.tryToMeasure(owner),
  evidence: peerEvidence,
  open(_allocation, owner, reader) {
    reader.peers.open(owner);
    return { memory: isSame(owner, reader) ? "device" : "peer" };
  },
});

/** Virtual memory, which has one address for all devices that it was made for, for the kernels of one of them. */
export const virtualToCuda: Mapper<CudaTensor | Frame<CudaTensor>, CudaTensor | Frame<CudaTensor>> = edgeFrom(
  "cuda.virtual",
  {
    whyFar(allocation, _owner, { device }) {
      const { reason, remedy = "" } = refuseReach("virtual", allocation, device) ?? {};
      return reason && `${reason} ${remedy}`.trimEnd();
    },
    evidence: (owner, reader) => isSame(owner, reader) ? SAME : "one address, by which the memory was mapped for both",
    open(allocation) {
      return { memory: "virtual", hostAddress: virtualBlockOf(allocation)!.hostAddress };
    },
  },
);

/** How kernels get memory of one kind. */
interface Reach {
  /** Why they can neither use the memory nor copy it. */
  refuse?(allocation: Allocation, owner: CudaContext): Reason | undefined;
  /** Why they do not reach it. */
  whyFar(allocation: Allocation, owner: CudaContext, reader: CudaContext): string | undefined;
  /** Measures memory that they reach. */
  prepare?(owner: CudaContext, reader: CudaContext): void;
  /** The evidence that they do. */
  evidence(owner: CudaContext, reader: CudaContext): string;
  /** Enables their access. */
  open(allocation: Allocation, owner: CudaContext, reader: CudaContext): Opened;
}

interface Opened {
  readonly memory: CudaMemoryKind;
  /** The host address that belongs to the handle. */
  readonly hostAddress?: Address | undefined;
}

type Given = CudaTensor | Frame<CudaTensor>;

const SAME = "the same device, and the same primary context";

function edgeFrom(from: string, reach: Reach): Mapper<Given, Given> {
  const edge = `${from}→cuda`;
  const refuse = ({ range }: Described, owner: CudaContext, reader: CudaContext): Refusal | undefined => {
    const disposed = refuseDisposed(edge, owner) ?? refuseDisposed(edge, reader);
    if (disposed !== undefined) return disposed;
    const refusal = reach.refuse?.(range.allocation, owner);
    return refusal === undefined ? undefined : refused(edge, refusal.reason, refusal.remedy);
  };
  return {
    from,
    to: "cuda",

    prepare(source: Described, target: Target): void {
      if (reach.prepare === undefined) return;
      const [owner, reader] = ends(source, target);
      if (refuse(source, owner, reader) !== undefined) return;
      if (reach.whyFar(source.range.allocation, owner, reader) === undefined) reach.prepare(owner, reader);
    },

    probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ProbedStep | Refusal {
      const [owner, reader] = ends(source, target);
      const refusal = refuse(source, owner, reader);
      if (refusal !== undefined) return refusal;
      const waitReason = reader.stream.line.whyHostWaits(waits);
      const why = reach.whyFar(source.range.allocation, owner, reader);
      if (why !== undefined) return probedCopy(edge, why, waitReason, source.withoutAddress(target, access));
      const verdict = { aliases: true, evidence: reach.evidence(owner, reader) };
      return probedStep(edge, verdict, waitReason, source.as(target, access));
    },

    map(source: Given, target: Target, job: MapJob): Given {
      const [owner, reader] = ends(source.described, target);
      const { allocation } = source.described.range;
      const planes = planesOf(source);
      const first = firstAddress(planes);
      const found = job.step.transfer === "alias"
        ? { handle: first, ...reach.open(allocation, owner, reader) }
        : copied(owner, reader, job, first, source);
      const { handle, memory, hostAddress, giveBack, done }: Found = found;
      const resource = resourceOf(reader.resource, job, giveBack);
      if (giveBack !== undefined || done !== undefined) resource.dependOn(reader.stream.resource); // the copies run on it
      resource.inherit(job.waits);
      if (done !== undefined) resource.inherit([done]);
      const hostHandle = hostAddress === undefined ? undefined : handle;
      const places = planes.map((plane) => ({ memory, hostHandle, ...placed(plane, handle, first) }));
      if (!(source instanceof Frame)) return reader.tensor(resource, places[0], source);
      return reader.frame(resource, source.info, places, { metadata: source.metadata, parent: source });
    },
  };
}

interface Found extends Opened, Partial<DeviceCopy> {
  readonly handle: Address;
}

function copied(owner: CudaContext, reader: CudaContext, job: MapJob, from: Address, source: Given): Found {
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

function isSame(owner: CudaContext, reader: CudaContext): boolean {
  return owner.device.ordinal === reader.device.ordinal;
}

function named({ name, device: { ordinal } }: CudaContext): string {
  return `${name} (device ${ordinal})`;
}

function peerEvidence(owner: CudaContext, reader: CudaContext): string {
  if (isSame(owner, reader)) return SAME;
  const measured = reader.peers.measured(owner);
  const speed = measured === undefined
    ? "its bandwidth was not measured"
    : `measured ${measured.peer.toFixed(0)} GB/s, own ${measured.own.toFixed(0)}`;
  return `peer access by one address; ${speed}`;
}
