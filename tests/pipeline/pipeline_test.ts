// Pipelines over memory of the host's: order, ends, errors, figures.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { ArgumentError, type Frame, host, type HostTensor, type ImageInfo } from "../../mod.ts";
import {
  convert,
  Flow,
  fromRing,
  join,
  latest,
  type Pipeline,
  pipeline,
  Sink,
  Source,
  StageError,
  tee,
  toRing,
  Transform,
  viewer,
} from "../../src/pipeline/mod.ts";
import { runModule } from "../process.ts";
import { warningsOf } from "../warnings.ts";
import { adding, doubling, INFO, noted, numbered, numberedFrame, test, valueOf } from "./help.ts";

test("pipeline() hands frames on in order, with their times and metadata", async () => {
  const { sink, seen } = noted();
  const figures = await pipeline(numbered(20), adding(1), doubling(), adding(3), sink).run();
  assertEquals(seen.map(({ value }) => value), Array.from({ length: 20 }, (_, i) => 2 * (i + 2) + 3));
  assertEquals(seen.map(({ sequence }) => sequence), Array.from({ length: 20 }, (_, i) => i + 1));
  assertEquals(seen.map(({ pts }) => pts), Array.from({ length: 20 }, (_, i) => BigInt(i + 1)));
  assertEquals([figures.frames, figures.bytesMoved], [20, 0]);
  assertEquals(figures.stages.map(({ stage, frames }) => `${stage} ${frames}`), [
    ...["numbered 20", "add 1 20", "double 20", "add 3 20", "noted 20"],
  ]);
});

test("pipeThrough() and pipeTo() do the same, with streams of the program's own between", async () => {
  const { sink, seen } = noted();
  const even = new TransformStream<Frame, Frame>({
    transform(frame, controller) {
      if (valueOf(frame) % 2 === 0) controller.enqueue(frame);
      else frame[Symbol.dispose]();
    },
  });
  await numbered(9).pipeThrough(even).pipeThrough(adding(1)).pipeTo(sink);
  assertEquals(seen.map(({ value }) => value), [3, 5, 7, 9]);
});

test("a ReadableStream, an async generator and another pipeline are sources", async () => {
  const frames = async function* () {
    for (let i = 1; i <= 3; i++) yield await Promise.resolve(numberedFrame(i));
  };
  for (const origin of [frames(), ReadableStream.from(frames()), pipeline(numbered(3))]) {
    const { sink, seen } = noted();
    await pipeline(origin, adding(1), sink).run();
    assertEquals(seen.map(({ value }) => value), [2, 3, 4]);
  }
});

test("a WritableStream is a sink", async () => {
  const values: number[] = [];
  let isClosed = false;
  const stream = new WritableStream<Frame>({
    write: (frame) => void values.push(valueOf(frame)),
    close: () => void (isClosed = true),
  });
  await pipeline(numbered(3), stream).run();
  assertEquals([values, isClosed], [[1, 2, 3], true]);
});

test("a loop takes the frames of a pipeline without a sink, and may break off", async () => {
  const values: number[] = [];
  for await (using frame of pipeline(numbered(100), adding(1))) {
    values.push(valueOf(frame));
    if (values.length === 5) break;
  }
  assertEquals(values, [2, 3, 4, 5, 6]);
  const all = await Array.fromAsync(pipeline(numbered(3), doubling()));
  assertEquals(all.map(valueOf), [2, 4, 6]);
  for (const frame of all) frame[Symbol.dispose]();
});

test("explain() says each hand-over, and the run begins with the frame that it has read", async () => {
  const { sink, seen } = noted();
  const whole = pipeline(numbered(4), adding(1), doubling(), sink, { frames: 2 });
  const plan = await whole.explain();
  assertEquals(plan.handOvers.map(({ stage, memory }) => `${stage} ${memory}`), [
    ...["numbered host", "add 1 host", "double host", "noted host"],
  ]);
  assertEquals([plan.bytesMoved, plan.hostWaits, plan.byteLength, plan.unknown], [0, 0, 2 * (3 * 64 + 8), []]);
  assertEquals(plan.handOvers[2].gives?.count, 2);
  assert(String(plan).includes("double: GRAY8 8 × 4 in host; gives GRAY8 8 × 4 in 2 frames of host"), String(plan));
  await whole.run();
  assertEquals(seen.map(({ value }) => value), [4, 6, 8, 10]);
});

