// The stages that need no library of other APIs: tee, join, latest, rate, pace, crop, copy, JSON lines, rings.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { host, type HostTensor, imageInfo } from "../../mod.ts";
import { FrameRing } from "../../src/channel/mod.ts";
import {
  copy,
  crop,
  fromRing,
  join,
  jsonLines,
  latest,
  pace,
  pipeline,
  rate,
  Sink,
  Source,
  StageError,
  tee,
  toRing,
  Transform,
} from "../../src/pipeline/mod.ts";
import { adding, doubling, noted, numbered, numberedFrame, test, valueOf } from "./help.ts";

test("tee() hands the same bytes to several pipelines", async () => {
  const addresses: bigint[][] = [[], []];
  const [left, right] = addresses.map((into) =>
    new Sink<HostTensor>({
      ...{ name: "address", takes: { memory: host } },
      write: ({ planes: [plane] }) => void into.push(plane.address),
    })
  );
  const doubled = noted();
  const figures = await pipeline(numbered(20), tee([left], [right], [doubling(), doubled.sink])).run();
  assertEquals(addresses[0], addresses[1]);
  assertEquals(doubled.seen.map(({ value }) => value), Array.from({ length: 20 }, (_, i) => 2 * (i + 1)));
  assertEquals([figures.frames, figures.bytesMoved], [20, 0]);
});

test("tee() shows the figures of its branches' stages, of one run", async () => {
  const whole = pipeline(numbered(4), tee([copy(), noted().sink], [doubling(), noted().sink]));
  for (let run = 1; run <= 2; run++) {
    const { stages, bytesMoved } = await whole.run();
    assertEquals(
      stages.map(({ stage, frames }) => `${stage} ${frames}`),
      ["numbered", "tee", "copy", "noted", "double", "noted"].map((stage) => `${stage} 4`),
    );
    assert(bytesMoved > 0, "what copy() copies is not left out");
    assertEquals(stages[2].bytesMoved, bytesMoved);
  }
});

test("tee() keeps the order, and runs once more", async () => {
  const { sink, seen } = noted();
  const slow = adding(0, (value) => value % 3 === 0 ? new Promise((resolve) => setTimeout(resolve, 1)) : undefined);
  const whole = pipeline(numbered(20), slow, tee([sink], [doubling(), noted().sink]), { frames: 6 });
  for (let run = 1; run <= 2; run++) {
    await whole.run();
    assertEquals(seen.splice(0).map(({ value }) => value), Array.from({ length: 20 }, (_, i) => i + 1));
  }
});

test("tee() plans its branches with the rest", async () => {
  const whole = pipeline(numbered(3), tee([doubling(), noted().sink], [noted().sink]));
  const plan = await whole.explain();
  const [first, second] = plan.handOvers[1].branches!;
  assertEquals(first.handOvers.map(({ stage }) => stage), ["double", "noted"]);
  assertEquals([second.handOvers.length, plan.byteLength], [1, 4 * (3 * 64 + 8)]);
  await whole.run();
});

test("a stage that writes behind tee() is refused by its name, and goes on a copy", async () => {
  const [first, second] = [noted(), noted()];
  const refused = pipeline(numbered(3), tee([adding(1), first.sink], [second.sink]));
  const error = await assertRejects(() => refused.run(), StageError);
  assert(error.message.startsWith("add 1: "), error.message);
  const figures = await pipeline(numbered(3), tee([copy(), adding(10), first.sink], [second.sink])).run();
  assertEquals(first.seen.map(({ value }) => value), [11, 12, 13]);
  assertEquals(second.seen.slice(-3).map(({ value }) => value), [1, 2, 3]);
  assertEquals(figures.frames, 3);
});

