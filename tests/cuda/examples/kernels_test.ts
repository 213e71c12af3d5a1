// The examples' kernels without a GPU: they compile for one, and as C++ on the CPU they add up to what the examples'
// references do. That a GPU runs them so is for examples_test.ts to show.

import { assertEquals } from "@std/assert";
import chainSource from "../../../examples/cuda-image-chain/kernels.cu" with { type: "text" };
import edgesSource from "../../../examples/cuda-edges/kernels.cu" with { type: "text" };
import matrixSource from "../../../examples/cuda-matrix-mul/kernels.cu" with { type: "text" };
import registerSource from "../../../examples/cuda-register/kernels.cu" with { type: "text" };
import previewSource from "../../../examples/nvdec-cuda/preview.cu" with { type: "text" };
import { stripes } from "../../../examples/cuda-edges/picture.ts";
import { chain } from "../../../examples/cuda-image-chain/image.ts";
import { multiply, randFill } from "../../../examples/cuda-matrix-mul/matrices.ts";
import { detectEdgesInGrey, grey, HIGH, LOW } from "../../../examples/edges/host.ts";
import { compile } from "../../../src/cuda/kernels/compile.ts";
import { nvrtc } from "../../../src/cuda/library.ts";
import { sourceIn } from "../../../src/cuda/kernels/source.ts";
import { cudaLibrary } from "../../cuda_libraries.ts";
import { meander, noise } from "../../edges/pictures.ts";
import { guardTest } from "../../guard/cxx.ts";
import { kernelsOnCpu, type Run } from "./on_cpu.ts";

const compiler = cudaLibrary("libnvrtc.so.13");

/** The sources, and what they are compiled with. */
const SOURCES: readonly (readonly [name: string, source: string, tile?: number])[] = [
  ["cuda-edges", edgesSource, 32],
  ["cuda-register", registerSource],
  ["cuda-image-chain", chainSource],
  ["cuda-matrix-mul", matrixSource, 16],
  ["nvdec-cuda", previewSource],
];

for (const [name, source, tile] of SOURCES) {
  Deno.test({
    name: `examples: ${name} compiles${compiler === undefined ? " (not here: needs deno task setup test)" : ""}`,
    ignore: compiler === undefined,
    fn() {
      openCompiler(compiler!);
      const options = tile === undefined ? {} : { defines: { TILE: tile } };
      const target = { name: "an H200", computeCapability: { major: 9, minor: 0 } };
      assertEquals(compile(sourceIn(source, options), target).log.trim(), "");
    },
  });
}

function openCompiler(path: string): void {
  const before = Deno.env.get("SAMEPAGE_LIB_NVRTC");
  Deno.env.set("SAMEPAGE_LIB_NVRTC", path);
  nvrtc();
  if (before === undefined) Deno.env.delete("SAMEPAGE_LIB_NVRTC");
  else Deno.env.set("SAMEPAGE_LIB_NVRTC", before);
}

/** As CudaEdges does it. */
function edgesOnCpu(run: Run, picture: Uint8Array<ArrayBuffer>, width: number, height: number): Uint8Array {
  const covered = (x: number, y: number) => [Math.ceil(width / x), Math.ceil(height / y)] as const;
  const pixels = covered(32, 8);
  const bytes = new Uint8Array(width * height);
  const words = new Uint16Array(width * height);
  const edges = new Uint8Array(width * height);
  run("blur_rows", pixels, [32, 8], [picture, words, width, height]);
  run("blur_columns", pixels, [32, 8], [words, bytes, width, height]);
  run("gradient", pixels, [32, 8], [bytes, words, width, height]);
  run("suppress", pixels, [32, 8], [words, bytes, width, height, LOW, HIGH]);
  const changed = new Int32Array(1);
  do {
    changed[0] = 0;
    run("hysteresis", covered(32, 32), [4, 4], [bytes, changed, width, height]);
  } while (changed[0] !== 0);
  run("finish", pixels, [32, 8], [bytes, edges, width, height]);
  return edges;
}

