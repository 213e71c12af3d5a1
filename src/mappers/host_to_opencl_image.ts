import { type Access, reads, writes } from "../core/access.ts";
import type { Target } from "../core/context.ts";
import { Described } from "../core/described.ts";
import { NoRouteError, type Refusal } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import { moved } from "../core/layout.ts";
import type { MapJob, Mapper, Plan } from "../core/mapper.ts";
import { Resource } from "../core/resource.ts";
import { describeRefusal } from "../core/route.ts";
import type { HostTensor } from "../host/tensor.ts";
import type { HostBuffer } from "../opencl/buffers/host_buffers.ts";
import type { OpenCLImage } from "../opencl/image.ts";
import type { ImageShape } from "../opencl/images/shape.ts";
import type { ImageTarget } from "../opencl/images/target.ts";
import { refuseMappedCoarse } from "./mapped_coarse.ts";
import { retained } from "./retained.ts";

const EDGE = "host→opencl.image";

/** A route is planned before the map that will tell the address. */
const UNKNOWN = { aliases: false, evidence: "not proven: the address is known only once it is mapped" };

/** What can be done with a source: an image over its memory, or an image of the driver's own that it is copied to. */
interface Way {
  readonly image: ImageShape;
  /** Why no image can be over its memory. */
  readonly copied?: string;
}

/**
 * Host memory as an OpenCL image (clCreateImage, CL_MEM_USE_HOST_PTR), with the tensor's own pitches. `alias` where the
 * device was proven to use memory in place as such an image, else `migrate`: then the driver moves the bytes. Where OpenCL
 * cannot have an image over this memory it is copied, if that is allowed: by clEnqueueWriteImage, and back, when it is
 * disposed, by clEnqueueReadImage.
 */
export const hostToOpenCLImage: Mapper<HostTensor, OpenCLImage> = {
  from: "host",
  to: "opencl.image",

  prepare(source: Described, target: Target): void {
    const { context: cl, format } = target as ImageTarget;
    if (cl.queue.resource.state !== "live") return;
    const way = wayFor(source, target as ImageTarget);
    const [{ address }] = source.planes;
    if ("reason" in way || way.copied !== undefined || address === undefined) return;
    cl.images.aliasing.tryToProve({ format, image: way.image, address });
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const { context: cl, format } = target as ImageTarget;
    const way = wayFor(source, target as ImageTarget);
    if ("reason" in way) return way;
    const [plane] = source.planes;
    const { address, allocation, start } = plane;
    const { image, copied } = way;
    const layout = moved(plane.layout, 0);
    const hostWait = waits.some((fence) => fence.context !== cl);
    const bytesMoved = layout.byteLength * (Number(reads(access)) + Number(writes(access)));
    if (copied !== undefined) {
      const result = new Described(target, access, [{ layout, allocation, start }]);
      return { edge: EDGE, transfer: "copy", hostWait, bytesMoved, evidence: copied, result };
    }
    const { aliases, evidence } = address === undefined
      ? UNKNOWN
      : cl.images.aliasing.judge({ format, image, address });
    const transfer = aliases ? "alias" : "migrate";
    const result = new Described(target, access, [{ ...plane, layout }]);
    return { edge: EDGE, transfer, hostWait, bytesMoved: aliases ? 0 : bytesMoved, evidence, result };
  },

  map(source: HostTensor, target: Target, job: MapJob): OpenCLImage {
    const to = target as ImageTarget;
    const waits = retained(job, source);
    // Asked again: a hop of the same route may have come between.
    const way = wayFor(source.described, to);
    if ("reason" in way) throw noRoute(source, to, way);
    const take = way.copied === undefined ? mapInPlace : mapCopy;
    return take(source, to, way.image, job, waits);
  },
};

function mapInPlace(
  source: HostTensor,
  target: ImageTarget,
  image: ImageShape,
  job: MapJob,
  waits: Fence[],
): OpenCLImage {
  const { context: cl, format } = target;
  const { address } = source;
  const layout = moved(source.layout, 0);
  const [{ access }] = job.grants;
  const root = cl.memory.hostBuffers.acquire(source.described.range, job.undo, {
    what: whatOf(target, image),
    create: (at, undo) => cl.images.createOver(target, image, at, undo),
  });
  const { aliases } = cl.images.aliasing.judge({ format, image, address });
  const resource = overMemory(target, image, job, source.resource, writes(access) ? { root, aliases } : undefined);
  if (writes(access)) cl.memory.hostBuffers.write(root, resource);
  for (const fence of waits.splice(0)) resource.record(fence);
  return cl.images.tensor({ target, resource, handle: root.mem, layout, image, root, parent: source });
}

