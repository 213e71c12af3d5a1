import { type Access, reads, writes } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import { type ByteRange, Described, laidOut } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import { moved } from "../../core/layout/layout.ts";
import {
  type MapJob,
  type Mapper,
  probedCopy,
  type ProbedStep,
  probedStep,
  refused,
  refuseEnded,
  refuseUnfit,
  resourceOf,
  UNMAPPED,
} from "../../core/graph/mapper.ts";
import { noRoute } from "../../core/graph/route.ts";
import type { HostTensor } from "../../host/tensor.ts";
import type { HostBuffer } from "../buffers/host_buffers.ts";
import type { OpenCLContext } from "../context.ts";
import type { OpenCLImage } from "../image.ts";
import type { ImageShape } from "../images/shape.ts";
import type { ImageTarget } from "../image.ts";
import { makeRoom, refuseBehindHost, refuseMappedCoarse, ROOM_WAITS, roomFor } from "./host_to_opencl.ts";

const EDGE = "host→opencl.image";

interface ImageStep extends ProbedStep {
  readonly choice: Choice;
}

/** How a source becomes an image: over its memory, or, if `copied` says why, by a copy to one of the driver's. */
interface Choice {
  readonly image: ImageShape;
  readonly copied?: string;
  readonly waitReason: string | undefined;
}

/**
 * Host memory as an OpenCL image (clCreateImage, CL_MEM_USE_HOST_PTR), with the tensor's own pitches. `alias` if the
 * device provably uses memory in place as such an image; else `migrate`: the driver moves the bytes. If OpenCL cannot
 * have an image over this memory, it is copied, if copies are allowed: by clEnqueueWriteImage, and back by
 * clEnqueueReadImage when the map ends.
 */
