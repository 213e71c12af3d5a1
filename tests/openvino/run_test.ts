import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import {
  ArgumentError,
  DisposedError,
  host,
  InteropError,
  LayoutError,
  MapperGraph,
  NativeCallError,
} from "@samepage/interop";
import type { OpenVINOContext, OpenVINOSession } from "@samepage/interop/openvino";
import { placesOf, randomize } from "../inference/copies.ts";
import { irModel, parameter, ROWS, ROWS_WEIGHTS, unary } from "./models.ts";
import { test } from "./help.ts";
import { openOpenVINO } from "./open.ts";

interface There {
  readonly ov: OpenVINOContext;
  readonly graph: MapperGraph;
  readonly session: OpenVINOSession;
}

/** A test with a session of one model. */
function testOf(name: string, model: Uint8Array<ArrayBuffer>, use: (there: There) => unknown): void {
  test(name, async () => {
    using ov = openOpenVINO();
    using graph = new MapperGraph([host, ov]);
    using session = ov.compileSync(model);
    await use({ ov, graph, session });
  });
}

const SIGMOID = unary("Sigmoid", "f32", [64]);
const DYNAMIC = unary("Sigmoid", "f32", [-1, 4]);

test("open() reports the version, the device and what other devices there are", () => {
  using ov = openOpenVINO();
  assertMatch(ov.version, /^\d{4}\.\d/);
  assertEquals([ov.device, ov.devices.includes("CPU")], ["CPU", true]);
});

test("open() of a device that is not here fails with OpenVINO's words", () => {
  using ov = openOpenVINO();
  const error = assertThrows(
    () => (ov.constructor as typeof OpenVINOContext).open({ device: "NONE" }),
    NativeCallError,
  );
  assertMatch(error.message, /ov_core_get_property failed with .*NONE/);
});

