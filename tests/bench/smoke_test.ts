// `deno task bench --smoke`: every figure comes out, and so do the page, the JSON and the picture. No time is judged.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import type { FigureResult } from "../../bench/harness/result.ts";
import { CLAIMS } from "../../src/advisor/mod.ts";
import type { Record as BenchRecord } from "../../bench/report/record.ts";
import { hasDevice } from "../opencl/present.ts";
import { noCuda } from "../../bench/harness/cuda.ts";
import { lackingFor } from "../../bench/harness/figure.ts";
import { hasOpenCV } from "../../bench/harness/opencv.ts";
import { exec, ROOT, temporaryFolder } from "../package/project.ts";
import { hasCompiler } from "./compiler.ts";
import { assertWellFormed } from "./xml.ts";

/** The figures of issues 4 and 5, and the ways of each that have to be there wherever this test runs. */
const FIGURES: Readonly<Record<string, readonly string[]>> = {
  "map-kernel-unmap": ["C", "samepage"],
  "map": ["C", "samepage"],
  "map-view": ["C", "samepage"],
  "transfer": ["C, copying", "samepage", "samepage, copying"],
  "edges": ["samepage, copying", "samepage"],
  "enqueue-busy": ["C", "samepage"],
  "enqueue-idle": ["C", "samepage"],
  "allocate-page": ["C", "samepage"],
  "allocate-frame": ["C", "samepage"],
  "wait-tiny": ["C", "samepage"],
  "wait-millisecond": ["C", "samepage"],
  "live": ["samepage, 1 alive", "samepage, 100,000 alive"],
  "peers": ["C", "samepage", "C, copying", "samepage, copying"],
  "opencv-mat": ["C++", "samepage"],
  "opencv-umat": ["C++", "samepage"],
  ...Object.fromEntries(
    ["seed", "1080p", "4k"].flatMap((size) => [
      [`opencv-transfer-${size}`, ["C++, copyTo", "samepage", "C++, sharing", "samepage, copyTo"]],
      [`opencv-blur-${size}`, ["C++, copyTo", "samepage", "C++, sharing", "samepage, copyTo"]],
    ]),
  ),
  "opencv-call": ["C++", "samepage", "Deno, without the guard"],
  "opencv-throw": ["C++", "samepage"],
  "ring-frames": ["a socket's bytes", "samepage"],
  "ring-python": ["samepage"],
  "ring-cpu": ["a socket's bytes", "samepage"],
  "ring-echo": ["a socket's bytes", "samepage"],
  ...Object.fromEntries(
    ["tcp", "posix"].flatMap((transport) => {
      const ways = [`C over ${transport}`, `samepage over ${transport}`];
      return [
        [`ucx-frames-${transport}`, ways],
        [`ucx-cpu-${transport}`, [...ways, "a TCP socket"]],
        [`ucx-latency-${transport}`, [...ways, "a TCP socket"]],
      ];
    }),
  ),
  "ucx-frames": ["a TCP socket", "samepage over tcp", "samepage over posix", "C over tcp"],
  "vaapi-share": ["C", "samepage"],
  "vaapi-read": ["C, vaGetImage and memcpy", "samepage", "C, vaDeriveImage"],
  "ffmpeg-attach": ["C", "samepage"],
  "ffmpeg-to-host": ["C", "samepage", "samepage, without its planes", "Deno, the calls alone"],
  "ffmpeg-hand-over": ["C", "samepage"],
  "ffmpeg-clip": ["C", "samepage"],
  "ffmpeg-mpeg4": ["in memory of FFmpeg's", "in memory of samepage's"],
  ...Object.fromEntries(["attach", "to-host"].map((id) => [`gstreamer-${id}`, ["C", "samepage"]])),
  ...Object.fromEntries(
    ["hand-over", "from-host"].map((id) => [`gstreamer-${id}`, ["C", "samepage", "C, with a GstVideoMeta"]]),
  ),
  "gstreamer-pipeline": ["C", "samepage"],
  "pipeline": ["C", "samepage"],
  ...Object.fromEntries(["value", "run", "run-large"].map((id) => [`onnxruntime-${id}`, ["C", "samepage"]])),
  ...Object.fromEntries(
    ["run-async", "run-large-async"].map((id) => [`onnxruntime-${id}`, ["C, RunAsync", "samepage"]]),
  ),
  "onnxruntime-binding": ["C", "C, bound"],
  "onnxruntime-node": [],
  ...Object.fromEntries(
    ["value", "map-and-run", "set-and-run", "run", "run-async"].map((id) => [`openvino-${id}`, ["C", "samepage"]]),
  ),
  ...Object.fromEntries(["to", "from"].map((id) => [`python-${id}-array`, ["samepage"]])),
  ...Object.fromEntries(["allocate", "map"].map((id) => [`sycl-${id}`, ["C", "samepage"]])),
  ...Object.fromEntries(
    ["run", "run-many"].map((id) => [`sycl-${id}`, ["C", "samepage", "samepage, blocking", "C, polling"]]),
  ),
  ...Object.fromEntries(["lend", "take"].map((id) => [`dlpack-${id}`, ["samepage"]])),
};

