import { type Access, reads, writes } from "../../../src/core/memory/access.ts";
import type { Target } from "../../../src/core/graph/context.ts";
import type { Refusal } from "../../../src/core/errors.ts";
import type { Fence } from "../../../src/core/life/fence.ts";
import { Frame } from "../../../src/core/tensors/frame.ts";
import type { Grant } from "../../../src/core/memory/grant.ts";
import type { Layout } from "../../../src/core/layout/layout.ts";
import { moved } from "../../../src/core/layout/layout.ts";
import type { Mapped } from "../../../src/core/tensors/mapped.ts";
import { Described } from "../../../src/core/tensors/described.ts";
import { hasGaps } from "../../../src/mappers/shared/gaps.ts";
import { edgeOf, type MapJob, type Mapper, type Plan } from "../../../src/core/graph/mapper.ts";
import { Resource } from "../../../src/core/life/resource.ts";
import type { Transfer } from "../../../src/core/graph/route.ts";
import { host, type HostTensor } from "../../../src/host/mod.ts";
import type { Address } from "../../../ffi/address.ts";
import type { FakeContext, FakeTarget } from "./context.ts";
import { bytesAt } from "../bytes.ts";
import { fakeAddress, fakeBytes } from "./driver.ts";
import { FakeFence } from "./fence.ts";
import { fakeFrame, FakeTensor } from "./tensor.ts";

type Plane = HostTensor | FakeTensor;

/** The bytes of one grant of the source, and the memory that shows them, or stands for them. */
interface Region {
  readonly grant: Grant;
  readonly source: Uint8Array;
  readonly own: Uint8Array;
  readonly handle: bigint;
}

/** An edge of the fake, between two of its kinds or the host and one of them. */
export class FakeMapper implements Mapper {
  readonly from: string;
  readonly to: string;
  readonly #transfer: Transfer;
  /** What it says that it does with the bytes. */
  readonly label: Transfer;

  /** `label` is what it says of itself. */
  constructor(from: string, to: string, transfer: Transfer, label: Transfer = transfer) {
    this.from = from;
    this.to = to;
    this.#transfer = transfer;
    this.label = label;
  }

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const base = Math.min(...source.planes.map((plane) => plane.layout.byteOffset));
    const bytes = source.planes.reduce((sum, plane) => sum + plane.layout.byteLength, 0);
    return {
      edge: edgeOf(this),
      transfer: this.label,
      hostWait: waits.length > 0 && (target === host || !waits.every((fence) => fence instanceof FakeFence)),
      bytesMoved: this.label === "alias" ? 0 : bytes * (Number(reads(access)) + Number(writes(access))),
      result: new Described(
        target,
        access,
        source.planes.map(({ layout, allocation, start }) => (
          { allocation, start, layout: moved(layout, layout.byteOffset - base) }
        )),
        source.info,
      ),
    };
  }

  map(source: Mapped, target: Target, job: MapJob): Mapped {
    const context = (target === host ? source.target.context : target.context) as FakeContext;
    const planes = planesOf(source);
    const regions = job.grants.map((grant) => this.#region(grant, planes, context, job));
    const { access } = job.grants[0];
    const work = this.#bring(regions, reads(access) || hasGaps(source), context, job);
    const resource = new Resource({
      name: job.name,
      undo: job.undo,
      grants: job.grants,
      owners: [source.resource, context.resource],
      ...(this.#transfer !== "alias" && writes(access)
        ? { giveBack: { context, submit: (work) => sendBack(regions, context, work) } }
        : {}),
    });
    if (work !== undefined) resource.record(work);
    return target === host
      ? hostResult(source, resource, planes, regions)
      : fakeResult(source, target as FakeTarget, resource, planes, regions);
  }

  #region(grant: Grant, planes: readonly Plane[], context: FakeContext, job: MapJob): Region {
    const first = planes.find((plane) => holds(grant, plane))!;
    const address = first.address - BigInt(first.grant.start - grant.start);
    const byteLength = grant.end - grant.start;
    const handle = context.counted(byteLength, this.#transfer === "alias" ? address : undefined, job.undo);
    return { grant, source: bytesAt(address, byteLength), own: fakeBytes(handle), handle };
  }

  /** What has to happen before the result can be used: the source's work, and the copy where this edge makes one. */
  #bring(regions: readonly Region[], fetches: boolean, context: FakeContext, job: MapJob): FakeFence | undefined {
    const copies = this.#transfer !== "alias" && fetches;
    if (!copies && job.waits.length === 0) return undefined;
    const bring = () => regions.forEach(({ source, own }) => own.set(source));
    const fence = context.submit(copies ? bring : () => {}, regions.map(({ handle }) => handle), job.waits);
    if (this.to !== "host") return fence;
    job.undo.push(() => waitAndDispose(fence));
    fence.waitSync();
    return undefined;
  }
}

