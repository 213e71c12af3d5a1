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
 * Memory that the host reaches too, by the address that the host has of it: no native call, and nothing moves here. An alias
 * where that was proven on this device. Elsewhere the driver moves the pages to whoever touches them (managed memory).
 */
export function hostPorts(context: CudaContext): Memory<CudaTensor> {
  const byAddress: Offer = {
    kind: "host-pointer",
    prove: ({ allocation }) => context.hostMemory.tryToProve(allocation),
    judge: ({ allocation }) => context.hostMemory.judge(allocation),
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