/** CUDA's figures of issue 6, and their ways. */
const CUDA_FIGURES: Readonly<Record<string, readonly string[]>> = {
  "cuda-launch": ["C", "samepage", "Deno, the call alone"],
  "cuda-event": [
    "C",
    "samepage",
    "samepage, awaited",
    "Deno, the calls alone",
    "C, spinning",
  ],
  "cuda-launch-wait": ["C", "samepage", "samepage, awaited", "C, spinning"],
  "cuda-register": ["C", "samepage", "Deno, the calls alone"],
  "cuda-kept": ["C", "samepage"],
  "cuda-mapped-read": ["C", "samepage", "C, cudaMemcpyAsync"],
  "cuda-mapped-write": ["C", "samepage", "C, cudaMemcpyAsync"],
  "cuda-frame-pinned": ["samepage, copying", "samepage", "C, copying", "C"],
  "cuda-frame-pageable": [
    "samepage, copying",
    "samepage",
    "samepage, registered for it",
    "C, copying",
    "C",
    "C, registered for it",
  ],
  ...Object.fromEntries(["640x480", "1080p", "4k"].map((size) => [
    `cuda-edges-${size}`,
    ["samepage, copying", "samepage", "samepage, pageable copies"],
  ])),
  "egl-stream": ["C", "samepage", "samepage, Web Streams", "Deno, the calls alone"],
  ...Object.fromEntries(CLAIMS.map(({ id }) => [`cuda-claim-${id}`, ["samepage, copying", "samepage"]])),
};

/** The ways that need more than the tests install: measured, or named with what is missing. */
const PEERS: Readonly<Record<string, readonly string[]>> = {
  "peers": ["pyopencl + NumPy", "Deno's WebGPU"],
  "opencv-mat": ["DL Streamer"],
  "opencv-umat": ["DL Streamer"],
  ...Object.fromEntries(["frames", "python", "cpu", "echo"].map((id) => [`ring-${id}`, ["Python's shared memory"]])),
  "python-to-array": ["numpy.frombuffer"],
  "python-from-array": ["numpy.from_dlpack"],
  ...Object.fromEntries(["lend", "take"].map((id) => [`dlpack-${id}`, ["numpy"]])),
  "ffmpeg-clip": ["PyAV + NumPy + pyopencl", "node-av in Deno"],
  "gstreamer-pipeline": ["Python: gi, NumPy, pyopencl"],
  "pipeline": [
    "PyAV + pyopencl + onnxruntime",
    "node-av + OpenCL + onnxruntime-node",
    "GStreamer: edgetv, no detector, no boxes",
  ],
  "onnxruntime-node": [
    "onnxruntime-node, into a tensor",
    "samepage, runAsync()",
    "samepage, run()",
    "onnxruntime-node",
  ],
};

const missing = !(await hasCompiler("cc"))
  ? "cc"
  : !(await hasCompiler("g++"))
  ? "g++"
  : !hasDevice()
  ? "an OpenCL device"
  : hasOpenCV
  ? undefined
  : "OpenCV 4.6";

function assertMeasured({ id, ways }: FigureResult): void {
  for (const { name, time, samples } of ways) {
    const numbers = [...samples, ...Object.values(time)];
    // A few loads by C may take less than the clock's step.
    assert(numbers.length > 5 && numbers.every((n) => Number.isFinite(n) && n >= 0), `${id}, ${name}: ${numbers}`);
  }
}

/** There are so many tables, and all rows of each have as many cells as its heading. */
function assertTables(markdown: string, count: number): void {
  const tables = markdown.split(/\n\n+/).filter((block) => block.startsWith("|")).map((block) =>
    block.trim().split("\n")
  );
  assertEquals(tables.length, count, "tables");
  for (const rows of tables) {
    const cells = rows.map((row) => row.split("|").length);
    assertEquals(cells, cells.map(() => cells[0]), rows[0]);
    assertMatch(rows[1], /^[| -]+$/);
  }
}

