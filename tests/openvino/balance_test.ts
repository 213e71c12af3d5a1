// Each native object is freed once: the calls are counted, since OpenVINO itself counts nothing.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { host, MapperGraph, NativeCallError } from "@samepage/interop";
import { setTap } from "../../src/core/native/library.ts";
import { test } from "./help.ts";
import { ROWS, ROWS_WEIGHTS, unary } from "./models.ts";
import { openOpenVINO } from "./open.ts";

/** What makes an object, and what frees it. */
const PAIRS: Readonly<Record<string, readonly string[]>> = {
  ov_core_free: ["ov_core_create"],
  ov_model_free: ["ov_core_read_model_from_memory_buffer", "ov_preprocess_prepostprocessor_build"],
  ov_compiled_model_free: ["ov_core_compile_model"],
  ov_infer_request_free: ["ov_compiled_model_create_infer_request"],
  ov_tensor_free: ["ov_tensor_create", "ov_tensor_create_from_host_ptr"],
  ov_output_const_port_free: ["ov_compiled_model_input_by_index", "ov_compiled_model_output_by_index"],
  ov_layout_free: ["ov_layout_create"],
};

const calls = new Map<string, number>();

setTap((api, functions) => {
  if (api !== "openvino") return functions;
  return Object.fromEntries(
    Object.entries(functions).map(([name, fn]) => [name, (...given: unknown[]) => {
      const returned = (fn as (...given: unknown[]) => unknown)(...given);
      if (returned === 0 || returned === undefined) calls.set(name, (calls.get(name) ?? 0) + 1);
      return returned;
    }]),
  );
});

test("what a session makes natively is freed, also after runs that fail and outputs that are not taken", async () => {
  {
    using ov = openOpenVINO();
    using graph = new MapperGraph([host, ov]);
    using preprocessed = ov.compileSync(unary("Relu", "f32", [1, 3, 4, 4]), {
      preprocess: { x: { dtype: "u8", layout: "NHWC", modelLayout: "NCHW" } },
    });
    assert(preprocessed.resource.isLive);
    using session = ov.compileSync(unary("Sigmoid", "f32", [-1, 4]));
    using x = ov.allocate({ shape: [5, 4], dtype: "f32" });
    using small = ov.allocate({ shape: [3, 4], dtype: "f32" });
    assertThrows(() => session.run({ x }, { y: small }), NativeCallError);
    session.run({ x }).y[Symbol.dispose]();
    using rows = ov.compileSync(ROWS, { weights: ROWS_WEIGHTS });
    using odd = ov.allocate({ shape: [7], dtype: "f32" });
    assertThrows(() => rows.run({ x: odd }), NativeCallError); // its output was made, and is not taken
    using y = (await session.runAsync({ x })).y;
    using seen = graph.map(y, host, { access: "read" });
    const cancelled = session.runAsync({ x }, {}, { signal: AbortSignal.timeout(0) });
    await cancelled.then(({ y }) => y[Symbol.dispose](), () => {});
    assert(seen.resource.isLive);
  }
  for (const [free, makers] of Object.entries(PAIRS)) {
    const made = makers.reduce((count, name) => count + (calls.get(name) ?? 0), 0);
    assert(made > 0, `nothing calls ${makers}`);
    assertEquals(calls.get(free), made, free);
  }
});
