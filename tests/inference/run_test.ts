/** What a session does with either runtime. */
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { ArgumentError, DisposedError, host, InteropError, LayoutError, NativeCallError } from "@samepage/interop";
import type { InferenceContext } from "../../src/inference/context.ts";
import type { InferenceTensor } from "../../src/inference/tensor.ts";
import { placesOf, randomize } from "./copies.ts";
import { ONNX_TYPES, onnxModel, unary } from "./onnx.ts";
import { forEachRuntime, RUNTIMES, type There } from "./runtimes.ts";

const SIGMOID = unary("Sigmoid", "f32", [64]);
const ROWS_OF_FOUR = unary("Sigmoid", "f32", ["n", 4]);

/** Its shape is right for some inputs alone. */
const RESHAPE = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: ["n"] }],
  outputs: [{ name: "y", type: "f32", shape: ["m", 4] }],
  constants: [{ name: "shape", values: [-1, 4] }],
  nodes: [{ op: "Reshape", inputs: ["x", "shape"], outputs: ["y"] }],
});

/** A tensor of the runtime's that is filled with a number. */
function filled(context: InferenceContext, graph: There["graph"], value: number, shape = [64]): InferenceTensor {
  const x = context.allocate({ shape, dtype: "f32" });
  using seen = graph.map(x, host);
  (seen.view() as Float32Array).fill(value);
  return x;
}

/** The last number of a tensor, in thousandths. */
function lastOf(graph: There["graph"], tensor: InferenceTensor): number {
  using seen = graph.map(tensor, host, { access: "read" });
  return Math.round(1000 * Number((seen.view() as Float32Array).at(-1)));
}

forEachRuntime("compile() takes a path, a file: URL and bytes, and reads names, shapes and dtypes", SIGMOID, async ({
  context,
}) => {
  const path = await Deno.makeTempFile({ suffix: ".onnx" });
  try {
    await Deno.writeFile(path, SIGMOID);
    for (const model of [path, new URL(`file://${path}`), SIGMOID]) {
      using session = await context.compile(model);
      assertEquals([session.inputs, session.outputs], [
        [{ name: "x", shape: [64], dtype: "f32" }],
        [{ name: "y", shape: [64], dtype: "f32" }],
      ]);
    }
  } finally {
    await Deno.remove(path);
  }
});

forEachRuntime("compile() refuses texts, by name", SIGMOID, async ({ context }) => {
  const error = await assertRejects(() => context.compile(unary("Identity", "string", [2])), InteropError);
  assertMatch(error.message, /^inputs\.x has strings, which no tensor has\./);
});

forEachRuntime("compile() of anything but a model fails with the runtime's words", SIGMOID, async ({ context }) => {
  await assertRejects(() => context.compile(new Uint8Array(100).fill(7)), NativeCallError, " failed with ");
});

for (const type of RUNTIMES[1].inPlace) {
  const dtype = type === "bool" ? "u8" : type;
  const model = unary(type === "bool" ? "Not" : "Identity", type, [4096]);
  forEachRuntime(`run() uses ${type} in place: there is no other copy of its bytes`, SIGMOID, ({
    runtime,
    context,
    graph,
  }) => {
    if (!runtime.inPlace.includes(type)) return void assertThrows(() => context.compileSync(model), ArgumentError);
    using session = context.compileSync(model);
    using read = host.allocate({ shape: [4096], dtype });
    using written = host.allocate({ shape: [4096], dtype });
    randomize(read);
    {
      using x = graph.map(read, context, { access: "read" });
      using y = graph.map(written, context, { access: "write" });
      const { infoOf } = context.values;
      assertEquals([x, y].map((tensor) => infoOf(tensor.handle).address), [read.address, written.address]);
      assertEquals(session.run({ x }, { y }).y, y);
    }
    assertEquals(placesOf(read).filter((place) => place !== read.address && place !== written.address), []);
    assertEquals(context.bytesCopied, 0);
  });
}

forEachRuntime("run() reads what the host has written since, and the host what it wrote", SIGMOID, ({
  context,
  graph,
  session,
}) => {
  using pixels = host.allocate({ shape: [64], dtype: "f32" });
  using result = host.allocate({ shape: [64], dtype: "f32" });
  for (const [value, expected] of [[0, 500], [2, 881], [-2, 119]]) {
    pixels.view().fill(value);
    {
      using x = graph.map(pixels, context, { access: "read" });
      using y = graph.map(result, context);
      session.run({ x }, { y });
    }
    assertEquals(Math.round(1000 * result.view()[63]), expected);
  }
});

