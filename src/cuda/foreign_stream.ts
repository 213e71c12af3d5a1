import { cudaStreamPerThread } from "../../ffi/cuda_runtime/constants.ts";
import type { CudaStream as StreamHandle } from "../../ffi/cuda_runtime/handles.ts";
import { addressOf } from "../core/native/pin.ts";
import { checks } from "./check.ts";
import type { CudaPrimaryContext } from "./base.ts";
import { cudaDevices, numbered } from "./device.ts";
import { checkDriver } from "./errors.ts";
import { cudaDriver } from "./library.ts";
import { callsTo } from "./primary_context.ts";

/**
 * Throws unless other code's stream belongs to a device's primary context, because events of one context cannot be recorded
 * on streams of another. CUDA's default streams belong to the current context.
 * @param handle a live `cudaStream_t`
 * @throws {ArgumentError} for another context or device; the message names both devices.
 */
export function assertOwnStream(handle: StreamHandle, context: CudaPrimaryContext): void {
  if (handle <= cudaStreamPerThread) return;
  const its = contextOf(handle);
  if (its === context.within(currentContext)) return;
  const own = context.device;
  const ordinal = callsTo(its, false).within(currentDevice);
  if (ordinal !== own.ordinal) {
    const what = `it is of ${numbered(cudaDevices()[ordinal])}, and this is ${numbered(own)}.`;
    throw checks.wrong("handle", what, `Attach to it there: CudaContext.open({ ordinal: ${ordinal} }).`);
  }
  const what = `it is of ${numbered(own)}, but of another context than its primary one, which this is.`;
  throw checks.wrong("handle", what, "Make the stream by CUDA's runtime, or with the primary context current.");
}

/** The context of a stream; a green context's stream is of the primary one (from CUDA 12.5 on). */
function contextOf(stream: StreamHandle): bigint {
  const { cuStreamGetCtx, cuStreamGetCtx_v2 } = cudaDriver();
  const [context, green] = [new BigUint64Array(1), new BigUint64Array(1)];
  const handle = stream as bigint as Parameters<typeof cuStreamGetCtx>[0];
  const code = cuStreamGetCtx_v2?.(handle, context, green) ?? cuStreamGetCtx(handle, context);
  checkDriver(code, "cuStreamGetCtx", { argument: "handle", hint: "Is it a cudaStream_t that is live?" });
  return context[0];
}

function currentContext(): bigint {
  const context = new BigUint64Array(1);
  checkDriver(cudaDriver().cuCtxGetCurrent(addressOf(context, "cuda")), "cuCtxGetCurrent");
  return context[0];
}

function currentDevice(): number {
  const device = new Int32Array(1);
  checkDriver(cudaDriver().cuCtxGetDevice(device), "cuCtxGetDevice");
  return device[0];
}
