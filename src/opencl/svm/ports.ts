import type { Address } from "../../../ffi/address.ts";
import type { Memory } from "../../core/device/memory.ts";
import { Port } from "../../core/device/port.ts";
import type { MemoryClass, Proofs } from "../../core/device/proofs.ts";
import { whyEnded } from "../../core/graph/refusals.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import type { BaseContext } from "../base_context.ts";
import type { QueuedContext } from "../pointers/context.ts";
import type { OpenCLPointerTensor } from "../pointers/tensor.ts";
import type { SvmBlock } from "./block.ts";
import type { SvmMaps } from "./maps.ts";

/** Shared virtual memory, as far as its ports know it. */
interface Shared<C extends BaseContext> {
  readonly context: QueuedContext & { readonly proofs: Proofs<C> };
  readonly maps: SvmMaps;
  blockOf(allocation: Allocation): SvmBlock | undefined;
  classOf(allocation: Allocation): MemoryClass<C>;
}

/**
 * The host has the same address. Coarse-grained memory is mapped and unmapped (clEnqueueSVMMap, clEnqueueSVMUnmap). Finer
 * memory takes no native call: the host waits for the work on it, and no kernel may use it while the host holds it for
 * writing.
 */
export function svmPorts<T extends OpenCLPointerTensor, C extends BaseContext>(svm: Shared<C>): Memory<T, Address> {
  const { context } = svm;
  return {
    exports: [{
      kind: "host-view",
      prepare: ({ allocation }) => context.proofs.tryToProve(svm.classOf(allocation)),
      judge: ({ allocation }) => context.proofs.judge(svm.classOf(allocation)),
    }],
    imports: [],
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
  };
}
