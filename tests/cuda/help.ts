import { ledger } from "../../mod.ts";
import { messageOf } from "../../src/core/errors.ts";
import { assertAlive } from "../alive.ts";
import type { CudaAttribute } from "../../src/cuda/attributes.ts";
import { CudaContext, type CudaDevice, cudaDevices } from "../../src/cuda/mod.ts";

const found = devicesHere();

/** The GPUs of this machine; none where CUDA has none. */
export const devices: readonly CudaDevice[] = found.devices;

/** Why CUDA has no GPU here. */
export const missing: string | undefined = found.missing;

function devicesHere(): { devices: readonly CudaDevice[]; missing?: string } {
  try {
    return { devices: cudaDevices() };
  } catch (error) {
    return { devices: [], missing: messageOf(error).split(/(?<=\.) /)[0] };
  }
}

/**
 * A test that needs so many GPUs, and `lacks` nothing else: without, it is ignored and says so. What is alive afterwards is
 * what was before.
 */
export function gpuTest(name: string, run: () => unknown, count = 1, lacks?: string): void {
  const reason = missing ?? (devices.length < count ? `needs ${count} GPUs` : lacks);
  Deno.test({
    name: `cuda: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
    ignore: reason !== undefined,
    fn: async () => {
      const before = ledger.alive;
      await run();
      await assertAlive(before, "what is alive");
    },
  });
}

/** Why the first GPU does not fit a test: one of its attributes has another value. */
export function unless(name: CudaAttribute, value: number): string | undefined {
  const found = devices[0]?.attributes[name];
  return found === undefined || found === value ? undefined : `needs a GPU whose ${name} is ${value}`;
}

/** Runs something with a device's context open. */
export async function withCuda(run: (cuda: CudaContext) => unknown, ordinal = 0): Promise<void> {
  await using cuda = CudaContext.open({ ordinal });
  await run(cuda);
}