/** Apart from `map`, so that nothing the resource keeps reaches the source. */
function overMemory(
  { context: cl }: ImageTarget,
  image: ImageShape,
  { name, undo, grants }: MapJob,
  parent: Resource,
  written: { readonly root: HostBuffer; readonly aliases: boolean } | undefined,
): Resource {
  const init = { name, undo, grants, owners: [parent, cl.queue.resource] };
  if (written === undefined) return new Resource(init);
  return new Resource({ ...init, giveBack: cl.images.publish(written.root.mem, image, written.aliases) });
}

function mapCopy(
  source: HostTensor,
  target: ImageTarget,
  image: ImageShape,
  job: MapJob,
  waits: Fence[],
): OpenCLImage {
  const { context: cl } = target;
  const layout = moved(source.layout, 0);
  const [{ access }] = job.grants;
  const root = cl.images.createOwn(target, image, job.undo);
  const copy = cl.images.copy(root.mem, image, source.address, layout.byteLength);
  const written = reads(access) ? copy.write(job.waits) : undefined;
  const resource = new Resource({
    name: job.name,
    undo: job.undo,
    grants: job.grants,
    owners: [source.resource, cl.queue.resource],
    ...(writes(access) ? { giveBack: { context: cl, submit: copy.read } } : {}),
  });
  for (const fence of waits.splice(0)) resource.record(fence);
  if (written !== undefined) resource.record(written);
  return cl.images.tensor({ target, resource, handle: root.mem, layout, image, root, parent: source });
}

function wayFor(source: Described, target: ImageTarget): Way | Refusal {
  const { context: cl } = target;
  if (cl.queue.resource.state !== "live") return refusal(`${cl.name}, or its queue, was disposed.`);
  if (source.info !== undefined) {
    return refusal("an image is one plane.", "Map the planes of the frame one by one: graph.map(frame.planes[0], …).");
  }
  const [{ layout, address, allocation }] = source.planes;
  const fit = target.fit(layout);
  if ("problem" in fit) return refusal(`${fit.argument}: ${fit.problem}`, fit.remedy);
  if (fit.type === "1D buffer") {
    return refusal('type: a "1D buffer" image is made over an OpenCL buffer, not over host memory.');
  }
  const copied = target.hostProblem(fit, { address, byteLength: layout.byteLength, block: allocation.block })?.problem;
  const closed = () => refuseMappedCoarse(EDGE, source, cl) ?? sharing(source, target, fit);
  return (copied === undefined ? closed() : undefined) ??
    { image: fit, ...(copied === undefined ? {} : { copied }) };
}

/** Two objects over the same bytes are undefined in OpenCL. */
function sharing(source: Described, target: ImageTarget, image: ImageShape): Refusal | undefined {
  const { range } = source;
  const { memory: { hostBuffers }, images, name } = target.context;
  const live = hostBuffers.find(range);
  if (live === undefined) return undefined;
  if (!hostBuffers.shares(live, range, whatOf(target, image))) {
    return refusal(
      `${name} has ${live.what} over ${live.byteLength} bytes at 0x${live.hostAddress.toString(16)}, which are among ` +
        `these: two objects over the same bytes are undefined in OpenCL.`,
      "Dispose that map first.",
    );
  }
  const { address } = range;
  if (live.hostWriters === 0 || images.aliasing.judge({ format: target.format, image, address }).aliases) {
    return undefined;
  }
  return refusal(
    `${name} has a copy of its own of these bytes, which a map of it to the host may be changing.`,
    "Dispose the host's map first.",
  );
}

/** Maps of the same bytes share an image only where it is the same in all. */
function whatOf({ format }: ImageTarget, { type, extent, pitch }: ImageShape): string {
  return `a ${type} image (${format.name}, ${extent.join(" × ")} pixels, pitches ${pitch.row} and ${pitch.slice})`;
}

function refusal(reason: string, remedy?: string): Refusal {
  return { edge: EDGE, reason, ...(remedy === undefined ? {} : { remedy }) };
}

function noRoute(source: { readonly name: string }, target: ImageTarget, refused: Refusal): NoRouteError {
  const why = `No route from ${source.name} to ${target.context.name}: ${describeRefusal(refused)}`;
  return new NoRouteError(why, [refused], { api: "core", argument: "target" });
}
