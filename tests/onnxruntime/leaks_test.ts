/** What is released again and again leaves no memory behind: the ledger does not see ONNX Runtime's own. */
import { assert } from "@std/assert";
import { collect } from "../gc.ts";
import { unary } from "../inference/onnx.ts";
import { openOnnxRuntime, test } from "./open.ts";

const MB = 1 << 20;

/** How many bytes more this process has once something was done so often, beyond what the first times take. */
async function growth(times: number, action: () => unknown): Promise<number> {
  for (let i = 0; i < times / 4; i++) await action();
  await collect();
  const before = Deno.memoryUsage().rss;
  for (let i = 0; i < times; i++) await action();
  await collect();
  return Deno.memoryUsage().rss - before;
}

test("outputs that runs make give 4 MB back, each", async () => {
  using ort = openOnnxRuntime();
  using session = ort.compileSync(unary("Sigmoid", "f32", [MB]), { threads: 2 });
  using x = ort.allocate({ shape: [MB], dtype: "f32" });
  const grown = await growth(60, () => session.run({ x }).y[Symbol.dispose]());
  assert(grown < 40 * MB, `${grown / MB} MB more after 60 outputs`);
});

test("OrtValues over memory of others are released", async () => {
  using ort = openOnnxRuntime();
  using x = ort.allocate({ shape: [4], dtype: "f32" });
  const grown = await growth(40, () => {
    for (let i = 0; i < 5_000; i++) {
      using part = x.borrow("read");
      void part.handle;
    }
  });
  assert(grown < 20 * MB, `${grown / MB} MB more after 200,000 values`);
});

test("sessions give their models back", async () => {
  using ort = openOnnxRuntime();
  const model = unary("Sigmoid", "f32", [MB]);
  using x = ort.allocate({ shape: [MB], dtype: "f32" });
  const grown = await growth(40, async () => {
    using session = await ort.compile(model, { threads: 2 });
    (await session.runAsync({ x })).y[Symbol.dispose]();
  });
  assert(grown < 40 * MB, `${grown / MB} MB more after 40 sessions`);
});
