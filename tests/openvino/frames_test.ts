import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  ArgumentError,
  type Frame,
  host,
  type HostTensor,
  imageInfo,
  InteropError,
  LayoutError,
  MapperGraph,
  NativeCallError,
} from "@samepage/interop";
import type { OpenVINOTensor } from "@samepage/interop/openvino";
import { separateFrame } from "../conformance/bytes.ts";
import { placesOf } from "../inference/copies.ts";
import { onnxModel, power, SIDE } from "../inference/onnx.ts";
import { rawNumber } from "../inference/runtimes.ts";
import { unary } from "./models.ts";
import { test } from "./help.ts";
import { openOpenVINO } from "./open.ts";

const [WIDTH, HEIGHT] = [64, 32];

/** A model that takes and returns RGB, as most are: planes of floats. */
const PLANAR = unary("Relu", "f32", [1, 3, HEIGHT, WIDTH]);

/** BT.601, video levels: what OpenVINO's conversion computes. */
function rgbOf(y: number, u: number, v: number): readonly number[] {
  const [c, d, e] = [1.164 * (y - 16), u - 128, v - 128];
  return [c + 1.596 * e, c - 0.391 * d - 0.813 * e, c + 2.018 * d].map((x) => Math.min(255, Math.max(0, x)));
}

test("run() takes a frame of NV12 as two planes, in place, and converts it in the model", () => {
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, ov]);
  const input = { format: "NV12", dtype: "u8", modelLayout: "NCHW" } as const;
  using session = ov.compileSync(PLANAR, { preprocess: { x: input } });
  assertEquals(session.inputs.map(({ name, format, planes }) => [name, format, planes?.map(({ shape }) => shape)]), [
    ["x", "NV12", [[1, HEIGHT, WIDTH, 1], [1, HEIGHT / 2, WIDTH / 2, 2]]],
  ]);
  using frame = host.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }));
  const [luma, chroma] = frame.planes;
  crypto.getRandomValues(luma.view() as Uint8Array<ArrayBuffer>);
  const uv = chroma.view();
  for (let i = 0; i < uv.length; i += 2) [uv[i], uv[i + 1]] = [90, 170];
  const expected = rgbOf(Number(luma.view()[0]), 90, 170);
  {
    using x = graph.map(frame, ov, { access: "read" });
    using y = session.run({ x }).y;
    using seen = graph.map(y, host, { access: "read" });
    const got = [0, 1, 2].map((channel) => Number(seen.view()[channel * WIDTH * HEIGHT]));
    assert(got.every((value, i) => Math.abs(value - expected[i]) <= 1.5), `${got} is not ${expected}`);
  }
  assertEquals(placesOf(luma), [luma.address]);
});

const SLOW = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: [1, 3, SIDE, SIDE] }],
  outputs: [{ name: "y", type: "f32", shape: [1, 3, SIDE, SIDE] }],
  nodes: power("x", "y"),
});

test("each plane of a frame waits for the run that reads it", async () => {
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, ov]);
  const input = { format: "NV12", dtype: "u8", modelLayout: "NCHW" } as const;
  using session = ov.compileSync(SLOW, { preprocess: { x: input } });
  const info = imageInfo({ format: "NV12", width: SIDE, height: SIDE });
  using frame = separateFrame((init) => host.allocate(init), info) as Frame<HostTensor>;
  using result = host.allocate({ shape: [1, 3, SIDE, SIDE], dtype: "f32" });
  for (const [i, black] of [16, 128].entries()) frame.planes[i].view().fill(black as never);
  for (const [i, { address }] of frame.planes.entries()) {
    result.view().fill(9 as never);
    using x = graph.map(frame, ov, { access: "read" }) as Frame<OpenVINOTensor>;
    using y = graph.map(result, ov, { access: "write" });
    assertEquals(x.planes[i].address, address);
    const run = session.runAsync({ x }, { y });
    await x.planes[i].finished();
    assert(rawNumber(result, 3 * SIDE * SIDE - 1) !== 9, `plane ${i} does not wait for the run`);
    await run;
  }
});

test("run() refuses a frame of another format, of another size, and a tensor in a frame's place", () => {
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, ov]);
  const input = { format: "NV12", dtype: "u8", modelLayout: "NCHW" } as const;
  using session = ov.compileSync(PLANAR, { preprocess: { x: input } });
  for (
    const [format, width, says] of [
      ["NV12", WIDTH * 2, `inputs.x: expected the shape [1,${HEIGHT},${WIDTH},1], got [${HEIGHT},${WIDTH * 2}].`],
      ["I420", WIDTH, "inputs.x: expected a frame of NV12, got I420."],
    ] as const
  ) {
    using frame = host.allocateFrame(imageInfo({ format, width, height: HEIGHT }));
    using x = graph.map(frame, ov, { access: "read" });
    assertThrows(() => session.run({ x }), LayoutError, says);
  }
  using x = ov.allocate({ shape: [HEIGHT, WIDTH], dtype: "u8" });
  assertThrows(() => session.run({ x }), ArgumentError, "inputs.x: expected a frame, got an OpenVINOTensor.");
});

test("map() refuses a frame whose rows have gaps", () => {
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, ov]);
  using frame = host.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }), { rowAlign: 128 });
  assertThrows(() => graph.map(frame, ov), InteropError, "there may be no gaps");
});

test("preprocess converts dtype, layout, color, size, mean and scale in the model", () => {
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, ov]);
  using session = ov.compileSync(PLANAR, {
    preprocess: {
      x: {
        ...{ dtype: "u8", layout: "NHWC", modelLayout: "NCHW", format: "BGR", modelFormat: "RGB" },
        ...{ size: [HEIGHT * 2, WIDTH * 2], resize: "nearest", mean: [10, 20, 30], scale: [2, 4, 8] },
      },
    },
  });
  assertEquals(session.inputs, [{ name: "x", shape: [1, HEIGHT * 2, WIDTH * 2, 3], dtype: "u8" }]);
  using pixels = host.allocate({ shape: [HEIGHT * 2, WIDTH * 2, 3], dtype: "u8" });
  const bytes = pixels.view();
  for (let i = 0; i < bytes.length; i += 3) [bytes[i], bytes[i + 1], bytes[i + 2]] = [110, 120, 130]; // b, g, r
  using x = graph.map(pixels, ov, { access: "read" });
  using y = session.run({ x }).y;
  using seen = graph.map(y, host, { access: "read" });
  const got = [0, 1, 2].map((channel) => Number(seen.view()[channel * WIDTH * HEIGHT]));
  assertEquals(got, [(130 - 10) / 2, (120 - 20) / 4, (110 - 30) / 8]);
  assertEquals(ov.bytesCopied, 0);
});

test("preprocess of an input that the model lacks, or of an invalid layout, fails with OpenVINO's words", () => {
  using ov = openOpenVINO();
  for (const preprocess of [{ z: { dtype: "u8" } }, { x: { layout: "N??!" } }] as const) {
    assertThrows(() => ov.compileSync(PLANAR, { preprocess }), NativeCallError, "ov_");
  }
});
