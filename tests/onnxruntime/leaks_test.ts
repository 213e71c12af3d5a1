/** What is released again and again leaves no memory behind: the ledger does not see ONNX Runtime's own. */
import { assertFlat } from "../gc.ts";
import { unary } from "../inference/onnx.ts";
import { openOnnxRuntime, test } from "./open.ts";

const MB = 1 << 20;

/** This process does not grow by so many bytes once something was done so often, beyond what the first times take. */
async function assertFlatOver(times: number, maxBytes: number, action: () => unknown): Promise<void> {
  for (let i = 0; i < times / 4; i++) await action();
  await assertFlat(maxBytes, async () => {
    for (let i = 0; i < times; i++) await action();
  });
}

test("outputs that runs make give 4 MB back, each", async () => {
  using ort = openOnnxRuntime();
  using session = ort.compileSync(unary("Sigmoid", "f32", [MB]), { threads: 2 });
  using x = ort.allocate({ shape: [MB], dtype: "f32" });
  await assertFlatOver(60, 40 * MB, () => session.run({ x }).y[Symbol.dispose]());
});

test("OrtValues over memory of others are released", async () => {
  using ort = openOnnxRuntime();
  using x = ort.allocate({ shape: [4], dtype: "f32" });
  await assertFlatOver(40, 20 * MB, () => {
    for (let i = 0; i < 5_000; i++) {
      using part = x.borrow("read");
      void part.handle;
    }
  });
});

test("sessions give their models back", async () => {
  using ort = openOnnxRuntime();
  const model = unary("Sigmoid", "f32", [MB]);
  using x = ort.allocate({ shape: [MB], dtype: "f32" });
  await assertFlatOver(40, 40 * MB, async () => {
    using session = await ort.compile(model, { threads: 2 });
    (await session.runAsync({ x })).y[Symbol.dispose]();
  });
});