export const hostToOpenCLImage: Mapper<HostTensor, OpenCLImage> = {
  from: "host",
  to: "opencl.image",

  prepare(source: Described, target: Target): void {
    const { context: cl, format } = target as ImageTarget;
    if (cl.queue.resource.state !== "live") return;
    const choice = choiceFor(source, target as ImageTarget, "read");
    const [{ address }] = source.planes;
    if ("reason" in choice || choice.copied !== undefined || address === undefined) return;
    cl.proofs.tryToProve(cl.images.classOf({ format, image: choice.image, address }));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ImageStep | Refusal {
    const { context: cl, format } = target as ImageTarget;
    const choice = choiceFor(source, target as ImageTarget, access);
    if ("reason" in choice) return choice;
    const [plane] = source.planes;
    const { address, allocation, start } = plane;
    const { image, copied } = choice;
    const layout = moved(plane.layout, 0);
    if (copied !== undefined) {
      const waitReason = cl.queue.line.whyHostWaits(waits);
      const result = new Described(target, access, [{ layout, allocation, start }]);
      return { ...probedCopy(EDGE, copied, waitReason, result), choice };
    }
    const verdict = address === undefined ? UNMAPPED : cl.proofs.judge(cl.images.classOf({ format, image, address }));
    const waitReason = choice.waitReason ?? cl.queue.line.whyHostWaits(waits);
    const result = new Described(target, access, [laidOut(plane, layout)]);
    return { ...probedStep(EDGE, verdict, waitReason, result), choice };
  },

  map(source: HostTensor, target: Target, job: MapJob<ImageStep>): OpenCLImage {
    const { image, copied } = job.step.choice;
    const take = copied === undefined ? mapInPlace : mapCopy;
    return take(source, target as ImageTarget, image, job);
  },
};

function mapInPlace(source: HostTensor, target: ImageTarget, image: ImageShape, job: MapJob): OpenCLImage {
  const { context: cl, format } = target;
  const { address } = source;
  const layout = moved(source.layout, 0);
  const [{ access }] = job.grants;
  const { range } = source.described;
  const there = makeRoom(range, cl, refuseBeside, { target, image, access });
  const refusal = there !== undefined && "reason" in there ? there : refuseEnded(EDGE, cl);
  if (refusal !== undefined) throw noRoute(source.name, cl.name, [refusal]);
  const share = cl.memory.hostBuffers.acquire(range, there as HostBuffer | undefined, job.undo, {
    what: whatOf(target, image),
    create: (at, undo) => cl.images.createOver(target, image, at, undo),
  });
  const root = share.buffer;
  const { aliases } = cl.proofs.judge(cl.images.classOf({ format, image, address }));
  const giveBack = writes(access) ? cl.images.publish(root.mem, image, aliases) : undefined;
  const resource = resourceOf(cl.queue.resource, job, giveBack);
  share.holder = resource;
  if (writes(access)) cl.memory.hostBuffers.write(root, resource);
  resource.inherit(job.waits);
  return cl.images.tensor({ target, resource, handle: root.mem, layout, image, root, parent: source });
}

function mapCopy(source: HostTensor, target: ImageTarget, image: ImageShape, job: MapJob): OpenCLImage {
  const { context: cl } = target;
  const layout = moved(source.layout, 0);
  const [{ access }] = job.grants;
  const root = cl.images.createOwn(target, image, job.undo);
  const copy = cl.images.copy(root.mem, image, source.address, layout.byteLength);
  const { line } = cl.queue;
  const written = reads(access) ? line.submitRaw(copy.write(), job.waits) : undefined;
  const giveBack = writes(access) ? { line, once: true, step: () => copy.read() } : undefined;
  const resource = resourceOf(cl.queue.resource, job, giveBack);
  resource.inherit(job.waits);
  if (written !== undefined) resource.inherit([written]);
  return cl.images.tensor({ target, resource, handle: root.mem, layout, image, root, parent: source });
}

function choiceFor(source: Described, target: ImageTarget, access: Access): Choice | Refusal {
  const { context: cl } = target;
  const closed = refuseEnded(EDGE, cl);
  if (closed !== undefined) return closed;
  const [{ layout, address, allocation }] = source.planes;
  const fit = target.fit(layout);
  if ("problem" in fit) return refuseUnfit(EDGE, fit)!;
  if (fit.type === "1D buffer") {
    return refused(EDGE, 'type: a "1D buffer" image is made over an OpenCL buffer, not over host memory.');
  }
  const copied = target.hostProblem(fit, { address, byteLength: layout.byteLength, block: allocation.block })?.problem;
  if (copied !== undefined) return { image: fit, copied, waitReason: undefined };
  const coarse = refuseMappedCoarse(EDGE, source, cl);
  if (coarse !== undefined) return coarse;
  const room = roomFor(source.range, cl, refuseBeside, { target, image: fit, access });
  return "reason" in room ? room : { image: fit, waitReason: room.length > 0 ? ROOM_WAITS : undefined };
}

/** Two objects over the same bytes are undefined in OpenCL. */
function refuseBeside(
  live: HostBuffer,
  range: ByteRange,
  cl: OpenCLContext,
  { target, image, access }: { readonly target: ImageTarget; readonly image: ImageShape; readonly access: Access },
): Refusal | undefined {
  const { format } = target;
  const { memory: { hostBuffers }, images, name } = cl;
  if (!hostBuffers.shares(live, range, whatOf(target, image))) {
    return refused(
      EDGE,
      `${name} has ${live.what} over ${live.byteLength} bytes at 0x${live.hostAddress.toString(16)}, which are among ` +
        `these: two objects over the same bytes are undefined in OpenCL.`,
      "Dispose that map first.",
    );
  }
  const { address } = range;
  if (cl.proofs.judge(images.classOf({ format, image, address })).aliases) return undefined;
  if (live.hostWriters > 0) return refuseBehindHost(EDGE, cl);
  if (!writes(access) || !hostBuffers.isReturning(live)) return undefined;
  // Its way back maps it. What writes a mapped image is undefined in OpenCL, and rusticl loses it.
  return refused(EDGE, `${live.what} is mapped for the host until its bytes are back.`);
}

/** The description of an image: maps of the same bytes share it if theirs are equal. */
function whatOf({ format }: ImageTarget, { type, extent, pitch }: ImageShape): string {
  return `a ${type} image (${format.name}, ${extent.join(" × ")} pixels, pitches ${pitch.row} and ${pitch.slice})`;
}