test("explain() without a run leaves nothing", async () => {
  await using whole = pipeline(numbered(4), doubling(), noted().sink);
  await whole.explain();
});

test("no more frames are in flight than asked for", async () => {
  let [now, most] = [0, 0];
  const counted = new Source({
    name: "counted",
    async *frames() {
      for (let i = 0; i < 50; i++) {
        const frame = host.allocateFrame(INFO);
        most = Math.max(most, ++now);
        frame.resource.undo.push(() => now--);
        yield await Promise.resolve(frame);
      }
    },
  });
  const slow = adding(1, () => new Promise((resolve) => setTimeout(resolve, 1)));
  await pipeline(counted, slow, noted().sink, { frames: 3 }).run();
  assertEquals([most, now], [3, 0]);
});

for (const [what, at] of [["first", 1], ["middle", 5], ["last", 10]] as const) {
  test(`a stage that fails at the ${what} frame ends the pipeline by its name, and no frame is left`, async () => {
    const fails = () => {
      throw new Error("boom");
    };
    const failing = adding(0, (value) => value === at ? fails() : undefined);
    const error = await assertRejects(() => pipeline(numbered(10), failing, noted().sink).run(), StageError, "boom");
    assertEquals([error.stage, (error.cause as Error).message], ["add 0", "boom"]);

    const source = new Source({
      name: "broken",
      async *frames() {
        for (let i = 1; i < at; i++) yield await Promise.resolve(numberedFrame(i));
        fails();
      },
    });
    const ofSource = await assertRejects(() => pipeline(source, doubling(), noted().sink).run(), StageError);
    assertEquals(ofSource.stage, "broken");

    let aborted: unknown;
    const sink = new Sink({
      ...{ name: "full", takes: { memory: host }, abort: (reason: unknown) => void (aborted = reason) },
      write: (frame) => valueOf(frame) === 2 * at ? fails() : undefined,
    });
    const ofSink = await assertRejects(() => pipeline(numbered(10), doubling(), sink).run(), StageError);
    assertEquals([ofSink.stage, aborted], ["full", ofSink]);

    const flow = new Flow({
      name: "torn",
      async *flow(frames) {
        for await (const frame of frames) valueOf(frame) === at ? fails() : yield frame;
      },
    });
    const ofFlow = await assertRejects(() => pipeline(numbered(10), flow, noted().sink).run(), StageError);
    assertEquals(ofFlow.stage, "torn");
  });
}

test("a stage whose close() fails after another has failed is said, too, and the first is named", async () => {
  const fails = new Transform({
    name: "fails",
    process: () => Promise.reject(new Error("first")),
    close: () => Promise.reject(new Error("second")),
  });
  for (const whole of [pipeline(numbered(3), fails), pipeline(numbered(3), tee([fails, noted().sink]))]) {
    const error = await assertRejects(() => whole.run(), StageError);
    assertEquals([error.stage, /first.*second/.test(error.message)], ["fails", true], `${error}`);
  }
});

test("a signal ends a pipeline with its reason: before it begins, and in the middle", async () => {
  const reason = new Error("enough");
  await assertRejects(
    () => pipeline(numbered(3), noted().sink, { signal: AbortSignal.abort(reason) }).run(),
    Error,
    "enough",
  );
  for (const at of [1, 3, 7]) {
    const controller = new AbortController();
    const { sink, seen } = noted();
    const stop = adding(0, (value) => value === 2 * at ? controller.abort(reason) : undefined);
    const whole = pipeline(numbered(20), doubling(), stop, sink, { signal: controller.signal });
    await assertRejects(() => whole.run(), Error, "enough");
    assert(seen.length <= 2 * at);
  }
});

test("a transform drops a frame by returning false", async () => {
  const { sink, seen } = noted();
  const odd = new Transform<HostTensor>({
    ...{ name: "odd", takes: { memory: host, access: "read" } },
    process: (frame) => valueOf(frame) % 2 === 1,
  });
  const few = new Transform<HostTensor>({
    ...{ name: "few", takes: { memory: host }, gives: (info) => info },
    process: (input, output) => {
      output.planes[0].bytes({ access: "write" }).fill(valueOf(input));
      return Promise.resolve(valueOf(input) > 3);
    },
  });
  const figures = await pipeline(numbered(9), odd, few, sink).run();
  assertEquals(seen.map(({ value }) => value), [5, 7, 9]);
  assertEquals(figures.stages.map(({ dropped }) => dropped), [0, 4, 2, 0]);
});

