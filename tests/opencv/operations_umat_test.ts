// Every operation on UMats, beside the same on Mats: OpenCV's own kernels, built by the OpenCL driver that is here.

import { assert, assertEquals } from "@std/assert";
import { host, type HostTensor, ledger, MapperGraph, type Target } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext, type OpenCVTensor } from "@samepage/interop/opencv";
import { detectEdges, HIGH, LOW } from "../../examples/edges/host.ts";
import type { Address } from "../../ffi/address.ts";
import { copyElements } from "../../src/core/layout/runs.ts";
import { core } from "../../src/opencv/library.ts";
import { hasDevice } from "../opencl/present.ts";
import { pattern, present } from "./help.ts";
import { type Case, CASES, type Kind } from "./operations_cases.ts";

/** Names of platforms, and part of what they call themselves. */
const PLATFORMS = { PoCL: "Portable Computing Language", rusticl: "rusticl" } as const;

for (const [name, platform] of Object.entries(PLATFORMS)) {
  const here = present && hasDevice(platform);
  Deno.test({
    name: here ? `${name}: operations on UMats` : `${name}: operations on UMats (not here: OpenCV and ${name})`,
    ignore: !here,
    fn: async (t) => {
      const before = ledger.alive;
      {
        using cv = OpenCVContext.open();
        using cl = OpenCLContext.open({ platform });
        using graph = new MapperGraph([host, cl, cv]);
        for (const each of CASES) await t.step(each.name, () => compare(graph, cv, each));
        await t.step("the demo's edges", () => edges(graph, cv));
        await t.step("copies between Mats and UMats, with masks too", () => copies(graph, cv));
        await t.step("parts of a buffer are copied, with padded rows", () => partsCopied(graph, cv, cl));
        await t.step("copyTo() and convertTo() keep the gaps of four dimensions", () => gapsCopied(graph, cv, cl));
        await t.step("copyTo() copies two boxes for each place of the shorter dimensions", () => boxes(graph, cv));
        await t.step("a blur sees nothing of what lies around a UMat in its buffer", () => isolated(graph, cv, cl));
      }
      assertEquals(ledger.alive, before, "alive after the test, and before it");
    },
  });
}

/** Rows are padded, so that every kernel has to keep to the step. */
function allocate({ shape, dtype }: Kind): HostTensor {
  return host.allocate({ shape, dtype, rowAlign: 64 });
}

function filled(kind: Kind): HostTensor {
  const tensor = allocate(kind);
  const view = tensor.view();
  const bytes = pattern(view.length, 7);
  for (let i = 0; i < view.length; i++) view[i] = kind.dtype === "i8" ? bytes[i] - 128 : bytes[i] * 1.25;
  return tensor;
}

function compare(graph: MapperGraph, cv: OpenCVContext, { src, dst, call, tolerance, outliers = 0 }: Case): void {
  using from = filled(src);
  using expected = allocate(dst);
  using actual = allocate(dst);
  const on = (to: HostTensor, target: Target<OpenCVTensor>) => {
    using input = graph.map(from, target, { access: "read" });
    using output = graph.map(to, target);
    return call(cv, input, output);
  };
  assertEquals(on(actual, cv.umat), on(expected, cv.mat));
  const [a, b] = [expected.view() as Float64Array, actual.view() as Float64Array];
  assert(a.some((value) => value !== 0), "a result");
  const isFloat = dst.dtype[0] === "f";
  const far = a.reduce((count, value, i) => {
    const most = isFloat ? tolerance * Math.max(1, Math.abs(value)) : tolerance;
    return Math.abs(value - b[i]) > most ? count + 1 : count;
  }, 0);
  assert(far <= a.length * outliers, `${far} of ${a.length} values differ by more than ${tolerance}`);
}

/** Mats give the bytes of examples/edges. UMats round ties to even in the blur, and miss edges that touch the border. */
function edges(graph: MapperGraph, cv: OpenCVContext): void {
  using photo = cv.imread(new URL("../../examples/edges/photo.jpg", import.meta.url).pathname);
  const [height, width] = photo.layout.shape;
  using rgba = host.allocate({ shape: [height, width, 4], dtype: "u8" });
  {
    using to = graph.map(rgba, cv.mat);
    cv.cvtColor(photo, to, "BGR2RGBA");
  }
  const expected = detectEdges(rgba.view(), width, height);
  const targets: readonly (readonly [Target<OpenCVTensor>, number])[] = [[cv.mat, 0], [cv.umat, 20]];
  for (const [target, most] of targets) {
    using grey = host.allocate({ shape: [height, width], dtype: "u8" });
    {
      using from = graph.map(rgba, target, { access: "read" });
      using image = graph.map(grey, target);
      cv.cvtColor(from, image, "RGBA2GRAY");
      cv.GaussianBlur(image, image, [5, 5], { sigmaX: 1.2, border: "replicate" });
      cv.Canny(image, image, LOW, HIGH);
    }
    const different = grey.view().reduce((count, value, i) => value === expected[i] ? count : count + 1, 0);
    assert(different <= most, `${different} pixels differ`);
  }
}

