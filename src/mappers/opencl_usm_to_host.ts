import { type Access, reads, writes } from "../core/memory/access.ts";
import type { Target } from "../core/graph/context.ts";
import type { Described } from "../core/tensors/described.ts";
import type { Refusal } from "../core/errors.ts";
import type { Fence } from "../core/device/fence.ts";
import { type Frame, planesOf } from "../core/tensors/frame.ts";
import { type MapJob, type Mapper, type Plan, resourceOf } from "../core/graph/mapper.ts";
import { planned, plannedCopy, whyHostReads } from "../core/graph/plan.ts";
import type { HostContext } from "../host/context.ts";
import type { HostTensor } from "../host/tensor.ts";
import type { OpenCLUsm } from "../opencl/usm.ts";
import type { OpenCLUsmTensor } from "../opencl/usm.ts";
import { type HostCopy, onHost } from "./on_host.ts";
import { type Address, firstAddress, placed } from "../core/tensors/places.ts";
import { refused, refuseEnded } from "../core/graph/refusals.ts";

const EDGE = "opencl.usm→host";

/**
 * Unified shared memory as host memory. Host and shared memory keep their address, without a native call; the host
 * waits for the work on it. `alias` if that was proven on this device, else `migrate`. Device memory is copied, if
 * copies are allowed.
 */
export const openCLUsmToHost: Mapper<OpenCLUsmTensor | Frame<OpenCLUsmTensor>, HostTensor | Frame<HostTensor>> = {
  from: "opencl.usm",
  to: "host",

  prepare(source: Described): void {
    const usm = source.target as OpenCLUsm;
    const kind = usm.blockOf(source.range.allocation)?.usm;
    if (kind === undefined || kind === "device" || usm.context.queue.resource.state !== "live") return;
    usm.context.proofs.tryToProve(usm.classOf(kind));
  },

  probe(source: Described, target: Target, access: Access, waits: readonly Fence[]): Plan | Refusal {
    const usm = source.target as OpenCLUsm;
    const ended = refuseEnded(EDGE, usm.context);
    if (ended !== undefined) return ended;
    const block = usm.blockOf(source.range.allocation);
    if (block === undefined) return refused(EDGE, `it is no memory of ${usm.context.name}.`);
    const result = source.as(target, access);
    if (block.usm === "device") return plannedCopy(EDGE, undefined, whyHostReads(waits), result);
    return planned(EDGE, usm.context.proofs.judge(usm.classOf(block.usm)), whyHostReads(waits), result);
  },

  map(source: OpenCLUsmTensor | Frame<OpenCLUsmTensor>, target: Target, job: MapJob): HostTensor | Frame<HostTensor> {
    const usm = source.target as OpenCLUsm;
    const host = target.context as HostContext;
    const first = firstAddress(planesOf(source));
    const { byteLength } = source.described.range;
    const isCopied = usm.blockOf(job.grants[0].allocation)?.usm === "device";
    const copied = isCopied ? copyOf(usm, host, job, first, byteLength, source.described.hasGaps) : undefined;
    const shown = copied === undefined ? job : { ...job, grants: copied.grants };
    const resource = resourceOf(usm.context.queue.resource, shown, source.resource, copied?.giveBack);
    const handle = copied?.address ?? first;
    return onHost(source, target, resource, (plane) => placed(plane, handle, first));
  },
};

function copyOf(
  usm: OpenCLUsm,
  host: HostContext,
  job: MapJob,
  device: Address,
  byteLength: number,
  gaps: boolean,
): HostCopy {
  const [lent] = job.grants;
  const { access } = lent;
  const copy = host.allocate({ shape: [byteLength], dtype: "u8" });
  job.undo.push(() => copy[Symbol.dispose]());
  const address = copy.rawHandle;
  const { allocation } = copy.grant;
  // The block may be longer: its length is rounded up.
  const grants = [lent.elsewhere(allocation, 0, byteLength), ...job.grants];
  if (reads(access) || gaps) usm.copy(address, device, byteLength); // the gaps go back unchanged
  if (!writes(access)) return { address, grants, giveBack: undefined };
  const { line } = usm.context.queue;
  const back = usm.copying(device, address, byteLength);
  return { address, grants, giveBack: { line, once: true, step: () => back } };
}
