import { type Access, covers, writes } from "../../core/memory/access.ts";
import { showAt } from "../../core/memory/peers.ts";
import type { Target } from "../../core/graph/context.ts";
import type { ByteRange, Described } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import { Frame, planesOf } from "../../core/tensors/frame.ts";
import { moved } from "../../core/layout/layout.ts";
import { type MapJob, type Mapper, type Plan, resourceOf } from "../../core/graph/mapper.ts";
import { planned, whyHostReads } from "../../core/graph/plan.ts";
import type { HostContext } from "../../host/context.ts";
import type { HostTensor } from "../../host/tensor.ts";
import type { BufferLimits } from "../buffers/limits.ts";
import type { OpenCLContext } from "../context.ts";
import type { RootBuffer } from "../buffers/tensor.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { refused, refuseEnded } from "../../core/graph/refusals.ts";

const EDGE = "opencl→host";

/**
 * An OpenCL buffer as host memory (clEnqueueMapBuffer, clEnqueueUnmapMemObject), with the same strides. `alias` if the
 * device provably shares this memory with the CPU, else `migrate`.
 */
export const openCLToHost: Mapper<OpenCLTensor | Frame<OpenCLTensor>, HostTensor | Frame<HostTensor>> = {
  from: "opencl",
  to: "host",

  prepare(source: Described): void {
    const cl = source.target.context as OpenCLContext;
    if (cl.queue.resource.state !== "live") return;
    const { range } = source;
    if (cl.external.has(range)) return;
    cl.proofs.tryToProve(classOf(range, cl.memory.find(range)?.root, cl));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cl = source.target.context as OpenCLContext;
    const buffer = cl.memory.find(source.range)?.root;
    const refusal = refuseEnded(EDGE, cl) ?? refuseExternal(source, cl) ?? refuse(access, buffer?.limits);
    if (refusal !== undefined) return refusal;
    const verdict = cl.proofs.judge(classOf(source.range, buffer, cl));
    return planned(EDGE, verdict, whyHostReads(waits), source.as(target, access));
  },

  map(source: OpenCLTensor | Frame<OpenCLTensor>, target: Target, job: MapJob): HostTensor | Frame<HostTensor> {
    const cl = source.target.context as OpenCLContext;
    const planes = planesOf(source);
    const first = Math.min(...planes.map((plane) => plane.rootOffset));
    const length = Math.max(...planes.map((plane) => plane.rootOffset + plane.layout.byteLength)) - first;
    const { root } = planes[0];
    const range = cl.memory.map(root.mem, job.grants[0].access, first, length, !source.described.hasGaps);
    if (root.hostAddress === undefined) job.undo.push(showAt(range.address, length, source.name));
    if (writes(job.grants[0].access)) {
      root.hostWriters++;
      job.undo.push(() => void root.hostWriters--);
    }
    const resource = resourceOf(cl.queue.resource, job, source.resource, range.giveBack);
    const host = target.context as HostContext;
    const places = planes.map(({ layout, rootOffset }) => (
      { handle: range.address, layout: moved(layout, rootOffset - first) }
    ));
    if (!(source instanceof Frame)) return host.tensor(resource, range.address, places[0].layout, source);
    return host.frame(resource, source.info, places, { metadata: source.metadata, parent: source });
  },
};

/** The class of a buffer's memory; `buffer` is undefined where the buffer is to be made. */
function classOf({ address, byteLength }: ByteRange, buffer: RootBuffer | undefined, cl: OpenCLContext) {
  return buffer?.memoryClass ?? cl.memory.classOf(address, byteLength);
}

/** Memory of another API is that API's to show to the host. */
function refuseExternal({ range }: Described, cl: OpenCLContext): Refusal | undefined {
  if (!cl.external.has(range)) return undefined;
  return refused(EDGE, "it is memory of another API.", "Map the tensor to the host that it was mapped from.");
}

/** The flags of an attached buffer may exclude the host. */
function refuse(access: Access, limits: BufferLimits | undefined): Refusal | undefined {
  if (limits === undefined || (limits.host !== undefined && covers(limits.host, access))) return undefined;
  const reason = `the buffer was made with ${limits.flags}: the host may not map it for "${access}".`;
  return refused(EDGE, reason, limits.host === undefined ? undefined : `Map it for "${limits.host}".`);
}