function sendBack(regions: readonly Region[], context: FakeContext, work: readonly Fence[]): Fence {
  const send = () => regions.forEach(({ source, own }) => source.set(own));
  return context.submit(send, regions.map(({ handle }) => handle), work);
}

function waitAndDispose(fence: FakeFence): void {
  try {
    fence.waitSync();
  } finally {
    fence[Symbol.dispose]();
  }
}

function planesOf(source: Mapped): readonly Plane[] {
  return source instanceof Frame ? source.planes as readonly Plane[] : [source as Plane];
}

function holds(grant: Grant, { grant: own }: Plane): boolean {
  return own.allocation === grant.allocation && own.start >= grant.start && own.end <= grant.end;
}

/** Where a plane lies in the memory of its region. */
function placed(plane: Plane, regions: readonly Region[]): Region & { readonly layout: Layout } {
  const region = regions.find((r) => holds(r.grant, plane))!;
  return { ...region, layout: moved(plane.layout, plane.grant.start - region.grant.start) };
}

function fakeResult(
  source: Mapped,
  target: FakeTarget,
  resource: Resource,
  planes: readonly Plane[],
  regions: readonly Region[],
): Mapped {
  const places = planes.map((plane) => placed(plane, regions));
  if (!(source instanceof Frame)) return new FakeTensor({ target, ...places[0], resource, parent: source });
  return fakeFrame(target, resource, source.info, places, { metadata: source.metadata, parent: source });
}

function hostResult(
  source: Mapped,
  resource: Resource,
  planes: readonly Plane[],
  regions: readonly Region[],
): Mapped {
  const places = planes.map((plane) => {
    const { handle, layout } = placed(plane, regions);
    return { handle: fakeAddress(handle) as Address, layout };
  });
  if (!(source instanceof Frame)) return host.tensor(resource, places[0].handle, places[0].layout, source);
  return host.frame(resource, source.info, places, { metadata: source.metadata, parent: source });
}

/** Every edge of the fake. */
export const FAKE_MAPPERS: readonly FakeMapper[] = [
  new FakeMapper("host", "fake.alias", "alias"),
  new FakeMapper("fake.alias", "host", "alias"),
  new FakeMapper("host", "fake.migrate", "migrate"),
  new FakeMapper("fake.migrate", "host", "migrate"),
  new FakeMapper("host", "fake.copy", "copy"),
  new FakeMapper("fake.copy", "host", "copy"),
  new FakeMapper("fake.alias", "fake.alias", "alias"),
  new FakeMapper("fake.alias", "fake.migrate", "migrate"),
  new FakeMapper("fake.migrate", "fake.copy", "copy"),
];

/** An edge that copies, and says that it aliases. */
export const PRETENDERS: readonly FakeMapper[] = [
  new FakeMapper("host", "fake.pretend", "copy", "alias"),
  new FakeMapper("fake.pretend", "host", "copy", "alias"),
];
