/**
 * Counts the native calls in which the host waits for a device. It has to be imported before a library is opened.
 *
 * @module
 */
import { setTap } from "../../../src/core/native/library.ts";

/** Calls that return only once a device has done something. */
const BLOCKING: ReadonlySet<string> = new Set([
  ...["clFinish", "clWaitForEvents", "clWaitForEventsAsync"],
  ...["cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize", "cudaMemcpy", "cudaFree"],
  ...["cudaEventSynchronizeAsync", "cudaStreamSynchronizeAsync"],
  ...["vkWaitSemaphores", "vkWaitSemaphoresAsync", "vkQueueWaitIdle", "vkDeviceWaitIdle", "vkWaitForFences"],
]);

let counts: Map<string, number> | undefined;

// deno-lint-ignore no-explicit-any -- a native function of any signature
type Native = (...args: any[]) => unknown;

setTap((_api, functions) => {
  const tapped = Object.entries(functions).map(([name, real]) => {
    if (!BLOCKING.has(name) || typeof real !== "function") return [name, real];
    return [name, (...args: unknown[]) => {
      counts?.set(name, (counts.get(name) ?? 0) + 1);
      return (real as Native)(...args);
    }];
  });
  return Object.fromEntries(tapped);
});

/** Adds to `into` how often each blocking call was made while `run` ran. */
export function countBlocking(into: Map<string, number>, run: () => void): void {
  counts = into;
  try {
    run();
  } finally {
    counts = undefined;
  }
}
