/**
 * Not a proof, but questions to NVIDIA's driver: does clEnqueueReleaseExternalMemObjectsKHR block behind work, and are the
 * words right if a map's release is submitted at once, or left out while the import lasts?
 */
import { byMaps, tell } from "./ring/ring.ts"; // first: it taps the libraries
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { withCuda } from "../../bench/harness/sharing.ts";
import { importedApart } from "../../bench/operations/apart.ts";
import type { Call } from "../../src/core/device/driver.ts";
import type { Imported, Memory } from "../../src/core/device/memory.ts";
import { gpus, sharingTest } from "./gpu.ts";

const SPIN = `
kernel void spin(global uint *words, uint turns) {
  uint x = words[0];
  for (uint i = 0; i < turns; i++) x = x * 1664525u + 1013904223u;
  words[0] = x;
}`;

sharingTest("what acquire and release of shared memory cost the host, behind work: told, not judged", () => {
  using vulkan = gpus[0].vulkan();
  using cl = gpus[0].opencl();
  using words = vulkan.allocate({ shape: [256], dtype: "u32" });
  using program = cl.program(SPIN);
  using spin = program.kernel("spin");
  using apart = importedApart(words, cl);
  const run = (turns: number) => spin.run([1], [apart.tensor as OpenCLTensor, turns]);
  const hand = (call: Call | undefined) => {
    const start = performance.now();
    if (call !== undefined) cl.line.submitRaw(call);
    return performance.now() - start;
  };
  run(1);
  cl.queue.finish();
  for (const turns of [1, 50_000_000]) {
    const start = performance.now();
    run(turns);
    const [end, begin] = [hand(apart.crossing.end?.()), hand(apart.crossing.begin?.())];
    cl.queue.finish();
    const all = performance.now() - start;
    console.log(
      `ring: behind a kernel of ${all.toFixed(2)} ms the host was ${end.toFixed(3)} ms in the release and ` +
        `${begin.toFixed(3)} ms in the acquire`,
    );
  }
});

const LAPS = 2000;

const VARIANTS: Readonly<Record<string, (imported: Imported) => Imported>> = {
  "as it is": (imported) => imported,
  "released at once": (imported) => ({ ...imported, endsAfterWork: false }),
  "kept acquired": ({ end: _, endsAfterWork: __, ...imported }) => imported,
};

for (const [variant, change] of Object.entries(VARIANTS)) {
  sharingTest(`by maps, OpenCL's memory ${variant}: told, not judged`, async () => {
    using on = withCuda(gpus[0]);
    const ports = on.players[0].context.ports as { import: NonNullable<Memory["import"]> };
    const real = ports.import;
    ports.import = (...args) => change(real(...args));
    using made = new DisposableStack();
    for (const n of [256, 1 << 20]) {
      tell(variant, `${n} words`, LAPS, await byMaps(on.players, on.words(n, made), LAPS));
    }
  });
}
