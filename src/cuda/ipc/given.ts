import type { DeviceId } from "../../core/graph/context.ts";
import { checks } from "../check.ts";
import { HANDLE_BYTES, THIS_ISOLATE } from "./envelope.ts";

/** A copy of a program's bytes, which cannot change during the checks. */
export function copied(given: ArrayBufferView, argument: string): Uint8Array<ArrayBuffer> {
  return checks.bytesIn(given, argument).slice();
}

/** A handle of CUDA's own that a program gave. @throws {ArgumentError} if it is not as long as CUDA's. */
export function handleOf(given: ArrayBufferView): Uint8Array<ArrayBuffer> {
  const handle = copied(given, "handle");
  if (handle.length === HANDLE_BYTES) return handle;
  throw checks.wrong("handle", `expected ${HANDLE_BYTES} bytes, got ${handle.length}.`);
}

/** Throws unless an envelope comes from elsewhere, and is of this device. @throws {ArgumentError} that says which. */
export function assertFits(
  sender: { readonly isolate: string; readonly device: string },
  { uuid }: DeviceId,
): void {
  if (sender.isolate === THIS_ISOLATE) {
    const hint = "Use the tensor itself; its handle is for other processes.";
    throw checks.wrong("bytes", "it was exported by this same process, where CUDA does not open it.", hint);
  }
  if (sender.device === uuid) return;
  const hint = "Open it there: CudaContext.open({ uuid }).";
  throw checks.wrong("bytes", `it is of device ${sender.device}, and this is ${uuid}.`, hint);
}