for (const ordered of [true, false]) {
  test(`a transform works on several frames at a time, ${ordered ? "in order" : "as they are done"}`, async () => {
    const { sink, seen } = noted();
    let [now, most] = [0, 0];
    const slow = new Transform<HostTensor>({
      ...{ name: "slow", takes: { memory: host, access: "read" }, concurrency: 3, ordered },
      process: async (frame) => {
        most = Math.max(most, ++now);
        const turns = valueOf(frame) % 3 === 1 ? 30 : 1;
        for (let i = 0; i < turns; i++) await new Promise((resolve) => setTimeout(resolve, 0));
        now--;
      },
    });
    await pipeline(numbered(9), slow, sink, { frames: 6 }).run();
    const values = seen.map(({ value }) => value);
    assertEquals(values.toSorted((a, b) => a - b), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assertEquals([most, ordered === (values.join() === "1,2,3,4,5,6,7,8,9")], [3, true]);
  });
}

test("a size that changes in the middle is planned anew", async () => {
  const changing = new Source({
    name: "changing",
    async *frames() {
      for (const width of [8, 8, 16, 4, 4]) {
        yield await Promise.resolve(numberedFrame(width, "GRAY8", { width, height: 2 }));
      }
    },
  });
  const sizes: string[] = [];
  const sink = new Sink<HostTensor>({
    ...{ name: "sizes", takes: { memory: host } },
    write: (frame) => void sizes.push(`${(frame.info as { width: number }).width} ${valueOf(frame)}`),
  });
  await pipeline(changing, doubling(), sink).run();
  assertEquals(sizes, ["8 16", "8 16", "16 32", "4 8", "4 8"]);
});

test("a stage that does not take what comes is named, with what to do", async () => {
  const rgb = new Transform({
    name: "blur",
    takes: { memory: host, format: "RGB", width: [16, 64] },
    process: () => {},
  });
  const error = await assertRejects(() => pipeline(numbered(1), rgb).explain(), StageError);
  assertEquals(
    error.message,
    "blur: expected RGB of 16 to 64 × any, got GRAY8 8 × 4. " +
      "Put a stage before it that converts: convert(cl, { format, width, height }).",
  );
});

test("what a stage does with frames that are not its own is named", async () => {
  const wrong: readonly [string, Transform | Flow][] = [
    ["it disposed", new Transform({ name: "x", takes: { memory: host }, process: (frame) => frame[Symbol.dispose]() })],
    [
      "it passed on",
      new Flow({
        name: "x",
        async *flow(frames) {
          for await (const frame of frames) {
            frame[Symbol.dispose]();
            yield frame;
          }
        },
      }),
    ],
    [
      "was passed on twice",
      new Flow({
        name: "x",
        async *flow(frames) {
          for await (const frame of frames) {
            yield frame;
            yield frame;
          }
        },
      }),
    ],
    [
      "expected it to give frames",
      new Flow({
        name: "x",
        async *flow(frames) {
          for await (const frame of frames) {
            frame[Symbol.dispose]();
            yield 7 as unknown as Frame;
          }
        },
      }),
    ],
  ];
  for (const [message, stage] of wrong) {
    const slow = adding(0, () => new Promise((resolve) => setTimeout(resolve, 5)));
    const error = await assertRejects(
      () => pipeline(numbered(3), stage, slow, noted().sink).run(),
      StageError,
      message,
    );
    assertEquals(error.stage, "x");
  }
});

test("a flow that forgets frames is named in a warning, and they are disposed", async () => {
  const forgets = new Flow({
    name: "forgetful",
    async *flow(frames) {
      for await (const frame of frames) if (valueOf(frame) > 2) yield frame;
    },
  });
  const warnings: string[] = [];
  const { warn } = console;
  console.warn = (text: string) => void warnings.push(text);
  try {
    await pipeline(numbered(5), forgets, noted().sink).run();
  } finally {
    console.warn = warn;
  }
  assertEquals(warnings, ["samepage: forgetful has forgotten 2 frames: it neither passed them on nor disposed them."]);
});

Deno.test("pipeline() refuses anything but a stage, and stages in the wrong place", () => {
  const { sink } = noted();
  assertThrows(() => pipeline(7 as never), ArgumentError, "stages");
  assertThrows(() => pipeline(numbered(1), {} as never, sink), ArgumentError, "stages");
  assertThrows(() => pipeline(numbered(1), sink, sink), ArgumentError, "is a sink");
  assertThrows(() => pipeline(numbered(1), sink, { frames: 0 }), ArgumentError, "frames");
  assertThrows(() => pipeline(numbered(1), sink, { frame: 1 } as never), ArgumentError, "frame");
  assertThrows(() => new Transform({ name: "x" } as never), ArgumentError, "process");
  assertThrows(() => new Source({ name: 1, frames: () => {} } as never), ArgumentError, "name");
  assertThrows(() => new Transform({ name: "x", takes: { memory: {} as never }, process: () => {} }), ArgumentError);
});

test("a pipeline over no frames ends at once", async () => {
  const { sink, seen } = noted();
  const figures = await pipeline(numbered(0), doubling(), sink).run();
  assertEquals([figures.frames, seen], [0, []]);
});

test("run() of a source alone reads its frames, and ends them", async () => {
  const figures = await pipeline(numbered(9)).run();
  assertEquals(figures.frames, 9);
});

/** A flow that takes so many frames, and no more. */
const taking = (count: number) =>
  new Flow({
    name: "taking",
    async *flow(frames) {
      let left = count;
      if (left > 0) {
        for await (const frame of frames) {
          yield frame;
          if (--left === 0) break;
        }
      }
    },
  });

test("run() of a pipeline whose last stage is a flow disposes what comes out", async () => {
  assertEquals((await pipeline(numbered(3), taking(9)).run()).frames, 3);
});

test("a flow that stops taking frames ends the stages before it, and what they have is given back", async () => {
  const warnings = await warningsOf(async () => {
    for (const count of [0, 1]) {
      for (const before of [() => taking(9), () => new TransformStream<Frame, Frame>(), latest]) {
        const { sink, seen } = noted();
        await pipeline(numbered(9), before(), taking(count), sink).run();
        assertEquals(seen.length, count);
      }
    }
  });
  assertEquals(warnings, []);
});

test("Pipeline.figures are those of the run that is under way", async () => {
  const seen: (number | undefined)[] = [];
  const whole: Pipeline = pipeline(
    numbered(3),
    new Sink({ name: "asks", write: () => seen.push(whole.figures?.frames) }),
  );
  await whole.run();
  assertEquals(seen, [0, 1, 2]);
});

test("new Source(), new Transform() and tee() name anything but a function, a generator or a list", async () => {
  const array = new Source({ name: "array", frames: () => [] as never });
  const error = await assertRejects(() => pipeline(array, noted().sink).run(), StageError, "async generator");
  assert(error.cause instanceof ArgumentError);
  for (const wrong of [{ gives: INFO }, { allocate: 3 }]) {
    const [name] = Object.keys(wrong);
    assertThrows(() => new Transform({ name: "x", process() {}, ...wrong as object }), ArgumentError, name);
  }
  assertThrows(() => tee(noted().sink as never), ArgumentError, "tee([a, b], [c])");
});

Deno.test("convert(), join(), viewer(), takes, toRing() and fromRing() refuse what they do not know", () => {
  const [cl, cv] = [{ api: "opencl" }, { api: "opencv" }];
  for (const wrong of [{ width: 0 }, { height: 1.5 }, { fromat: "RGB" }, undefined]) {
    assertThrows(() => convert(cl as never, wrong as never), ArgumentError);
  }
  assertThrows(() => join(numbered(1), undefined as never), ArgumentError, "options");
  assertThrows(() => viewer(cv as never, { prot: 1 } as never), ArgumentError, "prot");
  for (const width of ["8", [8], [8, "9"]]) {
    assertThrows(
      () => new Transform({ name: "x", takes: { width } as never, process() {} }),
      ArgumentError,
      "takes.width",
    );
  }
  assertThrows(() => toRing("/tmp/ring" as never, ""), ArgumentError, "FrameRing");
  assertThrows(() => fromRing("/tmp/ring" as never, ""), ArgumentError, "FrameRing");
});

test("a transform that allocates frames of another kind is named, and they are given back", async () => {
  const other = { ...INFO, width: 4 };
  const wrong = new Transform({
    ...{ name: "small", gives: (info) => info, process: () => {} },
    allocate: () => host.allocateFrame(other),
  });
  const error = await assertRejects(() => pipeline(numbered(2), wrong, noted().sink).run(), StageError, "[4,8] u8");
  assertEquals(error.stage, "small");
});

test("a transform allocates once for each size, where two sizes take turns", async () => {
  let allocated = 0;
  const source = new Source({
    name: "two sizes",
    async *frames() {
      for (let i = 0; i < 20; i++) {
        yield await Promise.resolve(numberedFrame(i, "GRAY8", { width: 8 + i % 2, height: 4 }));
      }
    },
  });
  const copied = new Transform({
    name: "copied",
    gives: (info) => info,
    allocate: (info) => (allocated++, host.allocateFrame(info)),
    process: () => {},
  });
  const figures = await pipeline(source, copied, noted().sink, { frames: 2 }).run();
  assertEquals([figures.frames, allocated], [20, 4]);
});

test("a transform gives back the memory of sizes that no longer come", async () => {
  const frames: Frame[] = [];
  let most = 0;
  const source = new Source({
    name: "ever larger",
    async *frames() {
      for (let i = 1; i <= 40; i++) {
        for (let j = 0; j < 2; j++) yield await Promise.resolve(numberedFrame(i, "GRAY8", { width: i, height: 4 }));
      }
    },
  });
  const copied = new Transform({
    name: "copied",
    gives: (info) => info,
    allocate: (info) => {
      const frame = host.allocateFrame(info);
      frames.push(frame);
      return frame;
    },
    process: () => {
      most = Math.max(most, frames.filter(({ resource }) => resource.isLive).length);
    },
  });
  const figures = await pipeline(source, copied, noted().sink, { frames: 3 }).run();
  assertEquals([figures.frames, frames.length], [80, 120]);
  assert(most <= 3 * (4 + 3), `${most} frames at a time`); // four sizes, and one for each frame that is under way
});

test("frames of another colour are planned anew", async () => {
  const source = new Source({
    name: "two colours",
    async *frames() {
      for (const matrix of ["bt601", "bt709"] as const) {
        yield await Promise.resolve(host.allocateFrame({ ...INFO, colour: { matrix } }));
      }
    },
  });
  const seen: unknown[] = [];
  const sink = new Sink({ name: "colours", write: ({ info }) => void seen.push((info as ImageInfo).colour?.matrix) });
  await pipeline(source, doubling(), sink).run();
  assertEquals(seen, ["bt601", "bt709"]);
});

test("a timer's signal ends a pipeline whose stages never wait", async () => {
  const endless = new Source({
    name: "endless",
    async *frames() {
      for (let i = 0;; i++) yield numberedFrame(i % 256);
    },
  });
  const signal = AbortSignal.timeout(20);
  await assertRejects(() => pipeline(endless, doubling(), noted().sink, { signal }).run(), DOMException, "timeout");
});

test("pipeline({ measure }) has an entry for each frame at each stage", async () => {
  performance.clearMeasures();
  await pipeline(numbered(3), doubling(), noted().sink, { measure: true }).run();
  const entries = performance.getEntriesByType("measure");
  performance.clearMeasures();
  const counts = Map.groupBy(entries, ({ name }) => name).entries().map(([name, { length }]) => `${name} ${length}`);
  assertEquals([...counts].sort(), ["double 3", "noted 3", "numbered 3"]); // the last read of a source finds the end
  assert(entries.every(({ duration }) => duration >= 0));
});

Deno.test("pipeline({ progress }) says on a terminal how many frames are done", async () => {
  const { code, stdout } = await runModule(
    `import { pipeline } from "@samepage/interop/pipeline";
    import { noted, numbered } from "./tests/pipeline/help.ts";
    await pipeline(numbered(30), noted().sink, { progress: true }).run();`,
    { columns: 100 },
  );
  assertEquals(code, 0, stdout);
  assertMatch(stdout, /30 frames, \d+\.\d a second\r\n$/);
});