test("a branch that fails ends the pipeline, and no frame is left", async () => {
  const failing = adding(0);
  const fails = new Transform<HostTensor>({
    ...{ name: "fails", takes: { memory: host, access: "read" } },
    process: (frame) => {
      if (valueOf(frame) === 4) throw new Error("boom");
    },
  });
  const whole = pipeline(numbered(20), failing, tee([fails, noted().sink], [doubling(), noted().sink]));
  const error = await assertRejects(() => whole.run(), StageError, "boom");
  assertEquals(error.stage, "fails");
});

test("copy() counts its bytes, in the plan and in the figures", async () => {
  const { sink, seen } = noted();
  const whole = pipeline(numbered(5, "NV12"), copy(), adding(1), sink);
  assertEquals((await whole.explain()).bytesMoved > 0, true);
  const figures = await whole.run();
  assertEquals(figures.bytesMoved, 5 * figures.bytesMoved / 5);
  assertEquals(figures.stages[1].bytesMoved, figures.bytesMoved);
  assertEquals(seen.map(({ value }) => value), [2, 3, 4, 5, 6]);
});

test("join() brings frames of two sources together by their times", async () => {
  const every = (step: number, count: number) =>
    new Source({
      name: `every ${step}`,
      async *frames() {
        for (let i = 1; i <= count; i++) yield await Promise.resolve(numberedFrame(step * i));
      },
    });
  const pairs: string[] = [];
  const combined = join(every(3, 5), { combine: (a, b) => void pairs.push(`${valueOf(a)} ${valueOf(b)}`) });
  const { sink, seen } = noted();
  await pipeline(every(2, 10), combined, sink).run();
  assertEquals(pairs, ["6 6", "12 12"]);
  assertEquals(seen.map(({ value }) => value), [6, 12]);
});

test("latest() drops what a slow stage has no time for, and keeps the last", async () => {
  const slow = adding(0, () => new Promise((resolve) => setTimeout(resolve, 20)));
  const { sink, seen } = noted();
  await pipeline(numbered(200), latest(), slow, sink, { frames: 8 }).run();
  const values = seen.map(({ value }) => value);
  assertEquals([values.at(-1), values.length < 100], [200, true]);
  assertEquals(values, values.toSorted((a, b) => a - b));
});

test("rate() keeps so many frames of each second by their own times", async () => {
  const { sink, seen } = noted();
  await pipeline(numbered(50), rate(5), sink).run(); // 25 a second
  assertEquals(seen.map(({ value }) => value), [1, 6, 11, 16, 21, 26, 31, 36, 41, 46]);
  const all = noted();
  await pipeline(numbered(50), rate(25), all.sink).run();
  assertEquals(all.seen.length, 50);
});

test("pace() lets frames pass at their times", async () => {
  const begin = performance.now();
  await pipeline(numbered(6), pace(), noted().sink).run();
  assert(performance.now() - begin >= 195, "five steps of 40 ms");
});

test("crop() shows a part of the same bytes, and detections move with it", async () => {
  const source = new Source({
    name: "gradient",
    async *frames() {
      const frame = host.allocateFrame(imageInfo({ format: "NV12", width: 16, height: 8 }), { rowAlign: 64 });
      frame.planes.forEach((plane) => {
        const [rows, columns] = plane.layout.shape;
        const bytes = plane.bytes();
        for (let y = 0; y < rows; y++) {
          for (let x = 0; x < columns; x++) bytes[y * 64 + x * (columns === 8 ? 2 : 1)] = 16 * y + x;
        }
      });
      frame.metadata.add("detection", { xMin: 0.25, yMin: 0.5, xMax: 0.75, yMax: 1, label: "in" });
      frame.metadata.add("detection", { xMin: 0, yMin: 0, xMax: 0.25, yMax: 0.25, label: "out" });
      yield await Promise.resolve(frame);
    },
  });
  let seen = 0;
  for await (using frame of pipeline(source, crop({ x: 4, y: 2, width: 8, height: 6 }))) {
    seen++;
    const [luma, chroma] = frame.planes as HostTensor[];
    assertEquals([luma.layout.shape, chroma.layout.shape], [[6, 8], [3, 4, 2]]);
    assertEquals([luma.bytes()[0], luma.bytes()[64 + 1], chroma.bytes()[0]], [2 * 16 + 4, 3 * 16 + 5, 16 + 2]);
    const [region, ...others] = frame.regions;
    assertEquals([region.x, region.y, region.width, region.height, others.length], [0, 2, 8, 4, 0]);
  }
  assertEquals(seen, 1);
  const odd = pipeline(numbered(1, "NV12"), crop({ x: 1, y: 0, width: 4, height: 4 }), noted().sink);
  await assertRejects(() => odd.run(), StageError, "even pixels");
});

