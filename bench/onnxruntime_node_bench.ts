// A sigmoid of 4 MB beside npm's onnxruntime-node, in one process and by one library: the one that the package brings.

import { host, MapperGraph } from "@samepage/interop";
import { OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
import { hasNpm, ONNX_RUNTIME_NODE } from "../tasks/setup/npm.ts";
import { unary } from "../tests/inference/onnx.ts";
import { BUILT } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { atMost } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { Missing } from "./harness/program.ts";
import { here, moving, type Way } from "./harness/way.ts";
import { loadOnnxRuntimeNode, NODE_LIBRARY, type NodeSession, type NodeTensor } from "./sides/onnxruntime_node.ts";

const COUNT = 1 << 20;
const THREADS = 2;

/** Its promises are of threads of its own, and copy a result to JavaScript's memory. */
const COPIED = 4 * COUNT;

const lacks = await hasNpm(ONNX_RUNTIME_NODE) ? undefined : "there is no onnxruntime-node: deno task setup bench";

const model = `${BUILT}sigmoid-node.onnx`;
Deno.mkdirSync(BUILT, { recursive: true });
Deno.writeFileSync(model, unary("Sigmoid", "f32", [COUNT]));

function theirs(name: string, run: (session: NodeSession, x: NodeTensor, y: NodeTensor) => Promise<unknown>): Way {
  const make = (): Operation => {
    if (lacks !== undefined) throw new Missing(lacks);
    const { InferenceSession, Tensor } = loadOnnxRuntimeNode();
    const loading = InferenceSession.create(model, { intraOpNumThreads: THREADS });
    const [x, y] = [0, 1].map(() => new Tensor("float32", new Float32Array(COUNT), [COUNT]));
    return {
      async run(count) {
        const session = await loading;
        for (let i = 0; i < count; i++) await run(session, x, y);
      },
    };
  };
  return { ...here(name, make), lacks };
}

function ours(name: string, make: () => Operation): Way {
  const opened = () => {
    if (lacks !== undefined) throw new Missing(lacks);
    return make();
  };
  return { ...here(name, opened), lacks };
}

function open() {
  const ort = OnnxRuntimeContext.open({ library: NODE_LIBRARY });
  const graph = new MapperGraph([host, ort]);
  const session = ort.compileSync(model, { threads: THREADS });
  const [x, y] = [0, 1].map(() => graph.map(host.allocate({ shape: [COUNT], dtype: "f32" }), ort));
  return { session, x, y };
}

figure({
  id: "onnxruntime-node",
  title: "a run of 4 MB in and 4 MB out, beside npm's onnxruntime-node in the same process",
  goal: atMost(1),
  ways: [
    theirs("onnxruntime-node, into a tensor", (session, x, y) => session.run({ x }, { y })),
    moving(
      0,
      ours("samepage, runAsync()", () => {
        const { session, x, y } = open();
        return {
          async run(count) {
            for (let i = 0; i < count; i++) await session.runAsync({ x }, { y });
          },
        };
      }),
    ),
    moving(
      0,
      ours("samepage, run()", () => {
        const { session, x, y } = open();
        return {
          run(count) {
            for (let i = 0; i < count; i++) session.run({ x }, { y });
          },
        };
      }),
    ),
    moving(COPIED, theirs("onnxruntime-node", (session, x) => session.run({ x }))),
  ],
});
