import type { Access } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import { Described } from "../core/tensors/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/device/fence.ts";
import type { Verdict } from "../core/device/proofs.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import { moved } from "../core/layout/layout.ts";
import type { MapJob, Mapper, Plan } from "../core/graph/mapper.ts";
import { planned } from "../core/graph/plan.ts";
import type { OpenCLContext } from "../opencl/context.ts";
import type { OpenCLTensor } from "../opencl/tensor.ts";
import type { DeviceContext } from "../opencv/execution.ts";
import type { OpenCVUMat } from "../opencv/umat.ts";
import type { UMatTarget } from "../opencv/umats/target.ts";
import { resourceOf } from "./shared/job.ts";
import { planesFromZero } from "./shared/planes.ts";
import { refused, refuseEnded, refuseFrame, refuseUnfit } from "./shared/refusals.ts";

const EDGE = "opencl→opencv.umat";

/** The verdict on a buffer that the other API is told of by its handle. */
export const SAME_CL_MEM: Verdict = { aliases: true, evidence: "the same cl_mem: no memory object is made" };

/** The verdict on a buffer that begins before the tensor's own, over memory that was proven to be used in place. */
const SAME_BYTES: Verdict = {
  aliases: true,
  evidence: "a cl_mem over the same bytes that begins where OpenCV's kernels want it, proven by aliasing both ways",
};

/** The longest vector of OpenCL C: OpenCV's kernels load no more elements at a time. */
const LANES = 16;

/** How many places for the beginning of a buffer are tried: more than a pixel of OpenCV's has channels. */
const MOST_TRIES = 512;

/**
 * An OpenCL buffer as a `cv::UMat` over the same `cl_mem`. OpenCV is told of the buffer's own `cl_context`, once; its
 * queue in that waits for our work by events, and ours for its.
 *
 * OpenCV's kernels load vectors where offset and step are multiples of their size: they take it for granted that the
 * buffer itself begins at one. A buffer over host memory begins wherever the map did that made it. Where that is no such
 * multiple, OpenCV gets a `cl_mem` of its own, which begins at one below, in the same allocation; the UMat's offset leads
 * to the tensor. What is lent is the tensor's bytes, as ever. It is done only where the device uses that memory in place: then
 * nobody moves the bytes in between, and both handles are the same memory.
 */
export const openCLToOpenCVUMat: Mapper<OpenCLTensor, OpenCVUMat> = {
  from: "opencl",
  to: "opencv.umat",

  prepare(source: Described, target: Target): void {
    const to = target as UMatTarget;
    const cl = source.target.context as OpenCLContext;
    if (cl.queue.resource.state !== "live") return;
    to.context.tryExecution(cl.rawHandle, () => deviceContext(cl));
    if (source.info !== undefined) return;
    const place = placeFor(source, to);
    if ("reason" in place || !place.lowered) return;
    for (const { address, byteLength } of inPlaceFor(source, place.offset)) {
      const which = cl.memory.classOf(address, byteLength);
      cl.proofs.tryToProve(which);
      if (!cl.proofs.judge(which).aliases) return; // a "no" takes a second
    }
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cl = source.target.context as OpenCLContext;
    const closed = refuseFrame(EDGE, source, "a UMat");
    if (closed !== undefined) return closed;
    const place = acceptedPlace(source, target as UMatTarget);
    if ("reason" in place) return place;
    const result = new Described(target, access, planesFromZero(source), undefined, cl.rawHandle);
    const verdict = place.lowered ? SAME_BYTES : SAME_CL_MEM;
    return planned(EDGE, verdict, !cl.queue.line.canWaitForAll(waits), result);
  },

  map(source: OpenCLTensor, target: Target, job: MapJob): OpenCVUMat {
    const to = target as UMatTarget;
    const cl = source.context;
    const place = placeFor(source.described, to) as Place; // the probe was not refused
    const { offset } = place;
    const { described: { range: { address } }, layout: { byteLength } } = source;
    const mem = place.lowered
      ? cl.memory.hostBuffers.another(address! - BigInt(offset), offset + byteLength, job.undo)
      : wantsRoot(cl)
      ? source.root.mem
      : source.rawHandle;
    const execution = to.context.executionIn(cl.rawHandle)!;
    const layout = moved(source.layout, 0);
    const buffer = { mem, offset, clContext: cl.rawHandle, execution };
    const over = to.over({ at: layout, buffer, name: job.name }, job.grants, job.undo);
    const resource = resourceOf(execution.resource, job, source.resource);
    resource.inherit(job.waits);
    return to.tensor(resource, layout, { ...over, buffer, address }, source);
  },
};

/**
 * PoCL 3.1 ends the process where rectangles are copied from or to a sub-buffer (clEnqueueCopyBufferRect), as OpenCV copies
 * padded rows: it gets the whole buffer there, and an offset.
 */
