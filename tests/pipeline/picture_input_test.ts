// pictureInput(): what a model's input holds of pictures, against the same arithmetic in JavaScript.

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import {
  ArgumentError,
  DisposedError,
  Frame,
  type FrameInfo,
  host,
  type HostTensor,
  type ImageFormat,
  imageInfo,
  LayoutError,
  ledger,
  MapperGraph,
  region,
} from "../../mod.ts";
import { OpenCLContext } from "../../src/opencl/mod.ts";
import {
  convert,
  infer,
  pictureInput,
  type PictureInputOptions,
  pipeline,
  Sink,
  Source,
  StageError,
} from "../../src/pipeline/mod.ts";
import { onnxModel } from "../inference/onnx.ts";
import { LIBRARY, openOnnxRuntime } from "../onnxruntime/open.ts";
import { numbered, test } from "./help.ts";

const [WIDTH, HEIGHT] = [8, 4];

type Rgb = readonly [number, number, number];
const colour = (x: number, y: number): Rgb => [20 * x, 40 + 30 * y, 200 - 10 * x];
const greyOf = ([r, g, b]: Rgb) => 0.299 * r + 0.587 * g + 0.114 * b;

function picture(): Frame<HostTensor> {
  const frame = host.allocateFrame(imageInfo({ format: "RGB", width: WIDTH, height: HEIGHT }));
  const bytes = frame.planes[0].bytes();
  for (let i = 0; i < WIDTH * HEIGHT; i++) bytes.set(colour(i % WIDTH, Math.floor(i / WIDTH)), 3 * i);
  return frame;
}

function pictureTest(name: string, run: () => void): void {
  test(name, () => Promise.try(run));
}

/** Fills a tensor from the picture, and returns its numbers. */
function filled(init: Parameters<typeof host.allocate>[0], options: PictureInputOptions, frame = picture()): number[] {
  using cl = OpenCLContext.open();
  using graph = new MapperGraph([host, cl]);
  using from = frame;
  using to = host.allocate(init);
  const input = pictureInput(cl, options);
  {
    using onDevice = graph.map(from, cl, { access: "read" });
    using image = graph.map(to, cl, { access: "write" });
    void input.prepare(onDevice, { image });
  }
  void input.close();
  return Array.from(to.view() as Float32Array, Number);
}

/** Where a channel of a pixel lies. */
const inPlanes = (x: number, y: number, c: number) => (c * HEIGHT + y) * WIDTH + x;
const inPixels = (x: number, y: number, c: number) => (y * WIDTH + x) * 3 + c;

function assertPixels(
  seen: number[],
  at: typeof inPlanes,
  wanted: (rgb: Rgb) => readonly number[],
  within: number,
): void {
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++) {
      for (const [c, value] of wanted(colour(x, y)).entries()) {
        assertAlmostEquals(seen[at(x, y, c)], value, within, `${x} ${y} ${c}`);
      }
    }
  }
}

pictureTest("pictureInput() writes planes of f32, normalized for each channel", () => {
  const [mean, scale] = [[123.7, 116.3, 103.5], [58.4, 57.1, 57.4]];
  const seen = filled({ shape: [1, 3, HEIGHT, WIDTH], dtype: "f32" }, { mean, scale, input: "image" });
  assertPixels(seen, inPlanes, (rgb) => rgb.map((value, c) => (value - mean[c]) / scale[c]), 1e-4);
});

pictureTest("pictureInput() writes pixels of f16 in the order of BGR, each channel with its own mean", () => {
  const options = { layout: "NHWC", format: "BGR", mean: [1, 2, 3], scale: 255 } as const;
  const seen = filled({ shape: [HEIGHT, WIDTH, 3], dtype: "f16" }, options);
  assertPixels(seen, inPixels, ([r, g, b]) => [(b - 1) / 255, (g - 2) / 255, (r - 3) / 255], 1e-3);
});

pictureTest("pictureInput() writes u8 and i8, rounded and saturated", () => {
  const seen = filled({ shape: [3, HEIGHT, WIDTH], dtype: "u8" }, {});
  assertPixels(seen, inPlanes, (rgb) => rgb, 0);
  const signed = filled({ shape: [1, HEIGHT, WIDTH, 3], dtype: "i8" }, { layout: "NHWC", mean: 100 });
  assertPixels(signed, inPixels, (rgb) => rgb.map((value) => Math.max(-128, Math.min(127, value - 100))), 0);
});

pictureTest("pictureInput() fills one channel, or all three, with grey", () => {
  for (const count of [1, 3]) {
    const shape = [1, count, HEIGHT, WIDTH];
    const seen = filled({ shape, dtype: "f32" }, { format: "GRAY8", mean: 127.5, scale: 127.5 });
    assertPixels(seen, inPlanes, (rgb) => Array(count).fill(greyOf(rgb) / 127.5 - 1), 1e-3);
  }
});

