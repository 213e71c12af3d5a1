/**
 * Tests on the GPUs that Vulkan, OpenCL and CUDA share memory on.
 *
 * @module
 */
import { ledger } from "@samepage/interop";
import { type Gpu, sharedGpus } from "../../bench/harness/gpus.ts";
import { assertAlive } from "../alive.ts";

export { type Gpu } from "../../bench/harness/gpus.ts";
export { assertFdsEnd } from "../gc.ts";
export { pattern } from "./pattern.ts";

const found = sharedGpus();

/** Those of this machine. */
export const gpus: readonly Gpu[] = found.gpus;

/**
 * A test that needs so many GPUs: without, it is ignored and says so. What is alive afterwards is what was before, and so
 * many fds are open.
 */
export function sharingTest(name: string, run: () => unknown, count = 1): void {
  const reason = found.missing ?? (gpus.length < count ? `needs ${count} GPUs` : undefined);
  Deno.test({
    name: `vulkan: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
    ignore: reason !== undefined,
    fn: async () => {
      const before = ledger.alive;
      await run();
      await assertAlive(before, "what is alive");
    },
  });
}
