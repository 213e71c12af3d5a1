// Pipelines that end in every state: at each step of each stage, by an error, a signal, or a loop that breaks off.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Frame, host, type HostTensor, ledger } from "../../mod.ts";
import { copy, Flow, join, pipeline, Sink, Source, StageError, tee, Transform } from "../../src/pipeline/mod.ts";
import { numberedFrame, test, valueOf } from "./help.ts";

const FRAMES = 4;

/** Stages that take a step at each thing they do; the step that is due does something else. */
class Steps {
  count = 0;
  /** How often each sink was closed, or aborted. */
  readonly ends: string[] = [];
  readonly #due: number;
  readonly #act: (stage: string) => void;

  constructor(due = Infinity, act: (stage: string) => void = () => {}) {
    [this.#due, this.#act] = [due, act];
  }

  async step(stage: string): Promise<void> {
    if (++this.count === this.#due) this.#act(stage);
    await Promise.resolve();
    if (++this.count === this.#due) this.#act(stage);
  }

  source(name = "source"): Source {
    return new Source({ name, frames: () => this.#frames(name) });
  }

  async *#frames(name: string): AsyncGenerator<Frame> {
    for (let i = 1; i <= FRAMES; i++) {
      await this.step(name);
      yield numberedFrame(i);
    }
    await this.step(name);
  }

  transform(name: string, gives: boolean, concurrency = 1): Transform<HostTensor> {
    return new Transform<HostTensor>({
      ...{ name, takes: { memory: host, access: gives ? "read" : "read-write" }, concurrency },
      ...gives && { gives: (info) => info },
      process: async (input, output) => {
        await this.step(name);
        output.planes[0].bytes({ access: gives ? "write" : "read-write" }).fill(valueOf(input));
        await this.step(name);
      },
      close: () => this.step(name),
    });
  }

  flow(): Flow {
    return new Flow({ name: "flow", flow: (frames) => this.#passed(frames) });
  }

  async *#passed(frames: AsyncIterable<Frame>): AsyncGenerator<Frame> {
    for await (const frame of frames) {
      await this.step("flow");
      yield frame;
    }
    await this.step("flow");
  }

  sink(name: string): Sink {
    return new Sink({
      name,
      write: () => this.step(name),
      close: async () => {
        await this.step(name);
        if (!this.ends.includes(`${name} aborted`)) this.ends.push(`${name} closed`); // abort() ends a close()
      },
      abort: async () => {
        this.ends.push(`${name} aborted`);
        await this.step(name);
      },
    });
  }

  /** All kinds of stages. */
  all(signal?: AbortSignal) {
    const joined = join(this.source("other"), { combine: () => this.step("join") });
    return pipeline(
      ...[this.source(), joined, this.transform("new", true), this.flow(), this.transform("place", false, 2)] as const,
      tee([this.transform("left", true, 2), this.sink("one")], [copy(), this.sink("two")]),
      { frames: 3, ...signal !== undefined && { signal } },
    );
  }
}

/** So many steps does a run take that nothing ends. */
async function most(): Promise<number> {
  const steps = new Steps();
  assertEquals((await steps.all().run()).frames, FRAMES);
  assertEquals(steps.ends.toSorted(), ["one closed", "two closed"]);
  return steps.count;
}

function assertEndedOnce(ends: readonly string[], where: string): void {
  const names = ends.map((end) => end.split(" ")[0]);
  assertEquals(names.length, new Set(names).size, `${ends} ${where}`);
}

test("a signal ends a pipeline at each step of each stage, with its reason", async () => {
  const alive = JSON.stringify(ledger.alive);
  for (let due = await most(); due > 0; due--) {
    const controller = new AbortController();
    const reason = new Error("enough");
    const steps = new Steps(due, () => controller.abort(reason));
    const error = await assertRejects(() => steps.all(controller.signal).run(), Error);
    assertEquals(error, reason, `at step ${due}: ${error}`);
    assertEndedOnce(steps.ends, `at step ${due}`);
    assertEquals(JSON.stringify(ledger.alive), alive, `at step ${due}`);
  }
});

test("a stage that fails at any step ends the pipeline by its name", async () => {
  const alive = JSON.stringify(ledger.alive);
  const failed = new Set<string>();
  for (let due = await most(); due > 0; due--) {
    let at = "";
    const steps = new Steps(due, (stage) => {
      at = stage;
      throw new Error("planned");
    });
    const error = await steps.all().run().then(() => undefined, (error: unknown) => error);
    if (error === undefined) {
      assertEquals(at, "other"); // it had given all frames, and was not asked for more
      continue;
    }
    assert(error instanceof StageError && error.message.includes("planned"), `${error} at step ${due}, of ${at}`);
    const stage = at === "other" ? "join" : at; // the other source is the join's
    assert([at, stage].includes(error.stage), `${error} at step ${due}, of ${at}`);
    failed.add(at);
    assertEndedOnce(steps.ends, `at step ${due}`);
    assertEquals(JSON.stringify(ledger.alive), alive, `at step ${due}, of ${at}`);
  }
  assertEquals([...failed].sort(), ["flow", "join", "left", "new", "one", "other", "place", "source", "two"]);
});

test("a loop that breaks off ends its pipeline after any frame, planned before or not", async () => {
  const alive = JSON.stringify(ledger.alive);
  for (let count = 1; count <= FRAMES; count++) {
    for (const planned of [true, false]) {
      const steps = new Steps();
      const stages = [steps.transform("new", true), steps.flow(), steps.transform("place", false, 2)];
      const whole = pipeline(steps.source(), ...stages, { frames: 2 });
      if (planned) await whole.explain();
      const seen: number[] = [];
      let kept: Frame | undefined;
      for await (const frame of whole) {
        seen.push(valueOf(frame));
        if (seen.length === count) {
          kept = frame;
          break;
        }
        frame[Symbol.dispose]();
      }
      assertEquals(seen, Array.from({ length: count }, (_, i) => i + 1));
      assertEquals(valueOf(kept!), count); // it is the program's, and outlives the pipeline
      kept![Symbol.dispose]();
      await Promise.resolve();
      assertEquals(JSON.stringify(ledger.alive), alive, `after ${count}`);
    }
  }
});
