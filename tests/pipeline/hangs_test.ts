// Stages that hang are named, in a pipeline that runs and in one that ends. All of them wait at a time: it takes ten seconds.
import { assertEquals, assertRejects } from "@std/assert";
import { DisposedError, type Frame, host } from "@samepage/interop";
import { Flow, pipeline, Sink, Source, Transform } from "@samepage/interop/pipeline";
import { noted, numbered, test } from "./help.ts";

/** What stages wait for, until a warning has their name. */
class Waits implements Disposable {
  readonly warnings: string[] = [];
  readonly #named = new Map<string, () => void>();
  readonly #warn = console.warn;

  constructor() {
    console.warn = (text: string) => {
      this.warnings.push(text.replace("samepage: ", ""));
      for (const [name, resolve] of this.#named) if (text.includes(name)) resolve();
    };
  }

  [Symbol.dispose](): void {
    console.warn = this.#warn;
  }

  until(name: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#named.set(name, resolve);
    return promise;
  }
}

const LEFT = "still works 5 s after the pipeline's end, and is left behind: run.signal says when to stop.";
const enough = new Error("enough");

/** A source that never gives a frame. */
function silent(name: string) {
  const { promise: began, resolve } = Promise.withResolvers<void>();
  const next = () => (resolve(), new Promise<never>(() => {}));
  const ends = () => Promise.resolve({ done: true as const, value: undefined });
  const frames = () => ({ [Symbol.asyncIterator]: () => ({ next, return: ends }) });
  return { source: new Source({ name, frames }), began };
}

/** A signal ends run(), and disposal explain(). */
async function endSilent(): Promise<void> {
  const [run, explain] = ["run", "explain"].map((name) => silent(`silent ${name}`));
  const controller = new AbortController();
  const { signal } = controller;
  const ran = assertRejects(() => pipeline(run.source, noted().sink, { signal }).run(), Error, "enough");
  await run.began;
  controller.abort(enough);
  const explained = pipeline(explain.source, noted().sink);
  const explains = assertRejects(() => explained.explain(), DisposedError);
  await explain.began;
  await Promise.all([ran, explains, explained[Symbol.asyncDispose]()]);
}

test("a stage that hangs is named: at work, keeping frames, after the end, in abort(), without a frame", async () => {
  using waits = new Waits();
  const hangs = new Transform({
    name: "hangs",
    process: ({ metadata }) => metadata.get("source")?.sequence === 3 ? waits.until("hangs") : undefined,
  });
  const keeps = new Flow({
    name: "keeps",
    async *flow(frames) {
      const kept: Frame[] = [];
      for await (const frame of frames) {
        if (kept.push(frame) < 4) continue;
        await waits.until("keeps");
        break;
      }
      yield* kept;
    },
  });
  const deaf = (controller: AbortController) =>
    new Transform({
      name: "deaf",
      process: () => {
        controller.abort(enough);
        return new Promise<never>(() => {});
      },
    });
  const slow = (controller: AbortController) =>
    new Sink({ name: "slow", write: () => controller.abort(enough), abort: () => waits.until("slow") });
  const aborted = [deaf, slow].map((stage) => {
    const controller = new AbortController();
    const pieces = [stage(controller), ...stage === deaf ? [noted().sink] : []];
    return assertRejects(() => pipeline(numbered(9), ...pieces, { signal: controller.signal }).run(), Error, "enough");
  });
  const ending = endSilent();
  const read = waits.until("encoder");
  const encoder = new Sink({
    name: "encoder", // one that looks ahead: its frames are disposed, and cannot end yet
    takes: { memory: host },
    write: ({ planes: [plane] }) => plane.usedBy(host.signal(read)),
  });
  const runs = [
    pipeline(numbered(6), hangs, noted().sink),
    pipeline(numbered(4), keeps, noted().sink),
    pipeline(numbered(9), encoder),
  ];
  const figures = await Promise.all(runs.map((one) => one.run()));
  await Promise.all([...aborted, ending]);
  assertEquals(figures.map(({ frames }) => frames), [6, 4, 9]);
  const all = waits.warnings.map((text) => text.replace(/\. A stage that keeps.*$/, "")).sort();
  assertEquals(all, [
    `deaf ${LEFT}`,
    `silent explain ${LEFT}`,
    `silent run ${LEFT}`,
    "slow has not closed 5 s after the pipeline's end: the pipeline waits for it.",
    "the pipeline has waited for 5 s: of its frames, encoder has 4",
    "the pipeline has waited for 5 s: of its frames, hangs has 1, numbered has 3",
    "the pipeline has waited for 5 s: of its frames, keeps has 4",
  ]);
});
