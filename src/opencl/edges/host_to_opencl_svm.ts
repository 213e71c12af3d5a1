import type { Access } from "../../core/memory/access.ts";
import type { Target } from "../../core/graph/context.ts";
import type { Described } from "../../core/tensors/described.ts";
import type { Refusal } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { type MapJob, type Mapper, type Plan, resourceOf } from "../../core/graph/mapper.ts";
import { planned } from "../../core/graph/plan.ts";
import type { HostTensor } from "../../host/tensor.ts";
import type { OpenCLSvm } from "../svm.ts";
import type { OpenCLSvmTensor } from "../svm.ts";
import { refused, refuseEnded } from "../../core/graph/refusals.ts";
import { refuseMappedCoarse } from "./refusals.ts";

const EDGE = "host→opencl.svm";

/**
 * Host memory as shared virtual memory, by its own address and without a native call: any host memory if the device
 * shares all of it (CL_DEVICE_SVM_FINE_GRAIN_SYSTEM), else only memory that was allocated as shared. `alias` if that
 * was proven on this device, else `migrate`.
 */
export const hostToOpenCLSvm: Mapper<HostTensor | Frame<HostTensor>, OpenCLSvmTensor | Frame<OpenCLSvmTensor>> = {
  from: "host",
  to: "opencl.svm",

  prepare(source: Described, target: Target): void {
    const svm = target as OpenCLSvm;
    if (refuse(source, svm) === undefined) svm.context.proofs.tryToProve(svm.classOf(source.range.allocation));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const svm = target as OpenCLSvm;
    const refusal = refuse(source, svm);
    if (refusal !== undefined) return refusal;
    const verdict = svm.context.proofs.judge(svm.classOf(source.range.allocation));
    return planned(
      EDGE,
      verdict,
      svm.context.queue.line.whyHostWaits(waits),
      source.as(target, access),
    );
  },

  map(source: HostTensor | Frame<HostTensor>, target: Target, job: MapJob): OpenCLSvmTensor | Frame<OpenCLSvmTensor> {
    const svm = target as OpenCLSvm;
    const resource = resourceOf(svm.context.queue.resource, job, source.resource);
    resource.inherit(job.waits);
    if (!(source instanceof Frame)) return svm.tensor(resource, source.rawHandle, source.layout, source);
    const placed = source.planes.map(({ rawHandle: handle, layout }) => ({ handle, layout }));
    return svm.frame(resource, source.info, placed, { metadata: source.metadata, parent: source });
  },
};

function refuse(source: Described, svm: OpenCLSvm): Refusal | undefined {
  const closed = refuseEnded(EDGE, svm.context) ?? refuseMappedCoarse(EDGE, source, svm.context);
  if (closed !== undefined) return closed;
  const block = svm.blockOf(source.range.allocation);
  if (block !== undefined || svm.capabilities.fineGrainSystem) return undefined;
  return refused(
    EDGE,
    `${svm.context.name} does not share the host's own memory (CL_DEVICE_SVM_FINE_GRAIN_SYSTEM).`,
    svm.capabilities.coarseGrainBuffer
      ? "Allocate it by cl.svm.allocate(), and map that to the host; or map to the context's buffers."
      : "Map it to the context's buffers: it has no shared virtual memory at all.",
  );
}
