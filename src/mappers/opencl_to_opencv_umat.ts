import type { Access } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import { Described } from "../core/tensors/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/life/fence.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import { moved } from "../core/layout/layout.ts";
import type { MapJob, Mapper, Plan } from "../core/graph/mapper.ts";
import { planned } from "../core/graph/plan.ts";
import { noRoute } from "../core/graph/route.ts";
import type { OpenCLContext } from "../opencl/context.ts";
import type { HostBuffer } from "../opencl/buffers/host_buffers.ts";
import type { OpenCLTensor } from "../opencl/tensor.ts";
import type { DeviceContext } from "../opencv/execution.ts";
import type { OpenCVUMat } from "../opencv/umat.ts";
import type { UMatTarget } from "../opencv/umats/target.ts";
import { resourceOf, retained } from "./shared/job.ts";
import { planesFromZero } from "./shared/planes.ts";
import { refused, refuseEnded, refuseFrame, refuseUnfit } from "./shared/refusals.ts";
import { SAME_BYTES, SAME_CL_MEM } from "./shared/verdicts.ts";

const EDGE = "opencl→opencv.umat";

/** The longest vector of OpenCL C: OpenCV's kernels load no more elements at a time. */
const LANES = 16;

/** How many places for the beginning of a buffer are tried: more than a pixel of OpenCV's has channels. */
const MOST_TRIES = 512;

/**
 * An OpenCL buffer as a `cv::UMat` over the same `cl_mem`. OpenCV is told of the buffer's own `cl_context`, once; its
 * queue in that waits for our work by events, and ours for its.
 *
 * OpenCV's kernels load vectors where offset and step are multiples of their size: they take it for granted that the
 * buffer itself begins at one. A buffer over host memory begins wherever the tensor does. Where that is no such multiple,
 * OpenCV gets a `cl_mem` of its own, which begins at one below, in the same allocation; the UMat's offset leads to the
 * tensor. What is lent is the tensor's bytes, as ever. It is done only where the device uses that memory in place: then
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
    const base = baseFor(source, to);
    if ("reason" in base || base.below === 0) return;
    for (const { address, byteLength } of inPlaceFor(base)) cl.aliasing.tryToProve(address, byteLength);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cl = source.target.context as OpenCLContext;
    const closed = refuseFrame(EDGE, source, "a UMat");
    if (closed !== undefined) return closed;
    const base = acceptedBase(source, target as UMatTarget);
    if ("reason" in base) return base;
    const result = new Described(target, access, planesFromZero(source), undefined, cl.rawHandle);
    const verdict = base.below > 0 ? SAME_BYTES : SAME_CL_MEM;
    return planned(EDGE, verdict, waits.some((fence) => fence.context !== cl), result);
  },

  map(source: OpenCLTensor, target: Target, job: MapJob): OpenCVUMat {
    const to = target as UMatTarget;
    const cl = source.context;
    const waits = retained(job, source);
    const { described, root, rawHandle } = source;
    // Asked again: a hop of the same route may have come between.
    const base = acceptedBase(described, to);
    if ("reason" in base) throw noRoute(source.name, "a UMat", [base]);
    const { below, offset } = base;
    const mem = below > 0
      ? cl.memory.hostBuffers.lowered(root as HostBuffer, below, job.undo)
      : wantsRoot(cl)
      ? root.mem
      : rawHandle;
    const execution = to.context.executionIn(cl.rawHandle)!;
    const layout = moved(source.layout, 0);
    const buffer = { mem, offset, clContext: cl.rawHandle, execution };
    const over = to.over({ at: layout, buffer, name: job.name }, job.grants, job.undo);
    const resource = resourceOf(execution.resource, job, source.resource);
    for (const fence of waits.splice(0)) resource.record(fence);
    return to.tensor(resource, layout, { ...over, buffer, address: described.range.address }, source);
  },
};

/**
 * PoCL 3.1 ends the process where rectangles are copied from or to a sub-buffer (clEnqueueCopyBufferRect), as OpenCV copies
 * padded rows: it gets the whole buffer there, and an offset.
 */
function wantsRoot({ device }: OpenCLContext): boolean {
  return device.platform === "Portable Computing Language";
}

/** The `cl_mem` that OpenCV is to have. */
interface Base {
  /** How many bytes before the tensor's root buffer it begins; 0 where it is that buffer, or a part of it. */
  readonly below: number;
  /** Where the tensor's first element lies in it. */
  readonly offset: number;
  /** The address of the root buffer, where that lies in host memory. */
  readonly address: bigint | undefined;
  /** The length of the root buffer in bytes. */
  readonly byteLength: number;
}

/** Where the buffer has to begin for OpenCV, or why a UMat cannot be there. */
function baseFor(source: Described, target: UMatTarget): Base | Refusal {
  const cl = source.target.context as OpenCLContext;
  const { range, planes: [{ layout }] } = source;
  const { address, start, byteLength } = cl.memory.extentOf(range);
  const inRoot = range.start - start;
  const align = LANES * sizeOf(layout.dtype);
  if (address === undefined || address % BigInt(align) === 0n) {
    const offset = wantsRoot(cl) ? inRoot : layout.byteOffset;
    return refuseUnfit(EDGE, target.fit(layout, offset)) ?? { below: 0, offset, address, byteLength };
  }
  const { block } = range.allocation;
  const room = block.address !== undefined && block.address + BigInt(start) === address ? start : 0;
  const step = Math.max(cl.subBufferAlign, align);
  const first = Number(address % BigInt(step));
  let unfit: Refusal | undefined;
  for (let below = first; below <= room && below < first + MOST_TRIES * step; below += step) {
    const fit = target.fit(layout, below + inRoot);
    if (!("problem" in fit)) return { below, offset: below + inRoot, address, byteLength };
    unfit ??= refuseUnfit(EDGE, fit);
    if (fit.argument !== "byteOffset") break;
  }
  return unfit ?? refuseMisaligned(address, align, "there are too few bytes of the same memory before it.");
}

/** The same, where the device was shown to use the memory in place. */
function acceptedBase(source: Described, target: UMatTarget): Base | Refusal {
  const cl = source.target.context as OpenCLContext;
  const base = refuseEnded(EDGE, cl) ?? baseFor(source, target);
  if ("reason" in base) return base;
  const moved = base.below > 0 &&
    !inPlaceFor(base).every(({ address, byteLength }) => cl.aliasing.judge(address, byteLength).aliases);
  if (moved) {
    const align = LANES * sizeOf(source.planes[0].layout.dtype);
    return refuseMisaligned(base.address!, align, `${cl.name} was not shown to use this memory in place.`);
  }
  return refuse(source, target) ?? base;
}

/** What the device has to use in place where the buffer begins below: the tensor's own, and that. */
function inPlaceFor({ address, below, byteLength }: Base) {
  return [
    { address: address!, byteLength },
    { address: address! - BigInt(below), byteLength: byteLength + below },
  ];
}

function refuseMisaligned(address: bigint, align: number, why: string): Refusal {
  return refused(
    EDGE,
    `the buffer begins at 0x${
      address.toString(16)
    }, and OpenCV's kernels load vectors, which have to lie at multiples of ` +
      `${align} bytes. The buffer cannot begin lower: ${why}`,
    `Map memory that begins at a multiple of ${align} bytes, as host.allocate() gives, and slice the UMat; or use a Mat.`,
  );
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