guardTest("examples: the kernels of cuda-edges add up to the host's edges", async () => {
  const run = await kernelsOnCpu();
  for (const { rgba, width, height } of [noise(1, 1), noise(3, 2), noise(97, 61), meander(129, 161), stripes(88, 40)]) {
    const picture = new Uint8Array(grey(rgba, width, height));
    assertEquals(edgesOnCpu(run, picture, width, height), detectEdgesInGrey(picture, width, height));
  }
});

guardTest("examples: the kernels of cuda-image-chain add up to the host's", async () => {
  const run = await kernelsOnCpu();
  for (const [width, height] of [[1, 1], [64, 3], [37, 11]] as const) {
    const image = Int32Array.from({ length: width * height }, () => Math.floor(256 * Math.random()));
    const [between, other] = [new Int32Array(image.length), new Int32Array(image.length)];
    const grid = [Math.ceil(width / 16), height] as const;
    run("k1", grid, [16, 1], [image, between, width, height]);
    run("k2", grid, [16, 1], [between, other, width, height]);
    run("k3", grid, [16, 1], [other, between, width, height]);
    assertEquals(between, chain(image, width, height));
  }
});

guardTest("examples: the kernel of cuda-matrix-mul adds up to the host's product", async () => {
  const run = await kernelsOnCpu();
  for (const [hp, wp, wq] of [[1, 1, 1], [17, 33, 18], [16, 5, 40]] as const) {
    const [p, q, r] = [new Int32Array(hp * wp), new Int32Array(wp * wq), new Int32Array(hp * wq)];
    randFill(p);
    randFill(q);
    run("matrixMul", [Math.ceil(wq / 16), Math.ceil(hp / 16)], [16, 16], [p, q, r, hp, wp, wp, wq]);
    assertEquals(r, multiply(p, q, { hp, wp, wq }));
  }
});

guardTest("examples: the kernel of cuda-register inverts every byte", async () => {
  const run = await kernelsOnCpu();
  const bytes = Uint8Array.from({ length: 300 }, (_, i) => i);
  run("invert", [2, 1], [256, 1], [bytes, bytes.length]);
  assertEquals(bytes, Uint8Array.from({ length: 300 }, (_, i) => 255 - (i & 255)));
});

guardTest("examples: the kernel of nvdec-cuda shows the mean of the pixels, in their colours", async () => {
  const run = await kernelsOnCpu();
  const [width, height, toWidth, toHeight] = [40, 24, 4, 3]; // a pixel of the preview is the mean of 10 × 8
  const [lumaStride, chromaStride] = [48, 56];
  const [luma, chroma] = [new Uint8Array(lumaStride * height), new Uint8Array(chromaStride * height / 2)];
  const expected = new Uint8Array(3 * toWidth * toHeight);
  const colours = [[81, 90, 240, 254, 0, 0], [145, 54, 34, 0, 255, 1], [41, 240, 110, 0, 0, 255], [235, 128, 128]];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [l, u, v, ...rgb] = colours[(Math.floor(x / 10) + Math.floor(y / 8)) % 4];
      luma[y * lumaStride + x] = l + ((x + y) % 2 === 0 ? 3 : -3);
      chroma.set([u, v], (y >> 1) * chromaStride + (x & ~1));
      expected.set(rgb.length === 0 ? [255, 255, 255] : rgb, 3 * (Math.floor(y / 8) * toWidth + Math.floor(x / 10)));
    }
  }
  const made = new Uint8Array(expected.length);
  const planes = [luma, lumaStride, chroma, chromaStride, width, height];
  run("preview", [1, 1], [32, 8], [...planes, made, toWidth, toHeight]);
  assertEquals(made.findIndex((byte, i) => Math.abs(byte - expected[i]) > 1), -1, `${made}, expected ${expected}`);
});
