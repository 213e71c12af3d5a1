// Models over frames, by both runtimes.
import { assertEquals, assertRejects } from "@std/assert";
import { host, type HostTensor, type ImageInfo, imageInfo, ledger } from "@samepage/interop";
import { infer, type InferOptions, pipeline, StageError, Transform } from "@samepage/interop/pipeline";
import { onnxModel } from "../inference/onnx.ts";
import { LIBRARY as ONNX_RUNTIME, openOnnxRuntime } from "../onnxruntime/open.ts";
import { LIBRARY as OPENVINO, openOpenVINO } from "../openvino/open.ts";
import { gc } from "../gc.ts";
import { warningsOf } from "../warnings.ts";
import { withEmptyLedger } from "../unit/ledger.ts";

/** y = sigmoid(x), of any number of frames, each of 4 elements. */
const MODEL = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: ["n", 4] }],
  outputs: [{ name: "y", type: "f32", shape: ["n", 4] }],
  nodes: [{ op: "Sigmoid", inputs: ["x"], outputs: ["y"] }],
});

/** The same, of any number of elements. */
const OF_ANY_SIZE = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: ["n", "m"] }],
  outputs: [{ name: "y", type: "f32", shape: ["n", "m"] }],
  nodes: [{ op: "Sigmoid", inputs: ["x"], outputs: ["y"] }],
});

const widthsUntil = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

async function* ofWidths(widths: readonly number[]) {
  for (const width of widths) {
    yield await Promise.resolve(host.allocateFrame(imageInfo({ format: "GRAY8", width, height: 1 })));
  }
}

const RUNTIMES = {
  onnxruntime: { isThere: ONNX_RUNTIME !== undefined, open: openOnnxRuntime },
  openvino: { isThere: OPENVINO !== undefined, open: openOpenVINO },
};

async function* frames(count: number) {
  for (let i = 0; i < count; i++) {
    const frame = await Promise.resolve(host.allocateFrame(imageInfo({ format: "GRAY8", width: 4, height: 1 })));
    frame.planes[0].bytes().fill(i);
    yield frame;
  }
}

const OPTIONS: InferOptions = {
  prepare: ({ planes: [plane] }, { x }) => (x.view() as Float32Array).set(plane.bytes({ access: "read" })),
  results: ({ y }, { metadata }) =>
    void metadata.add("classification", { confidence: Number(y.view({ access: "read" })[3]) }),
};

const expected = (count: number) => Array.from({ length: count }, (_, i) => Math.fround(1 / (1 + Math.exp(-i))));

async function confidences(stage: Transform, count: number): Promise<(number | undefined)[]> {
  const seen: (number | undefined)[] = [];
  for await (using frame of pipeline(frames(count), stage, { frames: 8 })) {
    seen.push(frame.metadata.get("classification")?.confidence);
  }
  return seen;
}

function assertClose(seen: readonly (number | undefined)[], count: number): void {
  const errors = expected(count).map((value, i) => Math.abs(value - (seen[i] ?? Infinity)) < 1e-5);
  assertEquals([seen.length, errors.every(Boolean)], [count, true], seen.join(" "));
}

