// What the doctor says of ONNX Runtime: its version and what is closed, or why it is not used.

import { assertEquals, assertMatch } from "@std/assert";
import { LIBRARY, test } from "../onnxruntime/open.ts";
import { reported } from "./run.ts";

async function onnxRuntimeIn(library: string) {
  const env = { SAMEPAGE_LIB_ONNXRUNTIME: library };
  const { apis, targets, edges } = await reported(["--no-proof"], { env, flags: ["--allow-ffi", "--allow-env"] });
  const about = apis.find(({ api }) => api === "onnxruntime")!;
  return { ...about, targets: targets.filter(({ api }) => api === "onnxruntime"), edges };
}

test("doctor: its version, what is closed, and its edges to the host", async () => {
  const { library, findings, devices, targets, edges } = await onnxRuntimeIn(LIBRARY!);
  assertMatch(library.version!, /^ONNX Runtime 1\.\d+/);
  assertEquals([findings, devices.map(({ name }) => name), targets.length], [[], [library.version!], 1]);
  const text = (name: string) => devices[0].traits.find(({ label }) => label === name)!.text;
  assertMatch(text("providers"), /CPUExecutionProvider/);
  assertEquals(text("closed"), "CUDA's memory: this library has no CUDAExecutionProvider");
  for (const edge of ["ortvalue→host", "host→ortvalue"]) {
    assertEquals(edges.filter((one) => one.edge === edge).map(({ open }) => open), [true], edge);
  }
});

Deno.test("doctor: without ONNX Runtime all else is there", async () => {
  const { library, findings, devices, targets } = await onnxRuntimeIn("/nonexistent/libonnxruntime.so.1");
  assertEquals([library.opened, devices, targets], [undefined, [], []]);
  assertEquals(library.attempts.map(({ path }) => path), ["/nonexistent/libonnxruntime.so.1"]);
  assertMatch(findings[0].remedy ?? "", /SAMEPAGE_LIB_ONNXRUNTIME/);
});