function copies(graph: MapperGraph, cv: OpenCVContext): void {
  const kind: Kind = { shape: [30, 40, 3], dtype: "u8" };
  const targets: readonly Target<OpenCVTensor>[] = [cv.mat, cv.umat];
  for (const [from, to] of targets.flatMap((from) => targets.map((to) => [from, to]))) {
    for (const channels of [0, 1, 3]) {
      using source = filled(kind);
      using copy = allocate(kind);
      using chosen = allocate({ shape: channels === 3 ? [30, 40, 3] : [30, 40], dtype: "u8" });
      chosen.view().forEach((_, i, view) => view[i] = i % 3 === 0 ? 255 : 0);
      {
        using input = graph.map(source, from, { access: "read" });
        using output = graph.map(copy, to);
        using mask = graph.map(chosen, from, { access: "read" });
        cv.copyTo(input, output, channels === 0 ? {} : { mask });
      }
      const [a, b] = [elements(source), elements(copy)];
      const wanted = channels === 0 ? undefined : elements(chosen);
      const kept = (i: number) => wanted === undefined || wanted[channels === 3 ? i : Math.floor(i / 3)] !== 0;
      assertEquals([...b], [...a].map((value, i) => kept(i) ? value : 0));
    }
  }
}

/** The elements of an array with padded rows, without the padding. */
function elements(tensor: HostTensor): Uint8Array {
  const { shape: [rows, ...rest], strides } = tensor.layout;
  const row = rest.reduce((product, extent) => product * extent, 1);
  const bytes = tensor.bytes();
  return Uint8Array.from({ length: rows * row }, (_, i) => bytes[Math.floor(i / row) * strides[0] + i % row]);
}

/** Where a part may be a sub-buffer too: PoCL's copy of rectangles knows none. */
function partsCopied(graph: MapperGraph, cv: OpenCVContext, cl: OpenCLContext): void {
  using source = filled({ shape: [100, 40, 3], dtype: "u8" });
  using copy = allocate({ shape: [100, 40, 3], dtype: "u8" });
  const { strides: [row] } = source.layout;
  const part = { ...source.layout, shape: [20, 40, 3], byteOffset: 64 * row, byteLength: 19 * row + 120 };
  {
    using from = graph.map(source, cl, { access: "read" });
    using to = graph.map(copy, cl);
    using fromPart = from.slice(part);
    using toPart = to.slice(part);
    using input = graph.map(fromPart, cv.umat);
    using output = graph.map(toPart, cv.umat);
    cv.copyTo(input, output);
  }
  const isIn = (i: number) => i >= 64 * 120 && i < 84 * 120;
  assertEquals([...elements(copy)], [...elements(source)].map((value, i) => isIn(i) ? value : 0));
}

function isolated(graph: MapperGraph, cv: OpenCVContext, cl: OpenCLContext): void {
  using tall = filled({ shape: [60, 50], dtype: "u8" });
  using copy = filled({ shape: [60, 50], dtype: "u8" });
  const part = { ...tall.layout, shape: [21, 50], byteOffset: 17 * 64, byteLength: 20 * 64 + 50 };
  {
    using lower = copy.slice(part);
    using mat = graph.map(lower, cv.mat);
    blurred(cv, mat);
  }
  {
    using buffer = graph.map(tall, cl);
    using lower = buffer.slice(part);
    using umat = graph.map(lower, cv.umat);
    blurred(cv, umat);
  }
  const [a, b] = [copy.bytes(), tall.bytes()];
  assert(a.every((value, i) => Math.abs(value - b[i]) <= 1));
}

function blurred(cv: OpenCVContext, image: OpenCVTensor): void {
  cv.GaussianBlur(image, image, [7, 7], { sigmaX: 2 });
}

/** Gaps in three dimensions: boxes along the longest are few, whichever it is. */
function boxes(graph: MapperGraph, cv: OpenCVContext): void {
  for (const [shape, strides] of [[[500, 3, 4], [24, 6, 1]], [[3, 500, 4], [3600, 6, 1]]]) {
    using source = host.allocate({ shape, strides, dtype: "u8" });
    using result = host.allocate({ shape, strides: [strides[0] + 8, strides[1] + 1, 1], dtype: "u8" });
    source.view().forEach((_, i, all) => all[i] = i * 7);
    result.view().fill(9);
    const native = core() as { UMat_copyTo: (from: Address, to: Address) => void };
    const { UMat_copyTo: copy } = native;
    let calls = 0;
    native.UMat_copyTo = (from, to) => {
      calls++;
      copy(from, to);
    };
    {
      using _back = { [Symbol.dispose]: () => void (native.UMat_copyTo = copy) };
      const umat = cv.umatOf({ channels: 1 });
      using from = graph.map(source, umat);
      using to = graph.map(result, umat);
      cv.copyTo(from, to);
    }
    assertEquals(calls, 6, "native copies");
    const expected = result.view().map(() => 9);
    copyElements(expected, result.layout, source.view() as Uint8Array, source.layout);
    assertEquals(result.view(), expected);
  }
}

function gapsCopied(graph: MapperGraph, cv: OpenCVContext, cl: OpenCLContext): void {
  const shape = [2, 3, 4, 5];
  using buffer = cl.allocate({ shape, dtype: "u8", strides: [8 * 12, 8 * 4, 8, 1] });
  using other = cl.allocate({ shape, dtype: "u8" });
  using umat = graph.map(buffer, cv.umat);
  using dense = graph.map(other, cv.umat);
  using source = filled({ shape, dtype: "u8" });
  using result = allocate({ shape, dtype: "u8" });
  {
    using from = graph.map(source, cv.mat);
    using to = graph.map(result, cv.mat);
    const copies = [cv.copyTo.bind(cv), (a: OpenCVTensor, b: OpenCVTensor) => cv.convertTo(a, b, "u8")];
    for (const copy of copies) {
      for (const [src, dst] of [[from, umat], [umat, dense], [dense, to]]) copy(src, dst);
    }
    using mask = cv.mat.create({ shape, dtype: "u8" });
    for (const [src, dst] of [[umat, to], [from, umat], [umat, dense]]) cv.copyTo(src, dst, { mask });
  }
  assertEquals([...elements(result)], [...elements(source)]);
}