forEachRuntime("run() makes the memory of an output that is left out, which maps to the host in place", SIGMOID, ({
  context,
  graph,
  session,
}) => {
  using x = context.allocate({ shape: [64], dtype: "f32" });
  const { y } = session.run({ x });
  {
    using made = y;
    using seen = graph.map(made, host, { access: "read" });
    assertEquals([seen.address, seen.view()[0], seen.route!.bytesMoved], [made.address, 0.5, 0]);
    using again = session.run({ x: made }).y; // by the object that the runtime has made
    assertEquals(again.shape, [64]);
  }
  assertThrows(() => y.handle, DisposedError);
});

forEachRuntime("run() makes an output of the shape that the result has", ROWS_OF_FOUR, async ({ context, session }) => {
  for (const rows of [3, 5, 2]) {
    using x = context.allocate({ shape: [rows, 4], dtype: "f32" });
    using y = session.run({ x }).y;
    using again = (await session.runAsync({ x })).y;
    assertEquals([y.shape, again.shape, y.address === again.address], [[rows, 4], [rows, 4], false]);
  }
});

forEachRuntime("run() refuses a dynamic output of another shape than the result", ROWS_OF_FOUR, ({
  context,
  session,
}) => {
  using y = context.allocate({ shape: [5, 4], dtype: "f32" });
  for (const rows of [3, 9]) {
    using x = context.allocate({ shape: [rows, 4], dtype: "f32" });
    assertThrows(() => session.run({ x }, { y }), InteropError, "shape");
  }
  using x = context.allocate({ shape: [5, 4], dtype: "f32" });
  assertEquals(session.run({ x }, { y }).y, y);
});

/** Where `x` is not 0: of an input of zeros, nothing. */
const NON_ZERO = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: ["n"] }],
  outputs: [{ name: "y", type: "i32", shape: [1, "m"] }],
  nodes: [
    { op: "NonZero", inputs: ["x"], outputs: ["places"] },
    { op: "Cast", inputs: ["places"], outputs: ["y"], attributes: { to: ONNX_TYPES.i32 } },
  ],
});

forEachRuntime("run() leaves out an output without elements", NON_ZERO, async ({ context, session }) => {
  using x = context.allocate({ shape: [8], dtype: "f32" });
  assertEquals([session.run({ x }), await session.runAsync({ x })], [{}, {}]);
});

/** Shapes of a model's input, of a tensor, and whether that fits. */
const SHAPES: readonly (readonly [(number | string)[], number[], boolean])[] = [
  [[1, 2, 1, 3], [2, 3], true],
  [[1, 2, 1, 3], [2, 3, 1], true],
  [[1, 2, 1, 3], [3, 2], false],
  [[1, 2, 1, 3], [1, 2, 3, 1], false], // as many dimensions have to be the same
  [["n", 2, 3], [2, 3], true], // any number of pictures may be one
  [["n", 2, 3], [4, 2, 3], true],
  [["n", 2, 3], [4, 2, 2], false],
  [["n", "m"], [6], true],
  [["n", 3], [1, 1, 3], true],
  [["n", 3], [2, 2, 3], false],
  [["n", 3], [1, 2, 3], true],
  [[2, "n"], [1, 2, 1], true],
  [[2, 3], [6], false],
];

for (const [expected, given, fits] of SHAPES) {
  forEachRuntime(
    `run() ${fits ? "takes" : "refuses"} [${given}] for [${expected}]`,
    unary("Relu", "f32", expected),
    ({ context, graph, session }) => {
      using x = filled(context, graph, 2, given);
      if (!fits) return void assertThrows(() => session.run({ x }), LayoutError, "inputs.x: expected the shape [");
      using y = session.run({ x }).y;
      assertEquals([y.shape.length, lastOf(graph, y)], [expected.length, 2000]);
    },
  );
}

forEachRuntime("runAsync() has several runs in flight, each with an output of its own", SIGMOID, async ({
  context,
  graph,
  session,
}) => {
  using inputs = new DisposableStack();
  const runs = [-2, 0, 2].map((value) => session.runAsync({ x: inputs.use(filled(context, graph, value)) }));
  for (const [i, { y }] of (await Promise.all(runs)).entries()) {
    using made = y;
    assertEquals(lastOf(graph, made), [119, 500, 881][i]);
  }
});

