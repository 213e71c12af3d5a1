import type { Access } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import type { Described } from "../core/tensors/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/device/fence.ts";
import { Frame } from "../core/tensors/frame.ts";
import { type MapJob, type Mapper, type Plan, resourceOf } from "../core/graph/mapper.ts";
import { planned } from "../core/graph/plan.ts";
import type { CudaContext } from "../cuda/context.ts";
import type { CudaVirtual } from "../cuda/memory/virtual.ts";
import type { CudaTensor } from "../cuda/tensor.ts";
import type { OpenCLContext } from "../opencl/context.ts";
import type { OpenCLTensor } from "../opencl/tensor.ts";
import { IMPORTED, importProofs } from "./shared/cuda_virtual_proof.ts";
import { planesOf } from "./shared/planes.ts";
import { refused, refuseDisposed, refuseEnded } from "./shared/refusals.ts";

const EDGE = "cuda.virtual→opencl";

/**
 * Virtual memory of CUDA, on the device or on the host, as an OpenCL buffer of the same device, by a duplicate of its
 * fd (cl_khr_external_memory_opaque_fd). The host waits for CUDA's work; then OpenCL acquires the buffer, and releases
 * it when the map ends. `alias` if that was proven on this device, else `migrate`.
 */
export const cudaVirtualToOpenCL: Mapper<CudaTensor | Frame<CudaTensor>, OpenCLTensor | Frame<OpenCLTensor>> = {
  from: "cuda.virtual",
  to: "opencl",

  prepare(source: Described, target: Target): void {
    const cl = target.context as OpenCLContext;
    if (refuse(source, cl) !== undefined) return;
    cl.external.expect(source.range.allocation);
    proofsFor(source, cl).tryToProve(IMPORTED[locationOf(source)]);
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const cl = target.context as OpenCLContext;
    const refusal = refuse(source, cl);
    if (refusal !== undefined) return refusal;
    // The buffer is known by its handle. It has no host address, though the memory may have one.
    const result = source.withoutAddress(target, access);
    const verdict = proofsFor(source, cl).judge(IMPORTED[locationOf(source)]);
    return planned(EDGE, verdict, waits.length > 0, result);
  },

  map(source: CudaTensor | Frame<CudaTensor>, target: Target, job: MapJob): OpenCLTensor | Frame<OpenCLTensor> {
    const cl = target.context as OpenCLContext;
    const block = (source.target as CudaVirtual).blockOf(job.grants[0].allocation)!;
    const root = cl.external.buffer(block.duplicateFd!(), block.byteLength, job.undo);
    const parts = planesOf(source).map((plane) => cl.memory.part(root, plane.grant.start, plane.layout, job.undo));
    const { fence, giveBack } = cl.external.acquire(root, job.undo);
    const resource = resourceOf(cl.queue.resource, job, source.resource, giveBack);
    resource.inherit([fence]);
    if (source instanceof Frame) return cl.memory.frame(resource, root, parts, source);
    return cl.memory.tensor(resource, root, parts[0], source);
  },
};

/** What is proven of an import: its experiment takes this edge. */
function proofsFor({ target }: Described, cl: OpenCLContext) {
  return importProofs(target as CudaVirtual, cl, cudaVirtualToOpenCL);
}

function locationOf({ target, range }: Described): "device" | "host" {
  const block = (target as CudaVirtual).blockOf(range.allocation);
  return block?.hostAddress === undefined ? "device" : "host";
}

function refuse(source: Described, cl: OpenCLContext): Refusal | undefined {
  const virtual = source.target as CudaVirtual;
  const cuda = virtual.context as CudaContext;
  const ended = refuseDisposed(EDGE, cuda) ?? refuseEnded(EDGE, cl);
  if (ended !== undefined) return ended;
  const { problem } = cl.external;
  if (problem !== undefined) return refused(EDGE, problem);
  if (virtual.blockOf(source.range.allocation)?.duplicateFd === undefined) {
    return refused(EDGE, "its memory was made without an fd.", "Allocate it with { sharable: true }.");
  }
  return refuseOther(cuda, cl);
}

/** The two must be one device: a driver accepts memory of another device, but shows other bytes (facts). */
function refuseOther(cuda: CudaContext, cl: OpenCLContext): Refusal | undefined {
  if (cl.id.uuid !== undefined && cl.id.uuid === cuda.id.uuid) return undefined;
  const other = cl.id.uuid === undefined ? "does not tell its UUID" : `has UUID ${cl.id.uuid}`;
  return refused(
    EDGE,
    `${cuda.name} has UUID ${cuda.id.uuid}, and ${cl.name} ${other}: they have to be one device.`,
    "Open both on the same device: CudaContext.open({ uuid }), OpenCLContext.open({ … }).",
  );
}
