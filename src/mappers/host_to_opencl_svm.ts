import { type Access, reads, writes } from "../core/access.ts";
import type { Target } from "../core/context.ts";
import type { Described } from "../core/described.ts";
import { NoRouteError, type Refusal } from "../core/errors.ts";
import type { Fence } from "../core/fence.ts";
import { Frame } from "../core/frame.ts";
import type { MapJob, Mapper, Plan } from "../core/mapper.ts";
import { Resource } from "../core/resource.ts";
import { describeRefusal } from "../core/route.ts";
import type { HostTensor } from "../host/tensor.ts";
import type { OpenCLSvm } from "../opencl/svm.ts";
import type { OpenCLSvmTensor } from "../opencl/svm/tensor.ts";
import { refuseMappedCoarse } from "./mapped_coarse.ts";
import { retained } from "./retained.ts";

const EDGE = "host→opencl.svm";

/**
 * Host memory as shared virtual memory, by its own address and without a native call: all of it where the device shares
 * the whole of the host's memory (CL_DEVICE_SVM_FINE_GRAIN_SYSTEM), else what was allocated so in the first place.
 * `alias` where that was proven on this device, else `migrate`.
 */
export const hostToOpenCLSvm: Mapper<HostTensor | Frame<HostTensor>, OpenCLSvmTensor | Frame<OpenCLSvmTensor>> = {
  from: "host",
  to: "opencl.svm",

  prepare(source: Described, target: Target): void {
    const svm = target as OpenCLSvm;
    if (refuse(source, svm) === undefined) svm.context.aliasing.tryToProve(svm.memoryOf(source.range.allocation));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const svm = target as OpenCLSvm;
    const refusal = refuse(source, svm);
    if (refusal !== undefined) return refusal;
    const { allocation, byteLength } = source.range;
    const { aliases, evidence } = svm.context.aliasing.judge(svm.memoryOf(allocation));
    return {
      edge: EDGE,
      transfer: aliases ? "alias" : "migrate",
      hostWait: waits.some((fence) => fence.context !== svm.context),
      bytesMoved: aliases ? 0 : byteLength * (Number(reads(access)) + Number(writes(access))),
      evidence,
      result: source.as(target, access),
    };
  },

  map(source: HostTensor | Frame<HostTensor>, target: Target, job: MapJob): OpenCLSvmTensor | Frame<OpenCLSvmTensor> {
    const svm = target as OpenCLSvm;
    const waits = retained(job, source);
    // Asked again: a hop of the same route may have come between.
    const refusal = refuse(source.described, svm);
    if (refusal !== undefined) {
      throw new NoRouteError(`No route from ${source.name} to shared memory: ${describeRefusal(refusal)}`, [refusal], {
        api: "core",
        argument: "target",
      });
    }
    const resource = resourceOf(svm, job, source.resource);
    for (const fence of waits.splice(0)) resource.record(fence);
    if (!(source instanceof Frame)) return svm.tensor(resource, source.rawHandle, source.layout, source);
    const placed = source.planes.map(({ rawHandle: handle, layout }) => ({ handle, layout }));
    return svm.frame(resource, source.info, placed, { metadata: source.metadata, parent: source });
  },
};

/** Apart from `map`, so that nothing the resource keeps reaches the source. */
function resourceOf(svm: OpenCLSvm, { name, undo, grants }: MapJob, parent: Resource): Resource {
  return new Resource({ name, undo, grants, owners: [parent, svm.context.queue.resource] });
}

function refuse(source: Described, svm: OpenCLSvm): Refusal | undefined {
  const { queue, name } = svm.context;
  if (queue.resource.state !== "live") return { edge: EDGE, reason: `${name}, or its queue, was disposed.` };
  const mapped = refuseMappedCoarse(EDGE, source, svm.context);
  if (mapped !== undefined) return mapped;
  const block = svm.blockOf(source.range.allocation);
  if (block !== undefined || svm.capabilities.fineGrainSystem) return undefined;
  return {
    edge: EDGE,
    reason: `${name} does not share the host's own memory (CL_DEVICE_SVM_FINE_GRAIN_SYSTEM).`,
    remedy: svm.capabilities.coarseGrainBuffer
      ? "Allocate it by cl.svm.allocate(), and map that to the host; or map to the context's buffers."
      : "Map it to the context's buffers: it has no shared virtual memory at all.",
  };
}
