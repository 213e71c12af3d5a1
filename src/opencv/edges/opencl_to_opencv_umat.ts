import type { Access } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import { Described, planesFromZero } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Verdict } from "../../core/device/proofs.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import { moved } from "../../core/layout/layout.ts";
import {
  type MapJob,
  type Mapper,
  type ProbedStep,
  probedStep,
  refused,
  refuseEnded,
  refuseUnfit,
  resourceOf,
} from "../../core/graph/mapper.ts";
import { noRoute } from "../../core/graph/route.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { OpenCLContext } from "../../opencl/context.ts";
import type { OpenCLTensor } from "../../opencl/tensor.ts";
import type { ExecutionContext } from "../execution.ts";
import type { OpenCVUMat, UMatBuffer } from "../umat.ts";
import type { UMatTarget } from "../umats/target.ts";

const EDGE = "opencl→opencv.umat";

/** The verdict on a buffer that the other API gets by its handle. */
export const SAME_CL_MEM: Verdict = { aliases: true, evidence: "the same cl_mem: no memory object is made" };

/** The verdict on a buffer that begins before the tensor's own, over memory that the device provably uses in place. */
const SAME_BYTES: Verdict = {
  aliases: true,
  evidence: "a cl_mem over the same bytes that begins where OpenCV's kernels want it, proven by aliasing both ways",
};

/** The length of OpenCL C's longest vector: OpenCV's kernels load no more elements at a time. */
const LANES = 16;

/** The limit of offsets to try: an OpenCV pixel has no more channels. */
const MAX_TRIES = 512;

/**
 * An OpenCL buffer as a `cv::UMat` over the same `cl_mem`. OpenCV attaches to the buffer's `cl_context` once; its queue and
 * ours wait for each other by events.
 *
 * OpenCV's kernels load vectors if offset and step are multiples of their size, and assume that the buffer is aligned, which a
 * buffer over host memory may not be. Then OpenCV gets a second `cl_mem`, which begins at a lower, aligned address of the same
 * allocation, and the UMat's offset leads to the tensor. Only the tensor's bytes are lent. This needs a device that uses the
 * memory in place, so that both handles are the same memory.
 */
export const openCLToOpenCVUMat: Mapper<OpenCLTensor, OpenCVUMat> = {
  from: "opencl",
  to: "opencv.umat",

  prepare(source: Described, target: Target): void {
    const to = target as UMatTarget;
    const cl = source.target.context as OpenCLContext;
    if (cl.queue.resource.state !== "live") return;
    to.context.tryExecution(cl.rawHandle, () => deviceContext(cl));
    const place = placeFor(source, to);
    if ("reason" in place || !place.lowered) return;
    for (const { address, byteLength } of inPlaceFor(source, place.offset)) {
      const which = cl.memory.classOf(address, byteLength);
      cl.proofs.tryToProve(which);
      if (!cl.proofs.judge(which).aliases) return; // each negative proof takes a second
    }
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ProbedStep | Refusal {
    const cl = source.target.context as OpenCLContext;
    const place = acceptedPlace(source, target as UMatTarget);
    if ("reason" in place) return place;
    const result = new Described(target, access, planesFromZero(source), undefined, cl.rawHandle);
    const verdict = place.lowered ? SAME_BYTES : SAME_CL_MEM;
    return probedStep(EDGE, verdict, cl.queue.line.whyHostWaits(waits), result);
  },

  map(source: OpenCLTensor, target: Target, job: MapJob): OpenCVUMat {
    const to = target as UMatTarget;
    const cl = source.context;
    const place = placeFor(source.described, to);
    if ("reason" in place) throw noRoute(source.name, to.context.name, [place]);
    const { described: { range: { address } } } = source;
    const execution = to.context.executionIn(cl.rawHandle)!;
    const layout = moved(source.layout, 0);
    const at = place.lowered ? lowered(source, place.offset, job.undo) : bufferOf(source);
    const buffer = { ...at, clContext: cl.rawHandle, execution };
    const over = to.over({ at: layout, buffer, name: job.name }, job.grants, job.undo);
    const resource = resourceOf(execution.resource, job);
    resource.inherit(job.waits);
    return to.tensor(resource, layout, { ...over, buffer, address }, source);
  },
};

/**
 * True if OpenCV gets the whole buffer and an offset: PoCL 3.1 crashes when clEnqueueCopyBufferRect, which OpenCV calls
 * for padded rows, copies rectangles of a sub-buffer.
 */
function wantsRoot({ device }: OpenCLContext): boolean {
  return device.platform === "Portable Computing Language";
}

/** A `cl_mem` for OpenCV, and the tensor's offset in it. */
type InMem = Pick<UMatBuffer, "mem" | "offset">;

function bufferOf({ context, root, rootOffset, rawHandle, layout }: OpenCLTensor): InMem {
  return wantsRoot(context) ? { mem: root.mem, offset: rootOffset } : { mem: rawHandle, offset: layout.byteOffset };
}

/** A second `cl_mem`, which begins `offset` bytes below the tensor. */
function lowered({ context, described: { range } }: OpenCLTensor, offset: number, undo: Undo): InMem {
  const { address, byteLength } = range;
  return { mem: context.memory.hostBuffers.another(address! - BigInt(offset), offset + byteLength, undo), offset };
}

interface Place {
  readonly offset: number;
  /** True if that `cl_mem` begins below the tensor's own. */
  readonly lowered: boolean;
}

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
  for (let offset = first; offset <= room && offset < MAX_TRIES * step; offset += step) {
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

/** The offset of a tensor in its own buffer, before that is made. @see {@link bufferOf} */
function offsetIn({ target, range, planes: [{ layout }] }: Described): number {
  const cl = target.context as OpenCLContext;
  const found = wantsRoot(cl) ? cl.memory.find(range) : undefined;
  return found?.offset ?? layout.byteOffset;
}

/** The place for OpenCV, if the device provably uses the memory in place. */
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

/** The ranges that the device must use in place for a lower `cl_mem`: that one, and the tensor's buffer. */
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
    `buffer does not begin at one (the first byte lies at 0x${address.toString(16)}), and cannot begin lower: ${why}`;
  const remedy =
    `Map memory that begins at a multiple of ${align} bytes, as host.allocate() gives, and slice the UMat; or ` +
    "use a Mat.";
  return refused(EDGE, reason, remedy);
}

function refuse(source: Described, target: UMatTarget): Refusal | undefined {
  const cl = source.target.context as OpenCLContext;
  const limits = cl.memory.find(source.range)?.root.limits;
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

function deviceContext(cl: OpenCLContext): ExecutionContext {
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