pictureTest("pictureInput() scales: a pixel of a smaller picture is the mean of those it stands for", () => {
  const seen = filled({ shape: [1, 3, 2, 4], dtype: "f32" }, {});
  const [r, g, b] = [0, 1, 2].map((c) => seen[c * 8 + 4 + 1]); // the second of the lower row: x of 2 and 3, y of 2 and 3
  assertEquals([r, g, b].map(Math.round), [50, 115, 175]);
});

/** A picture in a format that only libraries have names for: planes by their components. */
function planes(
  format: string,
  steps: readonly (readonly [number, number])[],
  values: readonly number[],
  [width, height] = [7, 5],
) {
  const shapes = steps.map(([step, rows]) => [Math.ceil(height / rows), Math.ceil(width / step)]);
  const tensors = shapes.map((shape, i) => {
    const plane = host.allocate({ shape, dtype: "u8" });
    plane.view().fill(values[i]);
    return plane;
  });
  return Frame.of(tensors, {
    ...{ type: "picture", format, width, height },
    planes: steps.map(([step, rows]) => ({ dtype: "u8", elements: 1, step, rows })),
  });
}

const ONE = [1, 1] as const;
for (
  const [format, steps, values, rgb] of [
    ["gbrp", [ONE, ONE, ONE], [20, 30, 10], [10, 20, 30]],
    ["GBR", [ONE, ONE, ONE], [20, 30, 10], [10, 20, 30]],
    ["RGBP", [ONE, ONE, ONE], [10, 20, 30], [10, 20, 30]],
    ["BGRP", [ONE, ONE, ONE], [30, 20, 10], [10, 20, 30]],
    ["Y42B", [ONE, [2, 1], [2, 1]], [81, 90, 240], [255, 0, 0]],
    ["yuv420p", [ONE, [2, 2], [2, 2]], [81, 90, 240], [255, 0, 0]],
    ["yuv422p", [ONE, [2, 1], [2, 1]], [81, 90, 240], [255, 0, 0]],
  ] as const
) {
  test(`pictureInput() and convert() read ${format} of an odd size`, async () => {
    const seen = filled({ shape: [3, 5, 7], dtype: "f32" }, {}, planes(format, steps, values));
    rgb.forEach((value, c) => seen.slice(35 * c, 35 * (c + 1)).forEach((one) => assertAlmostEquals(one, value, 1.5)));
    if (format !== "yuv422p") return;
    using cl = OpenCLContext.open();
    const pixels: number[] = [];
    const look = new Sink<HostTensor>({
      name: "look",
      takes: { memory: host },
      write: ({ planes: [plane] }) => void pixels.push(...plane.bytes({ access: "read" }).subarray(0, 3).map(Number)),
    });
    const source = new Source({
      name: "one",
      async *frames() {
        yield await Promise.resolve(planes(format, steps, values));
      },
    });
    await pipeline(source, convert(cl, { format: "BGR" }), look).run();
    rgb.forEach((value, c) => assertAlmostEquals(pixels[2 - c], value, 1.5));
  });
}

pictureTest("pictureInput() refuses other formats, and planes that are not those of their format", () => {
  const wrong = () => filled({ shape: [3, 5, 7], dtype: "f32" }, {}, planes("gbrp", [ONE, [2, 2], [2, 2]], [1, 2, 3]));
  assertThrows(wrong, ArgumentError, "its planes are not those of gbrp");
  const unread = () => filled({ shape: [3, 5, 7], dtype: "f32" }, {}, planes("gbrap", [ONE, ONE, ONE], [1, 2, 3]));
  assertThrows(unread, ArgumentError, "no kernel reads gbrap");
});

pictureTest("pictureInput() tells apart pictures of one size: by format, colours and planes", () => {
  using cl = OpenCLContext.open();
  using graph = new MapperGraph([host, cl]);
  const input = pictureInput(cl);
  const firstOf = (frame: Frame<HostTensor>) => {
    using from = frame;
    using to = host.allocate({ shape: [3, 6, 8], dtype: "u8" });
    {
      using onDevice = graph.map(from, cl, { access: "read" });
      using image = graph.map(to, cl, { access: "write" });
      void input.prepare(onDevice, { image });
    }
    return to.view()[0];
  };
  const of = (info: FrameInfo) => {
    const frame = host.allocateFrame(info);
    for (const plane of frame.planes) plane.bytes().forEach((_, i, all) => all[i] = 100 + i % 3);
    return frame;
  };
  const size = { width: 8, height: 6 };
  const grey = (range: "full" | "limited") => imageInfo({ format: "YUV444", ...size, colour: { range } });
  const flat = (info: FrameInfo) => {
    const frame = of(info);
    for (const plane of frame.planes.slice(1)) plane.bytes().fill(128);
    return frame;
  };
  assertEquals(["RGB", "BGR"].map((format) => firstOf(of(imageInfo({ format: format as ImageFormat, ...size })))), [
    100,
    102,
  ]);
  assertEquals((["full", "limited"] as const).map((range) => firstOf(flat(grey(range)))), [100, 98]);
  const picture = (second: readonly [number, number]) => planes("gbrp", [ONE, second, ONE], [1, 2, 3], [8, 6]);
  assertEquals(firstOf(picture(ONE)), 3);
  assertThrows(() => firstOf(picture([2, 2])), ArgumentError, "its planes are not those of gbrp");
  void input.close();
});

