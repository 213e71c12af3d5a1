/** The thread's current context is after each operation what it was before: none, the device's own, or another's. */
import { assert, assertEquals } from "@std/assert";
import { CudaContext } from "@samepage/interop/cuda";
import { addressOf } from "../../src/core/native/pin.ts";
import { cudaDriver } from "../../src/cuda/library.ts";
import { deno } from "../process.ts";
import { gpuTest, withCuda } from "./help.ts";
import { OPERATIONS } from "./usage.ts";

/** The thread's, by cuCtxGetCurrent itself: 0 where it has none. */
function current(): bigint {
  const out = new BigUint64Array(1);
  assertEquals(cudaDriver().cuCtxGetCurrent(addressOf(out, "cuda")), 0);
  return out[0];
}

function setCurrent(context: bigint): void {
  assertEquals(cudaDriver().cuCtxSetCurrent(context as never), 0);
}

/** Every operation, begun with a context current, or with none where that is 0. */
async function unchanged(cuda: CudaContext, before: bigint, allowed: readonly bigint[] = [before]): Promise<void> {
  const own = current();
  try {
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      setCurrent(before);
      await operation(cuda);
      assert(allowed.includes(current()), `${name}: 0x${current().toString(16)} after 0x${before.toString(16)}`);
    }
  } finally {
    setCurrent(own);
  }
}

gpuTest(
  "the current context is as it was: the device's own, or none, be it that a call throws",
  () =>
    withCuda(async (cuda) => {
      const own = cuda.within(current);
      await unchanged(cuda, own);
      // A thread that has none keeps that of device 0, as after any first call of libcudart's.
      await unchanged(cuda, 0n, [0n, own]);
    }),
);

gpuTest("the current context is as it was: of another device, or none", async () => {
  await withCuda(async (first) => {
    await using second = CudaContext.open({ ordinal: 1 });
    const [one, two] = [first, second].map((cuda) => cuda.within(current));
    assert(one !== two);
    await unchanged(first, two);
    await unchanged(second, one);
    await unchanged(second, two);
    await unchanged(second, 0n);
  });
}, 2);

gpuTest("a process that uses the second device alone makes no context of the first", async () => {
  const program = new URL("second_device.ts", import.meta.url).pathname;
  const { code, stderr } = await deno(["run", "-A", "--no-check", "-q", program]);
  assertEquals(code, 0, stderr);
}, 2);
