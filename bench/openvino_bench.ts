// OpenVINO beside its own API in C: a tensor, and runs of a sigmoid of 64 × 64 numbers in memory of the program's.

import { host, MapperGraph } from "@samepage/interop";
import { OpenVINOContext } from "@samepage/interop/openvino";
import { unary } from "../tests/openvino/models.ts";
import { LIBRARY } from "../tests/openvino/open.ts";
import { BUILT, openvinoC } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { atMostMore } from "./harness/goal.ts";
import { here, type Way } from "./harness/way.ts";
import type { Operation } from "./harness/operation.ts";

const ignore = LIBRARY === undefined;
const SHAPE = [64, 64];
const model = `${BUILT}sigmoid-64.xml`;
Deno.mkdirSync(BUILT, { recursive: true });
Deno.writeFileSync(model, unary("Sigmoid", "f32", SHAPE));

function open() {
  const ov = OpenVINOContext.open({ library: LIBRARY! });
  const graph = new MapperGraph([host, ov]);
  const [pixels, result] = [0, 1].map(() => host.allocate({ shape: SHAPE, dtype: "f32" }));
  return { ov, graph, pixels, result, session: ov.compileSync(model) };
}

let made: ReturnType<typeof open> | undefined;

/** An operation on the one session. */
function samepage(make: (there: ReturnType<typeof open>) => Operation["run"]): Way {
  return here("samepage", () => ({ run: make(made ??= open()) }));
}

figure({
  id: "openvino-value",
  title: "an ov::Tensor over memory of the host's, and its end",
  goal: atMostMore(1),
  ignore,
  ways: [
    openvinoC(model, "value"),
    samepage(({ graph, ov, pixels }) => (count) => {
      for (let i = 0; i < count; i++) {
        using x = graph.map(pixels, ov, { access: "read" });
        void x.handle;
      }
    }),
  ],
});

figure({
  id: "openvino-map-and-run",
  title: "input and output are mapped, a sigmoid of 64 × 64 is computed, and the output is read",
  goal: atMostMore(5),
  ignore,
  ways: [
    openvinoC(model, "map_and_run"),
    samepage(({ graph, ov, pixels, result, session }) => (count) => {
      let sum = 0;
      for (let i = 0; i < count; i++) {
        {
          using x = graph.map(pixels, ov, { access: "read" });
          using y = graph.map(result, ov);
          session.run({ x }, { y });
        }
        sum += result.view()[0] as number;
      }
      if (sum < 0) throw new Error("a sigmoid is positive");
    }),
  ],
});

figure({
  id: "openvino-set-and-run",
  title: "the same on tensors that are mapped already, of which the input is another one each time",
  goal: atMostMore(2),
  ignore,
  ways: [
    openvinoC(model, "set_and_run"),
    samepage(({ ov, session }) => {
      const [x, other, y] = [0, 1, 2].map(() => ov.allocate({ shape: SHAPE, dtype: "f32" }));
      return (count) => {
        for (let i = 0; i < count; i++) session.run({ x: i % 2 === 0 ? x : other }, { y });
      };
    }),
  ],
});

figure({
  id: "openvino-run",
  title: "the same on the same tensors each time",
  goal: atMostMore(2),
  ignore,
  ways: [
    openvinoC(model, "run"),
    samepage(({ graph, ov, pixels, result, session }) => {
      const [x, y] = [pixels, result].map((tensor) => graph.map(tensor, ov));
      return (count) => {
        for (let i = 0; i < count; i++) session.run({ x }, { y });
      };
    }),
  ],
});

figure({
  id: "openvino-run-async",
  title: "the same on a thread of OpenVINO's, awaited",
  goal: atMostMore(6),
  ignore,
  ways: [
    openvinoC(model, "run_async"),
    samepage(({ ov, session }) => {
      const [x, y] = [0, 1].map(() => ov.allocate({ shape: SHAPE, dtype: "f32" }));
      return async (count) => {
        for (let i = 0; i < count; i++) await session.runAsync({ x }, { y });
      };
    }),
  ],
});
