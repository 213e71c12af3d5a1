import type { DPCTLSyclContextRef, DPCTLSyclDeviceRef } from "../../ffi/sycl/handles.ts";
import type { Line } from "../core/device/line.ts";
import type { Proofs } from "../core/device/proofs.ts";
import type { UnifiedContext } from "../core/tensors/unified.ts";
import type { SyclDevice } from "./device.ts";
import type { SyclLane } from "./lane.ts";

/** What the parts of a context know of it. */
export interface BaseContext extends UnifiedContext {
  /** Its device. */
  readonly device: SyclDevice;
  /** Its `sycl::context` and `sycl::device`, without a check. */
  readonly raw: { readonly context: DPCTLSyclContextRef; readonly device: DPCTLSyclDeviceRef };
  /** Its default queue. */
  readonly queue: { readonly line: Line<SyclLane> };
  /** What is proven of its device. */
  readonly proofs: Proofs<UnifiedContext>;
}