function wantsRoot({ device }: OpenCLContext): boolean {
  return device.platform === "Portable Computing Language";
}

/** Where the tensor begins in the `cl_mem` that OpenCV is to have. */
interface Place {
  /** In bytes. */
  readonly offset: number;
  /** Is it a `cl_mem` that begins lower than the tensor's own? */
  readonly lowered: boolean;
}

/** Where it will begin, or why a UMat cannot be there. */
function placeFor(source: Described, target: UMatTarget): Place | Refusal {
  const cl = source.target.context as OpenCLContext;
  const [{ layout, address, start, allocation: { block } }] = source.planes;
  const align = LANES * sizeOf(layout.dtype);
  if (address === undefined || (address - BigInt(layout.byteOffset)) % BigInt(align) === 0n) {
    const offset = offsetIn(source);
    return refuseUnfit(EDGE, target.fit(layout, offset)) ?? { offset, lowered: false };
  }
  const room = block.address !== undefined && block.address + BigInt(start) === address ? start : 0;
  const step = Math.max(cl.subBufferAlign, align);
  const first = Number(address % BigInt(step));
  for (let offset = first; offset <= room && offset < MOST_TRIES * step; offset += step) {
    const fit = target.fit(layout, offset);
    if (!("problem" in fit)) return { offset, lowered: true };
    if (fit.argument !== "byteOffset") return refuseUnfit(EDGE, fit)!;
  }
  return refuseMisaligned(
    address,
    align,
    "there is no multiple before it in the same memory with whole pixels in between.",
  );
}

/** Where a tensor begins in the buffer that is its own. */
function offsetIn({ target, range, planes: [{ layout }] }: Described): number {
  const cl = target.context as OpenCLContext;
  const root = wantsRoot(cl) ? cl.memory.bufferOf(range) : undefined;
  return root === undefined ? layout.byteOffset : range.start - cl.memory.startOf(root);
}

/** The same, where the device was shown to use the memory in place. */
function acceptedPlace(source: Described, target: UMatTarget): Place | Refusal {
  const cl = source.target.context as OpenCLContext;
  const place = refuseEnded(EDGE, cl) ?? placeFor(source, target);
  if ("reason" in place) return place;
  const inPlace = !place.lowered ||
    inPlaceFor(source, place.offset).every(({ address, byteLength }) =>
      cl.proofs.judge(cl.memory.classOf(address, byteLength)).aliases
    );
  if (inPlace) return refuse(source, target) ?? place;
  const [{ layout, address }] = source.planes;
  const why = `${cl.name} was not shown to use this memory in place.`;
  return refuseMisaligned(address!, LANES * sizeOf(layout.dtype), why);
}

/** What the device has to use in place where a `cl_mem` begins lower: the buffer that there is, or will be, and that. */
function inPlaceFor({ target, range }: Described, offset: number): { address: bigint; byteLength: number }[] {
  const root = (target.context as OpenCLContext).memory.hostBuffers.find(range);
  const address = range.address!;
  return [
    root === undefined
      ? { address, byteLength: range.byteLength }
      : { address: root.hostAddress, byteLength: root.byteLength },
    { address: address - BigInt(offset), byteLength: offset + range.byteLength },
  ];
}

function refuseMisaligned(address: bigint, align: number, why: string): Refusal {
  const reason = `OpenCV's kernels load vectors, and want them at multiples of ${align} bytes. This ` +
    `buffer begins at no such multiple (the first byte lies at 0x${
      address.toString(16)
    }), and cannot begin lower: ${why}`;
  const remedy =
    `Map memory that begins at a multiple of ${align} bytes, as host.allocate() gives, and slice the UMat; or ` +
    "use a Mat.";
  return refused(EDGE, reason, remedy);
}

function refuse(source: Described, target: UMatTarget): Refusal | undefined {
  const cl = source.target.context as OpenCLContext;
  const limits = cl.memory.bufferOf(source.range)?.limits;
  if (limits !== undefined) {
    return refused(
      EDGE,
      `the buffer was made with ${limits.flags}, and OpenCV maps a UMat for the host, for reading and writing, wherever it ` +
        "has no kernel of its own.",
      "Make it without that flag.",
    );
  }
  const problem = target.context.executionProblem(cl.rawHandle);
  return problem === undefined ? undefined : { edge: EDGE, ...problem };
}

/** What OpenCV has to know of a context of OpenCL's. */
function deviceContext(cl: OpenCLContext): DeviceContext {
  return {
    name: cl.name,
    resource: cl.resource,
    handle: cl.rawHandle,
    device: cl.device.handle,
    platform: cl.device.platformHandle,
    platformName: cl.device.platform,
    share: (undo) => cl.share(undo),
    keep: (mem) => cl.memory.keep(mem),
    attach: (queue) => cl.attachQueue(queue),
  };
}
