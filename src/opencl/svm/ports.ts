import type { Address } from "../../../ffi/address.ts";
import type { Memory, Offer } from "../../core/contract.ts";
import { Port } from "../../core/device/port.ts";
import type { MemoryClass, Proofs } from "../../core/device/proofs.ts";
import type { Reason } from "../../core/errors.ts";
import type { TensorInit } from "../../core/tensors/tensor.ts";
import type { DeviceSvm } from "../devices/features.ts";
import { whyEnded } from "../../core/graph/mapper.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import type { BaseContext } from "../base_context.ts";
import type { QueuedContext } from "../pointers/context.ts";
import type { OpenCLPointerTensor } from "../pointers/tensor.ts";
import { mappedCoarse, type SvmBlock } from "./block.ts";
import type { SvmMaps } from "./maps.ts";

interface Shared<C extends BaseContext> {
  readonly context: QueuedContext & { readonly proofs: Proofs<C> };
  readonly capabilities: DeviceSvm;
  readonly maps: SvmMaps;
  blockOf(allocation: Allocation): SvmBlock | undefined;
  classOf(allocation: Allocation): MemoryClass<C>;
}

/**
 * Host and devices have the same address. Coarse-grained memory is mapped for the host and unmapped (clEnqueueSVMMap,
 * clEnqueueSVMUnmap). Finer memory takes no native call: the host waits for the work on it, and no kernel may use it while
 * the host holds it for writing. Nor do the host's own tensors: over any of its memory if the device shares all of that
 * (CL_DEVICE_SVM_FINE_GRAIN_SYSTEM), else over what was allocated as shared.
 */
export function svmPorts<T extends OpenCLPointerTensor, C extends BaseContext>(
  svm: Shared<C>,
  tensor: (init: TensorInit<Address>) => T,
): Memory<T, Address> {
  const { context } = svm;
  const proven: Pick<Offer, "prepare" | "judge"> = {
    prepare: ({ allocation }) => context.proofs.tryToProve(svm.classOf(allocation)),
    judge: ({ allocation }) => context.proofs.judge(svm.classOf(allocation)),
  };
  return {
    denseCopy: "cl.queue.copy(tensor, cl.svm.allocate({ shape, dtype }))",
    exports: [{ kind: "host-view", ...proven }],
    imports: [{
      kind: "host-pointer",
      from: "host",
      ...proven,
      refuse: ({ allocation }) => refuseHost(svm, allocation),
    }],
    get line() {
      return context.queue.line;
    },
    refuse: () => whyEnded(context),
    export({ address, grant: { allocation } }, kind, byteLength, access, gaps) {
      const port = new Port(kind, { value: address, byteLength });
      if (svm.blockOf(allocation)?.grain !== "coarse") return { port };
      const range = svm.maps.map(allocation, address, byteLength, access, !gaps);
      return { port, giveBack: range.giveBack, release: () => range.end() };
    },
    import: ({ value }) => ({ handle: value as Address }),
    tensor,
  };
}

/** Why a device does not share the host's memory. */
function refuseHost<C extends BaseContext>(svm: Shared<C>, allocation: Allocation): Reason | undefined {
  const { context, capabilities: { fineGrainSystem, coarseGrainBuffer } } = svm;
  const grain = svm.blockOf(allocation)?.grain;
  if (grain === "coarse") return mappedCoarse(context);
  if (grain !== undefined || fineGrainSystem) return undefined;
  return {
    reason: `${context.name} does not share the host's own memory (CL_DEVICE_SVM_FINE_GRAIN_SYSTEM).`,
    remedy: coarseGrainBuffer
      ? "Allocate it by cl.svm.allocate(), and map that to the host; or map to the context's buffers."
      : "Map it to the context's buffers: it has no shared virtual memory at all.",
  };
}