pictureTest("pictureInput() refuses a picture with gaps between its pixels", () => {
  const tensor = host.allocate({ shape: [HEIGHT, WIDTH, 3], dtype: "u8", strides: [4 * WIDTH, 4, 1] });
  const frame = Frame.of([tensor], imageInfo({ format: "RGB", width: WIDTH, height: HEIGHT }));
  const run = () => filled({ shape: [3, HEIGHT, WIDTH], dtype: "f32" }, {}, frame);
  assertThrows(run, LayoutError, "there are gaps within the rows of plane 0");
});

for (const dtype of ["f16", "u8"] as const) {
  pictureTest(`pictureInput() fills the second ${dtype} picture of a batch, where no sub-buffer begins`, () => {
    using cl = OpenCLContext.open();
    using graph = new MapperGraph([host, cl]);
    using frame = picture();
    using onDevice = graph.map(frame, cl, { access: "read" });
    using batch = cl.allocate({ shape: [2, 3, HEIGHT, WIDTH], dtype });
    cl.queue.fill(batch, 9);
    const input = pictureInput(cl);
    {
      using image = batch.slice(region(batch.layout, [1, 0, 0, 0], [1, 3, HEIGHT, WIDTH]));
      assert(image.layout.byteOffset > 0);
      void input.prepare(onDevice, { image });
    }
    void input.close();
    using seen = graph.map(batch, host, { access: "read" });
    const numbers = Array.from(seen.view() as Float32Array, Number);
    const half = numbers.length / 2;
    assertEquals(numbers.slice(0, half), Array(half).fill(9));
    assertPixels(numbers.slice(half), inPlanes, (rgb) => rgb, 0);
  });
}

pictureTest("pictureInput() and convert() refuse a context that was disposed", () => {
  const cl = OpenCLContext.open();
  cl[Symbol.dispose]();
  for (const make of [() => pictureInput(cl), () => convert(cl, { format: "RGB" })]) assertThrows(make, DisposedError);
});

for (
  const [what, shape, dtype, options, message] of [
    ["a list", [10], "f32", {}, "the model takes f32 [10]"],
    ["two pictures", [2, 3, 4, 4], "f32", {}, "the model takes f32 [2,3,4,4]"],
    [
      "another layout",
      [4, 4, 3],
      "f32",
      {},
      "RGB in NCHW fills an input [3, height, width] of f32, f16, u8, i8, and the model takes f32 [4,4,3]. Pass",
    ],
    ["one channel for RGB", [1, 4, 4], "f32", {}, "the model takes f32 [1,4,4]"],
    ["f64", [3, 4, 4], "f64", {}, "of f32, f16, u8, i8, and the model takes f64 [3,4,4]"],
    ["two means", [3, 4, 4], "f32", { mean: [1, 2] }, "mean: expected 3 numbers, got 2"],
    ["another name", [3, 4, 4], "f32", { input: "x" }, "the model has no input x. It has image"],
  ] as const
) {
  pictureTest(`pictureInput() refuses an input of ${what}`, () => {
    const before = ledger.alive;
    const error = assertThrows(() => filled({ shape, dtype }, options as PictureInputOptions), ArgumentError);
    assert(error.message.includes(message), error.message);
    assertEquals(ledger.alive, before);
  });
}

Deno.test({
  name: `pipeline: infer() with pictureInput() (${
    LIBRARY === undefined ? "skipped: deno task setup inference" : "f32"
  })`,
  ignore: LIBRARY === undefined,
  async fn() {
    const model = onnxModel({
      inputs: [{ name: "x", type: "f32", shape: ["n", 3, 2, 2] }],
      outputs: [{ name: "y", type: "f32", shape: ["n", 3, 2, 2] }],
      nodes: [{ op: "Sigmoid", inputs: ["x"], outputs: ["y"] }],
    });
    using ort = openOnnxRuntime();
    using cl = OpenCLContext.open();
    using session = ort.compileSync(model);
    const seen: number[] = [];
    const stage = infer(session, {
      ...pictureInput(cl, { format: "GRAY8", scale: 100 }),
      results: ({ y }) => void seen.push(y.view({ dtype: "f32", access: "read" })[11]),
    });
    const figures = await pipeline(numbered(3), stage, new Sink({ name: "end", write() {} })).run();
    assertEquals(figures.bytesMoved, 0);
    [1, 2, 3].forEach((value, i) => assertAlmostEquals(seen[i], 1 / (1 + Math.exp(-value / 100)), 1e-4));
    assertEquals(ledger.alive["opencl.cl_kernel"], undefined, "the stage has ended its kernels");
    const wrong = infer(session, { ...pictureInput(cl, { layout: "NHWC" }), results() {} });
    const error = await pipeline(numbered(1), wrong, new Sink({ name: "end", write() {} })).run().catch((error) =>
      error
    );
    assert(error instanceof StageError && error.message.includes("the model takes f32 [1,3,2,2]"), String(error));
  },
});