for (const [runtime, { isThere, open }] of Object.entries(RUNTIMES)) {
  const test = (name: string, run: (context: ReturnType<typeof open>) => Promise<void>) =>
    Deno.test({
      name: `pipeline: ${name}, by ${runtime}${isThere ? "" : " (skipped: deno task setup inference)"}`,
      ignore: !isThere,
      fn: withEmptyLedger(async () => {
        using context = open();
        await run(context);
      }),
    });

  test("infer() writes what a model finds into each frame's metadata, in order", async (context) => {
    using session = context.compileSync(MODEL);
    for (const concurrency of [1, 3]) {
      assertClose(await confidences(infer(session, { ...OPTIONS, concurrency }), 10), 10);
    }
  });

  test("infer() puts several frames into one run, and what is left into the last", async (context) => {
    using session = context.compileSync(MODEL);
    let runs = 0;
    const shapes = () => (runs++, {});
    assertClose(await confidences(infer(session, { ...OPTIONS, batch: 4 }), 10), 10);
    assertClose(await confidences(infer(session, { ...OPTIONS, batch: 4, concurrency: 2, shapes }), 10), 10);
    assertEquals(runs, 3);
  });

  test("infer() gives back what each run has made", async (context) => {
    using session = context.compileSync(MODEL);
    const stage = infer(session, { ...OPTIONS, batch: 2 });
    await confidences(stage, 4);
    const { alive } = ledger;
    await confidences(stage, 4);
    assertEquals(ledger.alive, alive);
  });

  test("infer() keeps the inputs of the four sizes that came last", async (context) => {
    using session = context.compileSync(OF_ANY_SIZE);
    const alive = () => Object.values(ledger.alive).reduce((sum, count) => sum + count, 0);
    const before = alive();
    const most = async (widths: readonly number[]) => {
      let now = 0;
      const stage = infer(session, {
        shapes: (info) => ({ x: [1, (info as ImageInfo).width] }),
        prepare: () => {},
        results: () => void (now = Math.max(now, alive())),
      });
      for await (using _ of pipeline(ofWidths(widths), stage, { frames: 2 }));
      return now - before;
    };
    const [one, two, all] = [await most([1, 1]), await most([1, 2, 1, 2, 1]), await most(widthsUntil(30))];
    const each = two - one;
    assertEquals(all <= one + 4 * each, true, `${[one, two, all]}`);
  });

  test("infer() looks at every third frame, and lets the others pass", async (context) => {
    using session = context.compileSync(MODEL);
    for (const batch of [1, 2]) {
      const seen = await confidences(infer(session, { ...OPTIONS, every: 3, batch }), 8);
      assertEquals(seen.map((one) => one !== undefined), [true, false, false, true, false, false, true, false]);
    }
  });

  test("infer() that fails in a batch ends the pipeline by its name", async (context) => {
    using session = context.compileSync(MODEL);
    for (const fails of ["prepare", "results"] as const) {
      let count = 0;
      const stage = infer(session, {
        ...OPTIONS,
        batch: 2,
        [fails]: () => {
          if (++count === 4) throw new Error(`no ${fails}`);
        },
      });
      const error = await assertRejects(() => confidences(stage, 10), StageError, `infer: no ${fails}`);
      assertEquals(error.stage, "infer");
    }
  });

  test("infer() whose prepare() fails leaves no map to the garbage collector", async (context) => {
    using session = context.compileSync(MODEL);
    const fails = infer(session, { ...OPTIONS, prepare: () => fail() });
    const fail = () => {
      throw new Error("planned");
    };
    const waits = new Transform({
      name: "waits",
      process: () => {},
      async close() {
        await new Promise((resolve) => setTimeout(resolve));
        gc();
        await new Promise((resolve) => setTimeout(resolve));
      },
    });
    const warnings = await warningsOf(async () => {
      await assertRejects(() => pipeline(frames(2), waits, fails).run(), StageError, "planned");
    });
    assertEquals(warnings, []);
  });

  test("a pipeline that another stage ends leaves nothing of infer()'s batch", async (context) => {
    using session = context.compileSync(MODEL);
    const fails = async function* () {
      yield* frames(2);
      throw new Error("no more");
    };
    const { init } = infer(session, { ...OPTIONS, batch: 4 });
    let [begun, ended] = [0, 0];
    const watched = new Transform<HostTensor>({
      ...init,
      async process(...given) {
        begun++;
        try {
          return await init.process(...given);
        } finally {
          ended++;
        }
      },
    });
    await assertRejects(() => pipeline(fails(), watched).run(), StageError, "no more");
    assertEquals(ended, begun); // none of them waits for the rest of a batch
  });

  test("infer() says which shape is missing, and which batch does not fit", async (context) => {
    using session = context.compileSync(onnxModel({
      inputs: [{ name: "x", type: "f32", shape: [1, "w"] }],
      outputs: [{ name: "y", type: "f32", shape: [1, "w"] }],
      nodes: [{ op: "Sigmoid", inputs: ["x"], outputs: ["y"] }],
    }));
    await assertRejects(
      () => confidences(infer(session, OPTIONS), 1),
      StageError,
      "the model's input x is of any size: [1,-1]",
    );
    await assertRejects(
      () => confidences(infer(session, { ...OPTIONS, batch: 2 }), 1),
      StageError,
      "the model's input x takes 1 frames at a time, got 2",
    );
    const known = infer(session, { ...OPTIONS, shapes: (): Record<string, number[]> => ({ x: [1, 4] }) });
    assertClose(await confidences(known, 3), 3);
  });

  test("infer() refuses a batch that the pipeline has too few frames for", async (context) => {
    using session = context.compileSync(MODEL);
    const small = pipeline(frames(4), infer<HostTensor>(session, { ...OPTIONS, batch: 4 }), { frames: 3 });
    await assertRejects(() => small.run(), StageError, "a batch is 4 frames, and the pipeline has 3.");
  });
}