test("jsonLines() writes a line for each frame", async () => {
  const chunks: Uint8Array[] = [];
  const out = new WritableStream<Uint8Array>({ write: (chunk) => void chunks.push(chunk) });
  const detect = new Transform({
    name: "detect",
    process: ({ metadata }) => void metadata.add("detection", { xMin: 0, yMin: 0, xMax: 0.5, yMax: 1, label: "cat" }),
  });
  await pipeline(numbered(2), detect, jsonLines(out)).run();
  const lines = new TextDecoder().decode(new Uint8Array(chunks.flatMap((chunk) => [...chunk]))).trim().split("\n");
  const [first] = lines.map((line) => JSON.parse(line));
  assertEquals([lines.length, first.frame, first.seconds, first.width], [2, 1, 0.04, 8]);
  assertEquals([first.regions[0].width, first.regions[0].detection.label], [4, "cat"]);
});

test("toRing() and fromRing() cut a pipeline in two, and no byte is copied", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/ring`;
    const { sink, seen } = noted();
    const [written, read] = await Promise.all([
      pipeline(numbered(30), doubling(), toRing(FrameRing, path, { join: true })).run(),
      pipeline(fromRing(FrameRing, path, { reconnect: false, wait: true }), sink).run(),
    ]);
    assertEquals(seen.map(({ value }) => value), Array.from({ length: 30 }, (_, i) => 2 * (i + 1)));
    assertEquals([written.bytesMoved, read.bytesMoved], [0, 0]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test("toRing() and fromRing() hand on metadata and times, and a crop behind them moves the detections", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/ring`;
    const detect = new Transform({
      name: "detect",
      process: ({ metadata, info }) => {
        const id = Number(info.media!.pts);
        metadata.add("detection", { xMin: 0.5, yMin: 0.5, xMax: 0.75, yMax: 1, id, label: `${id}` });
        metadata.add("classification", { objectId: id, label: "cat" });
      },
    });
    const seen: unknown[] = [];
    const regions = new Sink({
      name: "regions",
      write: ({ regions, info: { media }, metadata }) => {
        const [{ x, y, width, height, detection, classifications }] = regions;
        const sequence = metadata.get("source")?.sequence;
        seen.push([x, y, width, height, detection.label, classifications[0].label, media, sequence]);
      },
    });
    await Promise.all([
      pipeline(numbered(20), detect, doubling(), toRing(FrameRing, path, { join: true })).run(),
      pipeline(fromRing(FrameRing, path, { wait: true }), crop({ x: 2, y: 2, width: 4, height: 2 }), regions).run(),
    ]);
    const media = (pts: number) => ({ pts: BigInt(pts), timeBase: [1, 25] });
    assertEquals(seen, Array.from({ length: 20 }, (_, i) => [2, 0, 2, 2, `${i + 1}`, "cat", media(i + 1), i + 1]));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test("toRing() that cannot make its ring is named, and its frames are given back", async () => {
  const whole = pipeline(numbered(2), copy(), toRing(FrameRing, "/not/there/ring"));
  const error = await assertRejects(() => whole.run(), StageError, "make it first");
  assertEquals(error.stage, "to ring");
});

test("toRing() without a transform before it says what to do", async () => {
  const error = await assertRejects(() => pipeline(numbered(2), toRing(FrameRing, "/tmp/none")).run(), StageError);
  assert(error.message.includes("copy()"), error.message);
});
