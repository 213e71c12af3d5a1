/** Terminates Workers in the middle of their waits. */
const ROUNDS = 20;

for (let round = 0; round < ROUNDS; round++) {
  const workers = Array.from({ length: 2 }, () => new Worker(import.meta.resolve("./worker.ts"), { type: "module" }));
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.onmessage = resolve)));
  await new Promise((resolve) => setTimeout(resolve, round));
  for (const worker of workers) worker.terminate();
}
await new Promise((resolve) => setTimeout(resolve, 500)); // the device ends what it was given
Deno.exit(0);
