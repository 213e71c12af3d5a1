import type { Access } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import type { ByteRange, Described } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import { type MapJob, type Mapper, type ProbedStep, probedStep, refused } from "../../core/graph/mapper.ts";
import type { HostBuffer } from "../buffers/host_buffers.ts";
import type { OpenCLContext } from "../context.ts";
import type { OpenCLSvm } from "../svm.ts";
import type { OpenCLSvmTensor } from "../svm.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { mapBuffer, ROOM_WAITS, roomForBuffer } from "./host_to_opencl.ts";

const EDGE = "opencl.svm→opencl";

/**
 * Shared virtual memory as a buffer of the same context (CL_MEM_USE_HOST_PTR), for users of a `cl_mem`. The buffer
 * covers the whole block, and parts are parts of it: Intel's driver treats a pointer into a block as a sub-buffer, and
 * maps it only if it is aligned like one. `alias` if such a buffer is provably that memory, else `migrate`.
 */
export const openCLSvmToOpenCL: Mapper<OpenCLSvmTensor | Frame<OpenCLSvmTensor>, OpenCLTensor | Frame<OpenCLTensor>> = {
  from: "opencl.svm",
  to: "opencl",

  prepare(source: Described, target: Target): void {
    const cl = target.context as OpenCLContext;
    if (!("reason" in roomIn(source, cl))) cl.proofs.tryToProve(classOf(source, cl));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): ProbedStep | Refusal {
    const cl = target.context as OpenCLContext;
    const room = roomIn(source, cl);
    if ("reason" in room) return room;
    const verdict = cl.proofs.judge(classOf(source, cl));
    // What commands have yet to write there, the buffer would not have: a driver that moves bytes may copy them as it makes
    // the buffer, which is not a command that stands behind those.
    const early = !verdict.aliases && waits.length > 0;
    const waitReason = room.length > 0 ? ROOM_WAITS : early ? EARLY : cl.queue.line.whyHostWaits(waits);
    return probedStep(EDGE, verdict, waitReason, cl.memory.describe(source, access, wholeOf(source).start));
  },

  map(source: OpenCLSvmTensor | Frame<OpenCLSvmTensor>, target: Target, job: MapJob) {
    return mapBuffer(source, target.context as OpenCLContext, job, wholeOf(source.described));
  },
};

/** The range of the block; for host memory that is shared by its address, only the bytes of the map. */
function wholeOf({ target, range }: Described): ByteRange {
  const block = (target as OpenCLSvm).blockOf(range.allocation);
  if (block === undefined) return range;
  return { allocation: range.allocation, start: 0, address: block.address, byteLength: block.byteLength };
}

/** The class of its memory: host memory that is shared by its address is like any other behind a buffer. */
function classOf({ target, range: { allocation, address, byteLength } }: Described, cl: OpenCLContext) {
  const svm = target as OpenCLSvm;
  return svm.blockOf(allocation) === undefined
    ? cl.memory.classOf(address, byteLength)
    : svm.classOf(allocation, "buffer");
}

function roomIn(source: Described, cl: OpenCLContext): Refusal | readonly HostBuffer[] {
  if (source.target.context !== cl) {
    return refused(
      EDGE,
      `it is shared virtual memory of another context than ${cl.name}'s.`,
      "Map it to the host first: graph.map finds that route itself.",
    );
  }
  const room = roomForBuffer(source, wholeOf(source), cl);
  return "reason" in room ? { ...room, edge: EDGE } : room;
}

const EARLY = "the driver may move the bytes as it makes the buffer, which is not a command that could wait";
