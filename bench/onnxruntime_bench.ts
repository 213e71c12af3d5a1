// ONNX Runtime beside its own API in C: an OrtValue, and runs of a sigmoid in memory of the program's.

import { host, MapperGraph } from "@samepage/interop";
import type { OnnxRuntimeContext, OnnxRuntimeSession, OnnxRuntimeTensor } from "@samepage/interop/onnxruntime";
import { unary } from "../tests/inference/onnx.ts";
import { LIBRARY, openOnnxRuntime } from "../tests/onnxruntime/open.ts";
import { BUILT, onnxRuntimeC } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { atMost, atMostMore } from "./harness/goal.ts";
import { here } from "./harness/way.ts";

const ignore = LIBRARY === undefined;
const COUNTS = [1024, 1 << 20] as const;

const models = COUNTS.map((count) => `${BUILT}sigmoid-${count}.onnx`);
Deno.mkdirSync(BUILT, { recursive: true });
const program = [LIBRARY!, ...models];
models.forEach((path, i) => Deno.writeFileSync(path, unary("Sigmoid", "f32", [COUNTS[i]])));

interface Opened {
  readonly ort: OnnxRuntimeContext;
  readonly graph: MapperGraph;
  readonly session: OnnxRuntimeSession;
  readonly x: OnnxRuntimeTensor;
  readonly y: OnnxRuntimeTensor;
}

const opened = new Map<string, Opened>();
let ort: OnnxRuntimeContext | undefined;

function open(which: 0 | 1): Opened {
  const path = models[which];
  const known = opened.get(path);
  if (known !== undefined) return known;
  ort ??= openOnnxRuntime();
  const graph = new MapperGraph([host, ort]);
  const [x, y] = [0, 1].map(() => graph.map(host.allocate({ shape: [COUNTS[which]], dtype: "f32" }), ort!));
  const made = { ort, graph, session: ort.compileSync(path, { threads: 2 }), x, y };
  opened.set(path, made);
  return made;
}

figure({
  id: "onnxruntime-value",
  title: "an OrtValue over memory of the host's, and its end",
  goal: atMostMore(1),
  ignore,
  ways: [
    onnxRuntimeC(program, "value"),
    here("samepage", () => {
      const { x } = open(0);
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            using part = x.borrow("read");
            void part.handle;
          }
        },
      };
    }),
  ],
});

for (
  const [id, which, operation, title, more] of [
    ["run", 0, "run", "a run of 1,024 numbers", 1.5],
    ["run-large", 1, "run_large", "a run of 4 MB in and 4 MB out", 50],
  ] as const
) {
  figure({
    id: `onnxruntime-${id}`,
    title,
    goal: atMostMore(more),
    ignore,
    ways: [
      onnxRuntimeC(program, operation),
      here("samepage", () => {
        const { session, x, y } = open(which);
        return {
          run(count) {
            for (let i = 0; i < count; i++) session.run({ x }, { y });
          },
        };
      }),
    ],
  });
}

for (
  const [id, which, operation, title, goal] of [
    ["run-async", 0, "run_async", "the run of 1,024 numbers on another thread, awaited", atMostMore(20)],
    ["run-large-async", 1, "run_large_async", "the run of 4 MB on another thread, awaited", atMost(1)],
  ] as const
) {
  figure({
    id: `onnxruntime-${id}`,
    title,
    goal,
    ignore,
    ways: [
      onnxRuntimeC(program, operation, "C, RunAsync"),
      here("samepage", () => {
        const { session, x, y } = open(which);
        return {
          async run(count) {
            for (let i = 0; i < count; i++) await session.runAsync({ x }, { y });
          },
        };
      }),
    ],
  });
}

figure({
  id: "onnxruntime-binding",
  title: "a run of 1,024 numbers, in C by OrtIoBinding and by Run",
  ignore,
  ways: [onnxRuntimeC(program, "run"), onnxRuntimeC(program, "run_bound", "C, bound")],
});
