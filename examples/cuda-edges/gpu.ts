/**
 * What the examples of CUDA have in common: a GPU, and what is left behind.
 *
 * @module
 */
import { InteropError, ledger } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { print } from "../edges/report.ts";
import { openOr } from "./open.ts";

/**
 * Runs something on the first GPU, and says which that is, or why there is none; then whether every native object was
 * given back. A samepage error is printed as its own sentence, and makes the program fail.
 */
export async function onGpu(run: (cuda: CudaContext) => void | Promise<void>): Promise<void> {
  const alive = JSON.stringify(ledger.alive);
  try {
    const opened = openOr(() => CudaContext.open());
    if (opened instanceof InteropError) return print("device", `none. ${opened.message}`);
    using cuda = opened;
    const { major, minor } = cuda.device.computeCapability;
    print("device", `${cuda.name}, compute capability ${major}.${minor}`);
    await run(cuda);
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    console.error(`${error.name}: ${error.message}`);
    Deno.exitCode = 1;
  }
  const left = JSON.stringify(ledger.alive);
  print("left", left === alive ? "nothing: every native object was given back" : left);
  if (left !== alive) Deno.exitCode = 1;
}

/** Says whether something holds that has to; what does not makes the program fail. */
export function says(holds: boolean, yes: string, no: string): string {
  if (!holds) Deno.exitCode = 1;
  return holds ? yes : `WRONG: ${no}`;
}
