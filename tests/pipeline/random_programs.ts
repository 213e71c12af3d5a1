/**
 * Pipelines at random: chains of stages of all kinds, that end well, fail, are aborted or are left. Beside each stage stands
 * what it makes of the frames by plain arithmetic, and what comes out is compared with that. By hand, until it is stopped:
 *
 * ```sh
 * deno run -A --no-check tests/pipeline/random_programs.ts FIRST_SEED SECONDS
 * ```
 *
 * @module
 */
import { assert, assertEquals, AssertionError } from "@std/assert";
import {
  type Frame,
  host,
  type HostTensor,
  type ImageFormat,
  imageInfo,
  InteropError,
  ledger,
} from "@samepage/interop";
import { FrameRing } from "@samepage/interop/channel";
import { OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
import { OpenCLContext, type OpenCLKernel } from "@samepage/interop/opencl";
import {
  copy,
  crop,
  Flow,
  fromRing,
  infer,
  join,
  kernel,
  latest,
  pace,
  type Piece,
  type Pipeline,
  pipeline,
  type PipelineOptions,
  rate,
  Sink,
  Source,
  StageError,
  tee,
  toRing,
  Transform,
} from "@samepage/interop/pipeline";
import { Level, openFiles } from "../gc.ts";
import { onnxModel } from "../inference/onnx.ts";
import { LIBRARY } from "../onnxruntime/open.ts";
import { numbers } from "../random.ts";
import { warningsOf } from "../warnings.ts";

/** The longest that a program may take, in milliseconds: no stage is left behind, and none is named as slow. */
const PATIENCE = 20_000;

const RATE = 25;

/** After so many programs, all that libraries open once is open. */
const OPENING = 20;

/** ONNX Runtime has a database of its own, which a thread opens when it likes. */
const NOT_OF_ORT = /^(?!.*onnxruntime\.db)/;

/** A frame as the model has it: all bytes of its planes have the value. */
interface Item {
  readonly sequence: number;
  readonly value: number;
}

/** What comes out of a stage. */
interface Frames {
  readonly items: readonly Item[];
  /** Exactly these in this order; these in any order; or some of them, depending on how fast the stages are. */
  readonly as: "exactly" | "unordered" | "some";
  readonly width: number;
  readonly height: number;
  /** Others have the same bytes: no stage writes them in place. */
  readonly isShared: boolean;
  /** Each is later than the one before. */
  readonly inTime: boolean;
  /** They are not part of pictures that another branch may have on the device. */
  readonly isWhole: boolean;
}

/** Something that can stand in a pipeline. */
interface Step {
  readonly text: string;
  readonly piece: Piece;
  readonly out: Frames;
  /** Frames that it has in its hands while it waits for others. */
  readonly holds?: number;
  /** A stream is used up by one run. */
  readonly once?: boolean;
}

/** What goes wrong in one stage, at one of its steps. */
class Fault {
  /** What it does, once it is due; undefined where nothing goes wrong. */
  kind: "throw" | "abort" | "dispose" | undefined;
  at = "";
  due = 0;
  hasHappened = false;
  readonly controller = new AbortController();

  /** A stage is about to do something. `frame` is one that it has. */
  step(stage: string, frame?: Frame): void {
    if (this.kind === undefined || stage !== this.at || this.due-- !== 0) return;
    if (this.kind === "dispose" && frame === undefined) return;
    this.hasHappened = true;
    if (this.kind === "throw") throw new Error("planned");
    if (this.kind === "abort") this.controller.abort(new Error("enough"));
    if (this.kind === "dispose") frame![Symbol.dispose]();
  }
}

/** What programs share, which none of them ends. */
export interface Tools {
  readonly place?: OpenCLKernel;
  readonly twice?: OpenCLKernel;
  readonly model?: ReturnType<OnnxRuntimeContext["compileSync"]>;
}

const KERNELS = `
kernel void place(global uchar *to, int stride) { to[get_global_id(1) * stride + get_global_id(0)] += 7; }
kernel void twice(global const uchar *from, int stride, global uchar *to, int toStride) {
  to[get_global_id(1) * toStride + get_global_id(0)] = 2 * from[get_global_id(1) * stride + get_global_id(0)];
}`;

/** y = -x, of any number of frames. */
const MODEL = onnxModel({
  inputs: [{ name: "x", type: "f32", shape: ["n", 1] }],
  outputs: [{ name: "y", type: "f32", shape: ["n", 1] }],
  nodes: [{ op: "Neg", inputs: ["x"], outputs: ["y"] }],
});

/** Opens what is on this machine. */
export function toolsIn(open: DisposableStack, hasOpenCL: boolean): Tools {
  const model = LIBRARY === undefined
    ? undefined
    : open.use(open.use(OnnxRuntimeContext.open({ library: LIBRARY })).compileSync(MODEL, { threads: 1 }));
  if (!hasOpenCL) return { ...model && { model } };
  const program = open.use(open.use(OpenCLContext.open()).program(KERNELS));
  const [place, twice] = ["place", "twice"].map((name) => open.use(program.kernel(name)));
  return { place, twice, ...model && { model } };
}

/** Runs the programs of these seeds. @throws {AssertionError} with the program that did what no model says. */
export async function runPrograms(tools: Tools, seeds: Iterable<number>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let [ran, fds]: [number, Level | undefined] = [0, undefined];
  for (const seed of seeds) {
    const program = new Program(tools, numbers(seed * 7919));
    try {
      for (const outcome of await program.run()) counts[outcome] = (counts[outcome] ?? 0) + 1;
      if (++ran === OPENING) fds = new Level(() => openFiles(NOT_OF_ORT).length);
      await fds?.assertBack("open fds");
    } catch (error) {
      throw new AssertionError(`seed ${seed}: ${program.text}\n${error instanceof Error ? error.stack : error}`);
    }
  }
  return counts;
}

class Program {
  readonly #tools: Tools;
  readonly #random: (below: number) => number;
  readonly #fault = new Fault();
  /** Names of stages that a fault can be in. */
  readonly #names: string[] = [];
  #count = 0;
  #needs = 1;
  #isOnce = false;
  /** The stages that cannot do what they want. */
  readonly #refused: string[] = [];
  #mustBeRefused = false;
  /** What each end has seen, and what it is to see. */
  readonly #ends: { readonly name: string; readonly expected: Frames; readonly seen: Item[] }[] = [];
  #whole: Pipeline | undefined;
  /** True if a loop has broken off. */
  #isCut = false;
  /** True if a stage stops taking frames. What fails before it may come too late for a loop. */
  #endsEarly = false;
  text = "";

  constructor(tools: Tools, random: (below: number) => number) {
    [this.#tools, this.#random] = [tools, random];
  }

  #chance(of: number): boolean {
    return this.#random(of) === 0;
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#random(from.length)];
  }

  /** A name that no other stage has. */
  #named(kind: string): string {
    const name = `${kind} ${++this.#count}`;
    this.#names.push(name);
    return name;
  }

  /** Something that takes a while, or not. */
  #pause(): () => Promise<void> | void {
    const kind = this.#random(6);
    if (kind < 3) return () => {};
    if (kind < 5) return () => Promise.resolve();
    return () => new Promise((resolve) => setTimeout(resolve, this.#random(2)));
  }

  async run(): Promise<string[]> {
    const outcomes: string[] = [];
    const alive = aliveNow();
    const warnings = await warningsOf(async () => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<never>((_, reject) => {
        const slow = () => reject(new Error(`not over after ${PATIENCE} ms: ${this.#whole?.figures}`));
        timer = setTimeout(slow, PATIENCE);
      });
      try {
        outcomes.push(await Promise.race([this.#attempt(), late]));
      } finally {
        clearTimeout(timer);
      }
    });
    assertEquals(warnings, []);
    assertEquals(aliveNow(), alive, "what is alive");
    return outcomes;
  }

  async #attempt(): Promise<string> {
    const count = this.#random(13);
    const format = this.#pick<ImageFormat>(["GRAY8", "I420", "RGB"]);
    const [width, height] = [16 + 4 * this.#random(4), 4 + 4 * this.#random(3)];
    const rowAlign = this.#pick([1, 64]);
    const source = this.#source(count, format, width, height, rowAlign);
    const frames: Frames = {
      ...{ items: itemsOf(count), as: "exactly", width, height, isShared: false, inTime: true, isWhole: true },
    };
    const [steps, out] = this.#chain(frames, this.#random(5), 0);
    const before: PipelineOptions = {
      ...this.#chance(3) && { measure: true },
      ...this.#chance(4) && { copy: "allow" },
    };
    const endings = ["sink", "sink", "tee", "loop", "stream", "nothing", "ring"] as const;
    // A ring is made for its first frame: without one, its reader would wait forever.
    const mayRing = out.items.length > 0 && out.as !== "some";
    const ending = this.#pick(mayRing ? endings : endings.slice(0, -1));
    this.text = `${count} × ${format} ${width} × ${height}: ${steps.map(({ text }) => text).join(", ")} → ${ending}`;
    const pieces = steps.map(({ piece }) => piece);
    const isRing = ending === "ring";
    const rest = isRing ? this.#ring(out, before) : undefined;
    if (ending === "sink") pieces.push(this.#sink(out));
    if (ending === "tee") pieces.push(this.#tee(out, 1));
    if (ending === "stream") pieces.push(this.#stream(out));
    if (rest !== undefined) pieces.push(...rest.pieces);
    const options = { ...before, frames: this.#needs + this.#random(4), signal: this.#fault.controller.signal };
    if (!this.#chance(3)) this.#plan(count);
    const { kind, at, due } = this.#fault;
    this.text += `; at most ${options.frames}${kind === undefined ? "" : `; ${kind} in ${at}, step ${due}`}`;
    const whole = this.#whole = pipeline(source, ...pieces, options);
    if (this.#chance(4)) {
      this.text += "; explained";
      try {
        assert(`${await whole.explain()}`.includes("each frame"), "explain()");
      } catch (error) {
        return this.#judge(error);
      }
      if (this.#chance(3)) {
        await whole[Symbol.asyncDispose]();
        return "left before it began";
      }
    }
    const run = () =>
      isRing
        ? this.#both(whole, rest!.reading, options)
        : ending === "loop" || ending === "nothing"
        ? this.#loop(whole, out, ending === "loop")
        : whole.run();
    const error = await failureOf(run);
    const outcome = this.#judge(error);
    if (outcome !== "ended well" || this.#fault.hasHappened || this.#isOnce || !this.#chance(3)) return outcome;
    for (const { seen } of this.#ends) seen.length = 0;
    const again = await failureOf(run);
    return `${this.#judge(again)}, twice`;
  }

  /** Chooses a fault, for a stage that is there. */
  #plan(count: number): void {
    const fault = this.#fault;
    fault.kind = this.#pick(["throw", "abort", "dispose"]);
    fault.at = this.#pick(this.#names);
    fault.due = this.#random(count + 2);
  }

  /** Compares what was seen with what the model says. */
  #judge(error: unknown): string {
    const { hasHappened, kind, at } = this.#fault;
    const isWhole = error === undefined;
    for (const { name, expected, seen } of this.#ends) {
      try {
        assertSeen(seen, expected, isWhole && !hasHappened);
      } catch (error) {
        throw new AssertionError(`${name}: ${error instanceof Error ? error.message : error}`);
      }
    }
    if (isWhole) {
      // A source that was not asked for more frames never fails, and an abort after the end stops nothing.
      assert(
        !hasHappened || this.#isCut || this.#endsEarly || at.startsWith("other") || kind !== "throw",
        `${kind} in ${at} was not thrown`,
      );
      assert(!this.#mustBeRefused || hasHappened, `${this.#refused} was not refused`);
      return "ended well";
    }
    if (!hasHappened) {
      if (this.#refused.length === 0) throw error;
      assert(error instanceof StageError && this.#refused.includes(error.stage), `not of ${this.#refused}: ${error}`);
      return "refused";
    }
    if (stagesIn(error).some((stage) => this.#refused.includes(stage))) return "refused";
    if (kind === "abort") {
      assert(error === this.#fault.controller.signal.reason, `another error than the signal's: ${error}`);
      return "aborted";
    }
    assert(error instanceof StageError, `no StageError: ${error}`);
    if (kind === "throw") {
      assert(error.message.includes("planned"), `${error}`);
      assert(error.stage === at || at.startsWith("other"), `${error.stage}, and not ${at}: ${error}`);
    }
    return kind!;
  }

  #source(
    count: number,
    format: ImageFormat,
    width: number,
    height: number,
    rowAlign: number,
    name = this.#named("source"),
  ): Source {
    const [pause, fault] = [this.#pause(), this.#fault];
    return new Source({
      name,
      async *frames() {
        for (let i = 1; i <= count; i++) {
          await pause();
          fault.step(name);
          yield frameOf(i, format, width, height, rowAlign);
        }
        fault.step(name);
      },
    });
  }

  #chain(frames: Frames, length: number, depth: number): [readonly Step[], Frames] {
    const steps: Step[] = [];
    let at = frames;
    while (steps.length < length) {
      const step = this.#pick(STEPS).call(this, at, depth);
      if (step === undefined) continue;
      steps.push(step);
      at = step.out;
      this.#needs += step.holds ?? 0;
      this.#isOnce ||= step.once ?? false;
    }
    return [steps, at];
  }

  #sink(expected: Frames): Sink {
    const [name, fault, pause, seen] = [this.#named("sink"), this.#fault, this.#pause(), [] as Item[]];
    const concurrency = this.#pick([1, 1, 3]);
    this.#ends.push({ name, expected: concurrency > 1 ? unordered(expected) : expected, seen });
    const sink = new Sink<HostTensor>({
      ...{ name, takes: { memory: host }, concurrency },
      write: async (frame) => {
        await pause();
        fault.step(name);
        seen.push(itemOf(frame));
        await pause();
      },
      close: () => fault.step(name),
    });
    return sink as Sink;
  }

  #stream(expected: Frames): WritableStream<Frame> {
    this.#isOnce = true;
    const seen: Item[] = [];
    this.#ends.push({ name: "stream", expected, seen });
    return new WritableStream({ write: (frame) => void seen.push(itemOf(frame as Frame<HostTensor>)) });
  }

  #tee(frames: Frames, depth: number): Sink {
    const branches = Array.from({ length: 1 + this.#random(3) }, () => {
      const shared = { ...frames, isShared: true, ...frames.as === "exactly" && { as: "exactly" as const } };
      const [steps, out] = this.#chain(shared, this.#random(3), depth);
      const end = depth < 2 && this.#chance(5) ? this.#tee(out, depth + 1) : this.#sink(out);
      this.text += `; branch ${steps.map(({ text }) => text).join(", ")}`;
      return [...steps.map(({ piece }) => piece), end];
    });
    return tee(...branches);
  }

  /** The rest of a program behind a ring. */
  #ring(frames: Frames, before: PipelineOptions): { readonly pieces: readonly Piece[]; readonly reading: Pipeline } {
    const path = `${Deno.makeTempDirSync({ prefix: "samepage-random-" })}/ring`;
    this.#isOnce = true;
    const needs = this.#needs;
    this.#needs = 1;
    const [steps, out] = this.#chain({ ...frames, isShared: true }, this.#random(3), BEHIND_RING);
    const end = this.#chance(4) ? this.#tee(out, 1) : this.#sink(out);
    const mine = this.#needs;
    this.#needs = Math.max(needs, mine);
    const count = 1 + mine + this.#random(3);
    this.text += `; ring of ${count}, then ${steps.map(({ text }) => text).join(", ")}`;
    const options = { ...before, frames: mine + this.#random(3), signal: this.#fault.controller.signal };
    const reading = pipeline(
      fromRing(FrameRing, path, { wait: true }),
      ...steps.map(({ piece }) => piece),
      end,
      options,
    );
    return { pieces: [copy(), toRing(FrameRing, path, { join: true, frames: count })], reading };
  }

  /** Both sides of a ring. Where one fails, the other would wait for the next. */
  async #both(writing: Pipeline, reading: Pipeline, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const errors: unknown[] = [];
    const stop = (error: unknown) => {
      errors.push(error);
      if (!signal.aborted) this.#fault.controller.abort(new Error("the other side has failed"));
    };
    await Promise.all([writing, reading].map((one) => one.run().catch(stop)));
    // What the fault has made of the other side is not an outcome.
    if (errors.length > 0) throw errors.find((error) => error instanceof StageError) ?? errors[0];
  }

  /** Takes what comes out. */
  async #loop(whole: Pipeline, expected: Frames, looks: boolean): Promise<void> {
    if (!looks) return void await whole.run();
    const end = { name: "loop", expected, seen: [] as Item[] };
    this.#ends.splice(0, 1, end); // the one of a run before
    const most = this.#chance(3) ? this.#random(6) : Infinity;
    const kept: Frame[] = [];
    for await (const frame of this.#chance(2) ? whole : whole.readable) {
      end.seen.push(itemOf(frame as Frame<HostTensor>));
      if (this.#chance(2)) frame[Symbol.dispose]();
      else kept.push(frame);
      if (kept.length > 0 && end.seen.length % 2 === 0) await kept.shift()![Symbol.asyncDispose]();
      while (kept.length > 0) await kept.shift()![Symbol.asyncDispose]();
      this.#isCut = end.seen.length > most;
      if (this.#isCut) break;
    }
    if (this.#isCut) Object.assign(end, { expected: { ...expected, items: end.seen, as: "unordered" } });
  }

  /** A transform of the program's own. */
  #transform(kind: string, frames: Frames, make: {
    readonly gives: boolean;
    readonly reads?: boolean;
    readonly value?: (value: number) => number;
    readonly keeps?: (item: Item) => boolean;
  }): Step | undefined {
    const { gives, reads = false, value = (value) => value, keeps = () => true } = make;
    const isWriter = !gives && !reads;
    if (isWriter && frames.isShared && (frames.as !== "exactly" || !this.#chance(4))) return undefined;
    const [name, fault, pause] = [this.#named(kind), this.#fault, this.#pause()];
    if (isWriter && frames.isShared) {
      this.#refused.push(name);
      this.#mustBeRefused ||= frames.items.length > 0; // else it is where it is planned for, in tee() and explain()
    }
    const concurrency = this.#pick([1, 1, 2, 4]);
    const ordered = this.#chance(4) ? false : undefined;
    const ownMemory = gives && this.#chance(4);
    const piece = new Transform<HostTensor>({
      ...{ name, takes: { memory: host, access: gives || reads ? "read" : "read-write" }, concurrency },
      ...gives && { gives: (info) => info },
      ...ordered === false && { ordered },
      ...ownMemory && { allocate: (info) => host.allocateFrame(info, { rowAlign: 256 }) },
      process: async (input, output) => {
        await pause();
        fault.step(name, this.#chance(2) ? input : output);
        const item = itemOf(input);
        if (!reads) {
          for (const plane of output.planes) fill(plane, value(item.value), gives ? "write" : "read-write");
        }
        await pause();
        return keeps(item);
      },
      close: () => fault.step(name),
    });
    const items = frames.items.filter(keeps).map(({ sequence, value: v }) => ({ sequence, value: value(v) & 255 }));
    const as = ordered === false && concurrency > 1 ? unordered(frames).as : frames.as;
    const text = `${name}${gives ? " into others" : ""}${concurrency > 1 ? ` ${concurrency} at a time` : ""}${
      ordered === false ? " in any order" : ""
    }`;
    const out = { ...frames, items, as, ...gives && WRITTEN, ...as === "unordered" && { inTime: false } };
    return { text, piece: piece as Transform as Piece, out };
  }

  /** A flow of the program's own. It is stateful, so its frames must come in a known order. */
  #flow(
    kind: string,
    frames: Frames,
    items: readonly Item[],
    flow: (frames: AsyncIterable<Frame>, step: (frame?: Frame) => void) => AsyncIterable<Frame>,
    { holds = 0, changes = {} as Partial<Frames> } = {},
  ): Step {
    const [name, fault] = [this.#named(kind), this.#fault];
    const piece = new Flow({ name, keeps: this.#chance(2), flow: (all) => flow(all, () => fault.step(name)) });
    const out: Frames = frames.as === "exactly"
      ? { ...frames, items, ...changes }
      : { ...frames, ...changes, as: "some", inTime: false };
    return { text: name, piece, out, holds };
  }

  static readonly steps: readonly ((this: Program, frames: Frames, depth: number) => Step | undefined)[] = [
    function (frames) {
      const by = 1 + this.#random(9);
      return this.#transform(`add ${by}`, frames, { gives: this.#chance(2), value: (value) => value + by });
    },
    function (frames) {
      return this.#transform("look", frames, { gives: false, reads: true });
    },
    function (frames) {
      const [of, at] = [2 + this.#random(3), this.#random(2)];
      const keeps = ({ value }: Item) => value % of !== at;
      return this.#transform(`drop ${at} of ${of}`, frames, { ...this.#pick(HOW), keeps });
    },
    function (frames) {
      return { text: "copy", piece: copy(), out: { ...frames, ...WRITTEN } };
    },
    function (frames) {
      const { place } = this.#tools;
      if (place === undefined || frames.isShared || !frames.isWhole) return undefined;
      const items = frames.items.map(({ sequence, value }) => ({ sequence, value: value + 7 & 255 }));
      return { text: "kernel in place", piece: kernel(place, RANGE) as Piece, out: { ...frames, items } };
    },
    function (frames) {
      const { twice } = this.#tools;
      if (twice === undefined || !frames.isWhole) return undefined;
      const items = frames.items.map(({ sequence, value }) => ({ sequence, value: 2 * value & 255 }));
      const piece = kernel(twice, { gives: (info) => info, ...RANGE }) as Piece;
      return { text: "kernel", piece, out: { ...frames, items, ...WRITTEN } };
    },
    function (frames) {
      return this.#flow("pass", frames, frames.items, async function* (all, step) {
        for await (const frame of all) {
          step();
          yield frame;
        }
        step();
      });
    },
    function (frames) {
      if (frames.isShared) return undefined;
      const items = frames.items.flatMap((item) => [item, { ...item, value: item.value + 1 & 255 }]);
      if (frames.as !== "exactly") return undefined;
      return this.#flow("two of one", frames, items, async function* (all, step) {
        for await (const frame of all) {
          step();
          let other: Frame | undefined = await another(frame as Frame<HostTensor>);
          try {
            yield frame;
            const given = other;
            other = undefined;
            yield given;
          } finally {
            other?.[Symbol.dispose]();
          }
        }
      }, { changes: { inTime: false } });
    },
    function (frames) {
      const first = this.#random(2);
      const items = frames.items.filter((_, i) => i % 2 === first);
      return this.#flow("every second", frames, items, async function* (all, step) {
        let i = 0;
        for await (const frame of all) {
          step();
          if (i++ % 2 === first) yield frame;
          else await frame[Symbol.asyncDispose]();
        }
      });
    },
    function (frames, depth) {
      if (depth === BEHIND_RING) return undefined; // its writer waits for the next reader
      const count = this.#random(5);
      this.#endsEarly = true;
      return this.#flow(`the first ${count}`, frames, frames.items.slice(0, count), async function* (all, step) {
        let left = count;
        if (left === 0) return;
        for await (const frame of all) {
          step();
          yield frame;
          if (--left === 0) return;
        }
      });
    },
    function (frames) {
      const items = frames.items.map((_, i, all) => all[i ^ 1] ?? all[i]);
      return this.#flow("in pairs", frames, items, async function* (all, step) {
        let first: Frame | undefined;
        try {
          for await (const frame of all) {
            step();
            if (first === undefined) first = frame;
            else {
              yield frame;
              const held: Frame = first;
              first = undefined;
              yield held;
            }
          }
          if (first !== undefined) {
            const last: Frame = first;
            first = undefined;
            yield last;
          }
        } finally {
          await first?.[Symbol.asyncDispose]();
        }
      }, { holds: 1, changes: { inTime: false } });
    },
    function (frames) {
      return { text: "latest", piece: latest(), out: { ...frames, as: "some", inTime: false }, holds: 1 };
    },
    function (frames) {
      const perSecond = this.#pick([5, 10, 20]);
      if (!frames.inTime || frames.as !== "exactly") return undefined;
      let next = -Infinity;
      const items = frames.items.filter(({ sequence }) => {
        const now = sequence / RATE;
        if (now < next - 0.1 / perSecond) return false;
        next = Math.max(next === -Infinity ? now : next, now - 1 / perSecond) + 1 / perSecond;
        return true;
      });
      return { text: `rate ${perSecond}`, piece: rate(perSecond), out: { ...frames, items } };
    },
    function (frames) {
      return { text: "pace", piece: pace(10_000), out: frames };
    },
    function (frames) {
      if (!frames.inTime || frames.as !== "exactly") return undefined;
      const [count, name] = [this.#random(12), this.#named("other")];
      const other = pipeline(
        this.#source(count, "GRAY8", 8, 4, 64, name),
        ...this.#chance(2)
          ? [this.#transform("other look", OTHER, { gives: false, reads: true })!.piece as Transform]
          : [],
      );
      const items = frames.items.filter(({ sequence }) => sequence <= count);
      const [joins, fault] = [this.#named("join"), this.#fault];
      this.#names.splice(this.#names.indexOf(joins), 1); // it is called join
      const piece = join(other, {
        combine: (frame, one) => {
          fault.step(joins);
          assertEquals(sequenceOf(frame), sequenceOf(one));
        },
      });
      return { text: `join ${count}`, piece, out: { ...frames, items } };
    },
    function (frames) {
      const [x, y] = [2 * this.#random(3), 2 * this.#random(2)];
      const width = Math.max(2, 2 * this.#random(frames.width / 2));
      const [across, down] = [Math.min(width, frames.width - x), Math.max(2, frames.height - y - 2)];
      if (across < 2 || y + down > frames.height) return undefined;
      const piece = crop({ x, y, width: across, height: down });
      // OpenCL has one cl_mem for bytes that overlap: no kernel takes a part while another branch has the whole.
      const isWhole = frames.isWhole && !frames.isShared;
      const out = { ...frames, width: across, height: down, isWhole };
      return { text: `crop ${x} ${y} ${across} ${down}`, piece, out };
    },
    function (frames) {
      return { text: "stream", piece: new TransformStream<Frame, Frame>(), out: frames, holds: 1, once: true };
    },
    function (frames) {
      const { model } = this.#tools;
      if (model === undefined) return undefined;
      const [batch, every, concurrency] = [1 + this.#random(3), 1 + this.#random(2), 1 + this.#random(2)];
      const [name, fault] = [this.#named("infer"), this.#fault];
      const piece = infer(model, {
        ...{ name, batch, every, concurrency },
        prepare: (frame, { x }) => {
          fault.step(name);
          x.view({ dtype: "f32", access: "write" })[0] = itemOf(frame).value;
        },
        results: ({ y }, frame) => {
          fault.step(name);
          assertEquals(Number(y.view({ access: "read" })[0]), 0 - itemOf(frame).value);
        },
      });
      const text = `${name}, every ${every}, ${batch} a run, ${concurrency} runs`;
      return { text, piece: piece as Transform as Piece, out: frames, holds: (batch - 1) * every };
    },
  ];
}

const BEHIND_RING = 9;

const STEPS = Program.steps;

const HOW = [{ gives: true }, { gives: false, reads: true }, { gives: false }] as const;

const OTHER: Frames = { items: [], as: "exactly", width: 8, height: 4, isShared: false, inTime: true, isWhole: true };

/** What a stage has written is its own. */
const WRITTEN = { isShared: false, isWhole: true };

/** Work-items over all bytes of a row. */
const RANGE = {
  arguments: (from: Strided, to: Strided) =>
    (from === to ? [to, to.layout.strides[0]] : [from, from.layout.strides[0], to, to.layout.strides[0]]) as never[],
  range: ({ layout: { shape: [rows, columns, channels = 1] } }: Strided) => ({ items: [columns * channels, rows] }),
};

interface Strided {
  readonly layout: { readonly shape: readonly number[]; readonly strides: readonly number[] };
}

function unordered(frames: Frames): Frames {
  return { ...frames, as: frames.as === "some" ? "some" : "unordered", inTime: false };
}

function itemsOf(count: number): Item[] {
  return Array.from({ length: count }, (_, i) => ({ sequence: i + 1, value: i + 1 }));
}

function frameOf(i: number, format: ImageFormat, width: number, height: number, rowAlign: number): Frame<HostTensor> {
  const info = { ...imageInfo({ format, width, height }), media: { pts: BigInt(i), timeBase: [1, RATE] as const } };
  const frame = host.allocateFrame(info, { rowAlign });
  for (const plane of frame.planes) fill(plane, i, "write");
  frame.metadata.add("source", { sequence: i });
  return frame;
}

/** A frame of a program's own behind another, one more. */
async function another(frame: Frame<HostTensor>): Promise<Frame> {
  await frame.finished();
  const { sequence, value } = itemOf(frame);
  const copied = host.allocateFrame(frame.info);
  for (const plane of copied.planes) fill(plane, value + 1, "write");
  copied.metadata.add("source", { sequence });
  return copied;
}

function fill(plane: HostTensor, value: number, access: "write" | "read-write"): void {
  const [bytes, { shape, strides }] = [plane.bytes({ access }), plane.layout];
  const width = shape.slice(1).reduce((all, one) => all * one, 1);
  for (let y = 0; y < shape[0]; y++) bytes.fill(value & 255, y * strides[0], y * strides[0] + width);
}

function sequenceOf({ metadata }: Frame): number | undefined {
  return metadata.get("source")?.sequence;
}

/** The item that a frame is. All of its bytes have to be alike. */
function itemOf(frame: Frame<HostTensor>): Item {
  const { planes, info: { media } } = frame;
  const value = planes[0].bytes({ access: "read" })[0] as number;
  for (const plane of planes) {
    const [bytes, { shape, strides }] = [plane.bytes({ access: "read" }), plane.layout];
    const width = shape.slice(1).reduce((all, one) => all * one, 1);
    for (let y = 0; y < shape[0]; y++) {
      const row = bytes.subarray(y * strides[0], y * strides[0] + width);
      assert(row.every((byte) => byte === value), `frame ${sequenceOf(frame)}: ${row} in row ${y}, and not ${value}`);
    }
  }
  const sequence = sequenceOf(frame)!;
  assertEquals(Number(media?.pts), sequence, "its time");
  return { sequence, value };
}

/** Where a run did not end well, its ends have seen the beginning. */
function assertSeen(seen: readonly Item[], { items, as }: Frames, isWhole: boolean): void {
  const words = (list: readonly Item[]) => list.map(({ sequence, value }) => `${sequence}:${value}`);
  const [got, expected] = [words(seen), words(items)];
  if (as === "exactly") return assertEquals(got, isWhole ? expected : expected.slice(0, got.length));
  if (as === "unordered" && isWhole) return assertEquals(got.toSorted(), expected.toSorted());
  const left = [...expected];
  for (const one of got) {
    assert(left.includes(one), `${one} of ${got} is none of ${expected}`);
    left.splice(left.indexOf(one), 1);
  }
}

/** A session keeps a flag for each run that there was at a time, until it ends. */
function aliveNow(): Readonly<Record<string, number>> {
  const { "native.flag": _, ...others } = ledger.alive;
  return others;
}

/** The stages that an error names: two branches of a tee may fail at the same time, one as planned. */
function stagesIn(error: unknown): readonly string[] {
  if (!(error instanceof InteropError)) return [];
  const own = error instanceof StageError ? [error.stage] : [];
  return [...own, ...[error.cause, ...error.errors ?? []].flatMap(stagesIn)];
}

async function failureOf(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return error;
  }
}

if (import.meta.main) {
  const [first, seconds] = [Number(Deno.args[0] ?? 1), Number(Deno.args[1] ?? 60)];
  using open = new DisposableStack();
  const tools = toolsIn(open, true);
  const end = performance.now() + 1000 * seconds;
  let seed = first;
  const seeds = function* () {
    while (performance.now() < end) yield seed++;
  };
  const counts = await runPrograms(tools, seeds());
  console.log(`seeds ${first} to ${seed - 1}`, counts);
}
