import type { Memory, Offer } from "../../core/device/memory.ts";
import { Port } from "../../core/device/port.ts";
import { reads } from "../../core/memory/access.ts";
import type { CudaContext } from "../context.ts";
import type { CudaTensor } from "../tensor.ts";

const UNREACHABLE = {
  reason: "it is memory of a GPU, which the CPU cannot reach.",
  remedy: 'Allocate it with { location: "host" }, or copy it: stream.read(tensor, bytes).',
};

/**
 * The port to the host of memory that it reaches: its host address, without a native call. It is an alias if that was proven
 * on this device; else the driver moves the pages to their current user (managed memory).
 */
export function hostPorts(context: CudaContext): Memory<CudaTensor> {
  const byAddress: Offer = {
    kind: "host-pointer",
    tryToProve: ({ allocation }) => context.proofs.tryToProve(context.hostMemory.classOf(allocation)),
    judge: ({ allocation }) => context.proofs.judge(context.hostMemory.classOf(allocation)),
  };
  return {
    exports: [byAddress],
    imports: [],
    refuse: ({ range }) => range.address === undefined ? UNREACHABLE : undefined,
    export({ hostHandle, layout, grant }, kind, byteLength, access) {
      if (reads(access)) context.hostMemory.warnOfReading(grant.allocation);
      return { port: new Port(kind, { value: hostHandle! + BigInt(layout.byteOffset), byteLength }) };
    },
  };
}