Deno.test({
  name: `bench: every figure comes out, with a page, JSON and a picture${
    missing ? ` (skipped: needs ${missing})` : ""
  }`,
  ignore: missing !== undefined,
  fn: async () => {
    await using folder = await temporaryFolder();
    const { code, stdout, stderr } = await exec(
      Deno.execPath(),
      ["run", "-A", "--no-check", "tasks/bench.ts", "--smoke", `--out=${folder.path}`],
      { env: { SAMEPAGE_BENCH_FRAMES: "10" } },
    );
    assertEquals(code, 0, `${stdout}\n${stderr}`);

    const [{ name: json }] = await Array.fromAsync(Deno.readDir(join(folder.path, "results")));
    const { machine, figures, growths }: BenchRecord = JSON.parse(
      await Deno.readTextFile(join(folder.path, "results", json)),
    );
    assertEquals(figures.map(({ id }) => id), Object.keys(FIGURES));
    for (const figure of figures) {
      const names = figure.ways.map(({ name }) => name);
      const peers = PEERS[figure.id] ?? [];
      assertEquals(names.filter((name) => !peers.includes(name)), FIGURES[figure.id], figure.id);
      const named = [...names, ...Object.keys(figure.missing)].filter((name) => peers.includes(name));
      assertEquals(named.sort(), peers.toSorted(), figure.id);
      assertMeasured(figure);
    }
    assertEquals(growths.map(({ id, gauges }) => [id, gauges.length]), [["flat", 4]]);
    assert(Object.values(machine).every((value) => value !== null && value !== ""), JSON.stringify(machine));

    const page = await Deno.readTextFile(join(folder.path, "RESULTS.md"));
    assertTables(page, 3);
    assert(page.includes(`results/${json}`), "the page says where the JSON lies");
    assertWellFormed(await Deno.readTextFile(join(folder.path, "results.svg")));
  },
});

/** The figures of issue 16, and their ways. Those between two GPUs need two. */
const VULKAN_FIGURES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(["calls", "two-calls"].map((calls) => [
    `external-${calls}`,
    ["C", "samepage", "samepage, by maps", "Deno, the calls alone", "C, an event of each kernel"],
  ])),
  ...Object.fromEntries(["256", "4mib", "4k"].map((size) => [
    `external-one-${size}`,
    ["C, pinned copies", "samepage", "samepage, by maps", "C"],
  ])),
  ...Object.fromEntries(
    ["256", "4mib", "4k"].flatMap((size) => [
      [`external-two-${size}`, ["C", "samepage", "samepage, by maps"]],
      [`external-two-${size}-copies`, ["C, pinned copies", "samepage"]],
    ]),
  ),
  "external-import-opencl": ["C", "samepage"],
  "external-import-cuda": ["C", "samepage"],
};

/** What needs a GPU, by the word that asks for it. */
const ON_GPU = {
  cuda: { title: "CUDA's", figures: CUDA_FIGURES, tables: 3 },
  vulkan: { title: "what Vulkan shares", figures: VULKAN_FIGURES, tables: 2 },
} as const;

for (const topic of ["cuda", "vulkan"] as const) {
  const { title, figures: expected, tables } = ON_GPU[topic];
  Deno.test(`bench: every figure of ${title} comes out, or says why it is not here, with a page and JSON`, async () => {
    await using folder = await temporaryFolder();
    const { code, stdout, stderr } = await exec(
      Deno.execPath(),
      ["run", "-A", "--no-check", "tasks/bench.ts", `--${topic}`, "--smoke", `--out=${folder.path}`],
    );
    assertEquals(code, 0, `${stdout}\n${stderr}`);
    const reason = lackingFor(topic);
    if (reason !== undefined) assert(stderr.includes(`not here: ${reason}`), stderr);

    const files = await Array.fromAsync(Deno.readDir(join(folder.path, "results")), ({ name }) => name);
    const [json, page] = files.sort().map((name) => join(folder.path, "results", name));
    const { machine, figures }: BenchRecord = JSON.parse(await Deno.readTextFile(json));
    assertEquals(figures.map(({ id }) => id), Object.keys(expected));
    for (const figure of figures) {
      const names = figure.ways.map(({ name }) => name);
      const isHere = reason === undefined && !figure.id.startsWith("external-two-");
      assertEquals(isHere ? names : [...names, ...Object.keys(figure.missing)], expected[figure.id]);
      if (reason !== undefined) assertEquals([...new Set(Object.values(figure.missing))], [reason], figure.id);
      assertMeasured(figure);
    }
    assertMatch(machine.cuda!, noCuda() === undefined ? /driver .*CUDA 1\d\.\d/ : /^not here: there is no GPU/);
    assertTables(await Deno.readTextFile(page), tables);
  });
}

Deno.test("bench: every bench file is one that the task measures", async () => {
  const files = await Array.fromAsync(Deno.readDir(join(ROOT, "bench")));
  const task = await Deno.readTextFile(join(ROOT, "tasks/bench.ts"));
  const lists = /const FILES: .*? = \{\n(.*?)\n\};/s.exec(task)?.[1] ?? "";
  const listed = Array.from(lists.matchAll(/"(.*?)"/g), ([, name]) => name);
  const there = files.flatMap(({ name }) => /^(.+)_bench\.ts$/.exec(name)?.[1] ?? []);
  assertEquals(there.sort(), listed.sort());
});