test("compile() takes a path, a file: URL and bytes, and finds the weights beside a path", async () => {
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

const IN_PLACE = [
  ["f32", "f32"],
  ["f16", "f16"],
  ["u8", "u8"],
  ["i8", "i8"],
  ["i32", "i32"],
  ["boolean", "u8"],
] as const;

for (const [type, dtype] of IN_PLACE) {
  testOf(
    `run() uses ${type} in place: there is no other copy of its bytes in the process`,
    unary(type === "boolean" ? "LogicalNot" : "Relu", type, [4096]),
    ({ ov, graph, session }) => {
      using read = host.allocate({ shape: [4096], dtype });
      using written = host.allocate({ shape: [4096], dtype });
      randomize(read);
      {
        using x = graph.map(read, ov, { access: "read" });
        using y = graph.map(written, ov, { access: "write" });
        assertEquals([x, y].map((tensor) => ov.values.infoOf(tensor.handle).address), [read.address, written.address]);
        assertEquals(session.run({ x }, { y }).y, y);
      }
      const others = placesOf(read).filter((place) => place !== read.address && place !== written.address);
      assertEquals(others, []);
      assertEquals(ov.bytesCopied, 0);
    },
  );
}

testOf("run() reads what the host has written since, and the host what it wrote", SIGMOID, ({ ov, graph, session }) => {
  using pixels = host.allocate({ shape: [64], dtype: "f32" });
  using result = host.allocate({ shape: [64], dtype: "f32" });
  for (const [value, expected] of [[0, 500], [2, 881], [-2, 119]]) {
    pixels.view().fill(value);
    {
      using x = graph.map(pixels, ov, { access: "read" });
      using y = graph.map(result, ov);
      session.run({ x }, { y });
    }
    assertEquals(Math.round(1000 * result.view()[63]), expected);
  }
});

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

test("compile() refuses texts and elements of 4 bits, by name", () => {
  using ov = openOpenVINO();
  for (const [type, what] of [["string", "texts"], ["i4", "elements of ov_element_type_e"]] as const) {
    const model = irModel([parameter("x", type, [4])], [0]);
    assertThrows(() => ov.compileSync(model), InteropError, `inputs.x has ${what}`);
  }
});

testOf("run() makes the memory of an output that is left out", SIGMOID, ({ ov, graph, session }) => {
  using x = ov.allocate({ shape: [64], dtype: "f32" });
  const { y } = session.run({ x });
  {
    using made = y;
    using seen = graph.map(made, host);
    assertEquals([seen.address, seen.view()[0], seen.route.bytesMoved], [made.address, 0.5, 0]);
  }
  assertThrows(() => y.handle, DisposedError);
});

testOf("run() makes an output of the shape that the result has", DYNAMIC, async ({ ov, session }) => {
  for (const rows of [3, 5, 2]) {
    using x = ov.allocate({ shape: [rows, 4], dtype: "f32" });
    using y = session.run({ x }).y;
    using again = (await session.runAsync({ x })).y;
    assertEquals([y.shape, again.shape, y.address === again.address], [[rows, 4], [rows, 4], false]);
  }
});

testOf("run() refuses a dynamic output of another shape than the result", DYNAMIC, ({ ov, session }) => {
  using y = ov.allocate({ shape: [5, 4], dtype: "f32" });
  for (const [rows, type] of [[3, LayoutError], [9, NativeCallError]] as const) {
    using x = ov.allocate({ shape: [rows, 4], dtype: "f32" });
    assertThrows(() => session.run({ x }, { y }), type, "shape");
  }
  using x = ov.allocate({ shape: [5, 4], dtype: "f32" });
  assertEquals(session.run({ x }, { y }).y, y);
});

testOf(
  "run() takes a tensor whose shape has other dimensions of 1",
  unary("Relu", "f32", [1, 2, 1, 3]),
  ({ ov, session }) => {
    using x = ov.allocate({ shape: [2, 3], dtype: "f32" });
    using y = ov.allocate({ shape: [2, 3, 1], dtype: "f32" });
    session.run({ x }, { y });
    using wrong = ov.allocate({ shape: [3, 2], dtype: "f32" });
    assertThrows(() => session.run({ x: wrong }), LayoutError, "inputs.x: expected the shape [1,2,1,3], got [3,2].");
  },
);

testOf(
  "runAsync() has several runs in flight, each with an output of its own",
  SIGMOID,
  async ({ ov, graph, session }) => {
    const inputs = [-2, 0, 2].map((value) => {
      const x = ov.allocate({ shape: [64], dtype: "f32" });
      using seen = graph.map(x, host);
      (seen.view() as Float32Array).fill(value);
      return x;
    });
    const results = await Promise.all(inputs.map((x) => session.runAsync({ x })));
    const means = results.map(({ y }) => {
      using seen = graph.map(y, host, { access: "read" });
      return Math.round(1000 * Number(seen.view()[63]));
    });
    assertEquals(means, [119, 500, 881]);
    for (const tensor of [...inputs, ...results.map(({ y }) => y)]) tensor[Symbol.dispose]();
  },
);

test("run() and runAsync() fail as the model does, and the session goes on", async () => {
  using ov = openOpenVINO();
  using session = ov.compileSync(ROWS, { weights: ROWS_WEIGHTS });
  using odd = ov.allocate({ shape: [7], dtype: "f32" });
  using even = ov.allocate({ shape: [8], dtype: "f32" });
  const error = assertThrows(() => session.run({ x: odd }), NativeCallError);
  assertEquals([error.api, error.fn, error.codeName], ["openvino", "ov_infer_request_infer", "GENERAL_ERROR"]);
  const settled = await Promise.allSettled([odd, even, odd].map((x) => session.runAsync({ x })));
  assertEquals(settled.map(({ status }) => status), ["rejected", "fulfilled", "rejected"]);
  (settled[1] as PromiseFulfilledResult<ReturnType<typeof session.run>>).value.y[Symbol.dispose]();
  using y = session.run({ x: even }).y;
  assertEquals(y.shape, [2, 4]);
});

testOf("a context ends its sessions, and waits for their runs", unary("Sigmoid", "f32", [1 << 20]), async ({ ov }) => {
  const other = openOpenVINO();
  const session = other.compileSync(SIGMOID);
  using x = other.allocate({ shape: [64], dtype: "f32" });
  const run = session.runAsync({ x });
  other[Symbol.dispose]();
  await assertRejects(() => run, DisposedError);
  assertThrows(() => session.run({ x }), DisposedError);
  assert(ov.resource.isLive);
});

testOf("map() refuses memory with gaps", SIGMOID, ({ ov, graph }) => {
  using padded = host.allocate({ shape: [4, 4], dtype: "f32", strides: [32, 4] });
  assertThrows(() => graph.map(padded, ov), InteropError, "there may be no gaps");
  using dense = graph.map(padded.slice({ shape: [1, 4], dtype: "f32" }), ov);
  assertEquals(ov.values.infoOf(dense.handle), { address: padded.address, shape: [1, 4] });
});
