import { reads, writes } from "../../core/memory/access.ts";
import type { Call } from "../../core/contract.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Line } from "../../core/device/line.ts";
import type { MapJob } from "../../core/graph/mapper.ts";
import type { GiveBack } from "../../core/life/resource.ts";
import type { CudaContext } from "../context.ts";
import type { Address } from "../../../ffi/address.ts";

export interface DeviceCopy {
  readonly handle: Address;
  readonly giveBack: GiveBack | undefined;
  readonly done: Fence | undefined;
}

interface Copies {
  /** True if there are gaps, which the copy back leaves unchanged. */
  readonly gaps: boolean;
  readonly there: (to: Address) => Call;
  readonly back: (from: Address) => Call;
}

/** Copies a job's bytes to new device memory, which ends with the map, and back, by the context's stream. */
export function copyOnDevice(
  context: CudaContext,
  { grants: [{ access }], undo, waits }: MapJob,
  byteLength: number,
  { gaps, there, back }: Copies,
): DeviceCopy {
  const { line } = context.stream;
  line.resource.assertLive(); // while it ends, it takes only copies back
  const copy = context.allocate({ shape: [byteLength], dtype: "u8" });
  undo.push(() => copy[Symbol.dispose]());
  const { address: handle } = copy;
  return {
    handle,
    giveBack: writes(access) ? givenBackBy(line, back(handle)) : undefined,
    done: reads(access) || gaps ? line.submitRaw(there(handle), waits) : undefined,
  };
}

function givenBackBy(line: Line, call: Call): GiveBack {
  return { line, once: true, step: () => call };
}
