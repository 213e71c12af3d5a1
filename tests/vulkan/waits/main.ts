/** Terminates Workers in the middle of their waits. */
import { vulkanDevices } from "@samepage/interop/vulkan";

// What a terminated Worker has opened stays open: before the fortieth, a GPU (H200, driver 580.159) refused to open more devices.
const rounds = vulkanDevices()[0].type === "cpu" ? 20 : 5;

for (let round = 0; round < rounds; round++) {
  const workers = Array.from({ length: 2 }, () => new Worker(import.meta.resolve("./worker.ts"), { type: "module" }));
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.onmessage = resolve)));
  await new Promise((resolve) => setTimeout(resolve, round));
  for (const worker of workers) worker.terminate();
}
await new Promise((resolve) => setTimeout(resolve, 500)); // the device ends what it was given
Deno.exit(0);
