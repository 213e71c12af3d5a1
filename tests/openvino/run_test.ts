import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { ArgumentError, host, InteropError, LayoutError, MapperGraph, NativeCallError } from "@samepage/interop";
import { OpenVINOContext } from "@samepage/interop/openvino";
import { irModel, parameter, ROWS, ROWS_WEIGHTS, unary } from "./models.ts";
import { test } from "./help.ts";
import { LIBRARY, openOpenVINO } from "./open.ts";

test("open() reports the version, the device and what other devices there are", () => {
  using ov = openOpenVINO();
  assertMatch(ov.version, /^\d{4}\.\d/);
  assertEquals([ov.device, ov.devices.includes("CPU")], ["CPU", true]);
});

test("open() of a device that is not here fails with OpenVINO's words", () => {
  const error = assertThrows(
    () => OpenVINOContext.open({ library: LIBRARY!, device: "NONE" }),
    NativeCallError,
  );
  assertMatch(error.message, /ov_core_get_property failed with .*NONE/);
});

test("compile() finds the weights beside a path, or takes them", async () => {
  using ov = openOpenVINO();
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/model.xml`;
    await Deno.writeFile(path, CONSTANT);
    await Deno.writeFile(`${folder}/model.bin`, new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer));
    const weights = new Float32Array([1, 2, 3, 4]);
    const sessions = [
      ov.compileSync(path),
      await ov.compile(new URL(`file://${path}`)),
      ov.compileSync(CONSTANT, { weights }),
    ];
    using graph = new MapperGraph([host, ov]);
    using x = ov.allocate({ shape: [4], dtype: "f32" });
    for (const each of sessions) {
      using session = each;
      using y = session.run({ x }).y;
      using seen = graph.map(y, host, { access: "read" });
      assertEquals([...seen.view()], [1, 2, 3, 4]);
    }
    assertThrows(() => ov.compileSync(CONSTANT), NativeCallError);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** `y = x + c`, where the four numbers of `c` are in the file of weights. */
const CONSTANT = irModel([
  parameter("x", "f32", [4]),
  {
    type: "Const",
    data: 'element_type="f32" shape="4" offset="0" size="16"',
    inputs: [],
    output: { name: "c", type: "f32", shape: [4] },
  },
  { type: "Add", data: 'auto_broadcast="numpy"', inputs: [0, 1], output: { name: "y", type: "f32", shape: [4] } },
], [2]);

for (const type of ["i64", "u64", "f64", "u16", "i16", "u32"] as const) {
  test(`compile() refuses ${type}, which OpenVINO converts, and counts it where a copy is allowed`, () => {
    using ov = openOpenVINO();
    const model = unary("Relu", type, [16]);
    const error = assertThrows(() => ov.compileSync(model), ArgumentError);
    assertMatch(error.message, /^copy: OpenVINO copies x, y through memory of its own/);
    using session = ov.compileSync(model, { copy: "allow" });
    using x = ov.allocate({ shape: [16], dtype: type });
    session.run({ x }).y[Symbol.dispose]();
    assertEquals(ov.bytesCopied, 2 * x.byteLength);
  });
}

test("compile() refuses elements of 4 bits, by name", () => {
  using ov = openOpenVINO();
  const model = irModel([parameter("x", "i4", [4])], [0]);
  assertThrows(() => ov.compileSync(model), InteropError, "inputs.x has elements of ov_element_type_e");
});

test("run() on one thread fails as the model does, where ov_infer_request_infer reports success", () => {
  using ov = OpenVINOContext.open({ library: LIBRARY!, properties: { INFERENCE_NUM_THREADS: "1" } });
  using session = ov.compileSync(ROWS, { weights: ROWS_WEIGHTS });
  using odd = ov.allocate({ shape: [7], dtype: "f32" });
  using even = ov.allocate({ shape: [8], dtype: "f32" });
  for (let i = 0; i < 2; i++) {
    assertThrows(() => session.run({ x: odd }), NativeCallError, "ov_infer_request_wait failed with GENERAL_ERROR");
    using y = session.run({ x: even }).y;
    assertEquals(y.shape, [2, 4]);
  }
});

test("a result that is shorter than its tensor is refused, whichever request had that tensor before", async () => {
  using ov = openOpenVINO();
  using session = ov.compileSync(unary("Negative", "f32", [-1]));
  using made = new DisposableStack();
  const vector = (length: number) => made.use(ov.allocate({ shape: [length], dtype: "f32" }));
  const [whole, part, y, other] = [vector(4096), vector(64), vector(4096), vector(4096)];
  const wrong = "the result has the shape [64], and the tensor [4096].";
  await Promise.all([session.runAsync({ x: whole }, { y }), session.runAsync({ x: whole }, { y })]); // two requests
  assertThrows(() => session.run({ x: part }, { y }), LayoutError, wrong);
  const busy = session.runAsync({ x: whole }, { y: other }); // the next run takes the other request
  await assertRejects(() => session.runAsync({ x: part }, { y }), LayoutError, wrong);
  await busy;
  await session.runAsync({ x: whole }, { y });
});