forEachRuntime("run() and runAsync() fail as the model does, and the session goes on", RESHAPE, async ({
  runtime,
  context,
  session,
}) => {
  const { here, elsewhere, codeName } = runtime.run;
  using odd = context.allocate({ shape: [7], dtype: "f32" });
  using even = context.allocate({ shape: [8], dtype: "f32" });
  const error = assertThrows(() => session.run({ x: odd }), NativeCallError);
  assertEquals([error.api, error.codeName], [runtime.api, codeName]);
  assert([here, elsewhere].includes(error.fn!), error.fn); // with one core, OpenVINO's own thread runs it
  const [first, second, third] = await Promise.allSettled([odd, even, odd].map((x) => session.runAsync({ x })));
  for (const failed of [first, third]) {
    const { fn } = (failed as PromiseRejectedResult).reason as NativeCallError;
    assertEquals(fn, elsewhere);
  }
  using made = (second as PromiseFulfilledResult<ReturnType<typeof session.run>>).value.y;
  using y = session.run({ x: even }).y;
  assertEquals([made.shape, y.shape], [[2, 4], [2, 4]]);
});

forEachRuntime(
  "tensors that end before the promise of their run settles leave its error to the promise",
  RESHAPE,
  async ({
    context,
    graph,
    session,
  }) => {
    for (const [given, rows] of [[7, 2], [8, 3], [8, 2]]) { // the model fails; the result is shorter; all is well
      using pixels = host.allocate({ shape: [given], dtype: "f32" });
      using result = host.allocate({ shape: [rows, 4], dtype: "f32" });
      const x = graph.map(pixels, context, { access: "read" }) as InferenceTensor;
      const y = graph.map(result, context, { access: "write" }) as InferenceTensor;
      const run = session.runAsync({ x }, { y });
      x[Symbol.dispose](); // it waits for the run, and frees the runtime's object
      y[Symbol.dispose]();
      if (given === 4 * rows) assertEquals((await run).y, y);
      else await assertRejects(() => run, InteropError, given === 7 ? " failed with " : "2,4");
    }
  },
);

forEachRuntime("a run behind one that fails fails too, until its input is filled", RESHAPE, async ({
  runtime,
  context,
  graph,
  session,
}) => {
  using next = runtime.compile(context, ROWS_OF_FOUR);
  using x = context.allocate({ shape: [7], dtype: "f32" });
  using y = context.allocate({ shape: [2, 4], dtype: "f32" });
  using z = context.allocate({ shape: [2, 4], dtype: "f32" });
  const run = session.runAsync({ x }, { y });
  const failed = assertRejects(() => run, NativeCallError);
  const error = await assertRejects(() => next.runAsync({ x: y }, { y: z }));
  assertEquals(await failed, error);
  assertEquals(assertThrows(() => next.run({ x: y }, { y: z })), error);
  using even = context.allocate({ shape: [8], dtype: "f32" });
  await session.runAsync({ x: even }, { y }); // what has failed before is over
  await next.runAsync({ x: y }, { y: z });
  assertEquals(lastOf(graph, z), 500);
});

forEachRuntime("attach() takes an object that other code made, in place, and gives it back at the end", SIGMOID, ({
  context,
  graph,
  session,
}) => {
  const { values } = context;
  using pixels = host.allocate({ shape: [64], dtype: "f32" });
  using result = host.allocate({ shape: [64], dtype: "f32" });
  pixels.view().fill(2);
  const [read, written] = [pixels, result].map(({ address }) =>
    values.over(address, values.elements.typeOf("f32"), [1, 64], 256)
  );
  let ended = 0;
  const owner = (object: typeof read) => () => {
    values.free(object);
    ended++;
  };
  {
    using x = context.attach(read, { access: "read", owner: owner(read) });
    using y = context.attach(written, { owner: owner(written) });
    assertEquals([x.handle, x.shape, x.dtype, x.address], [read, [1, 64], "f32", pixels.address]);
    session.run({ x }, { y });
    assertEquals([lastOf(graph, y), ended, context.bytesCopied], [881, 0, 0]);
  }
  assertEquals([ended, Math.round(1000 * Number(result.view()[63]))], [2, 881]);
});

forEachRuntime("a context ends its sessions, and waits for their runs", SIGMOID, async ({ runtime, context }) => {
  const other = runtime.open();
  const session = runtime.compile(other, SIGMOID);
  using x = other.allocate({ shape: [64], dtype: "f32" });
  const run = session.runAsync({ x });
  other[Symbol.dispose]();
  await assertRejects(() => run, DisposedError);
  assertThrows(() => session.run({ x }), DisposedError);
  assertEquals(context.resource.isLive, true);
});

forEachRuntime("map() refuses memory with gaps, and takes a part without", SIGMOID, ({ context, graph }) => {
  using padded = host.allocate({ shape: [4, 4], dtype: "f32", strides: [32, 4] });
  assertThrows(() => graph.map(padded, context), InteropError, "there may be no gaps");
  using dense = graph.map(padded.slice({ shape: [1, 4], dtype: "f32" }), context);
  const { address, shape } = context.values.infoOf(dense.handle);
  assertEquals({ address, shape }, { address: padded.address, shape: [1, 4] });
});
