import { reads, writes } from "../../core/memory/access.ts";
import type { Call } from "../../core/device/driver.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Line } from "../../core/device/line.ts";
import type { MapJob } from "../../core/graph/mapper.ts";
import type { GiveBack } from "../../core/life/resource.ts";
import type { CudaContext } from "../../cuda/context.ts";
import type { Address } from "./planes.ts";

/** Memory of a device with a copy of what was lent for a map. */
export interface DeviceCopy {
  /** Where it is. */
  readonly handle: Address;
  /** How it is written back; left out where it is only read. */
  readonly giveBack: GiveBack | undefined;
  /** The copy that goes there; left out where it is only written. */
  readonly done: Fence | undefined;
}

/** How the bytes go there and back: by one copy, to or from an address. */
interface Ways {
  /** Are there bytes between them that are not the job's? They go back as they came. */
  readonly gaps: boolean;
  readonly there: (to: Address) => Call;
  readonly back: (from: Address) => Call;
}

/** Copies what a job was lent to new memory of a device, which ends with the map; by the context's stream, as it comes back. */
export function copyOnDevice(
  context: CudaContext,
  { grants: [{ access }], undo, waits }: MapJob,
  byteLength: number,
  { gaps, there, back }: Ways,
): DeviceCopy {
  const { line } = context.stream;
  line.resource.assertLive(); // while it ends, it takes what goes back, and nothing more
  const copy = context.allocate({ shape: [byteLength], dtype: "u8" });
  undo.push(() => copy[Symbol.dispose]());
  const { address: handle } = copy;
  return {
    handle,
    giveBack: writes(access) ? givenBackBy(line, back(handle)) : undefined,
    done: reads(access) || gaps ? line.submitRaw(there(handle), waits) : undefined,
  };
}

/** Bytes that come back by one call. */
export function givenBackBy(line: Line, call: Call): GiveBack {
  return { line, step: (step) => step === 0 ? call : undefined };
}
