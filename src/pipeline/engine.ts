import { unlessAborted } from "../core/device/fence.ts";
import { DisposedError, messageOf, throwAll, warn } from "../core/errors.ts";
import { nameOf, type Target } from "../core/graph/context.ts";
import { Graph } from "../core/graph/graph.ts";
import { edgesOf } from "../core/graph/port_mapper.ts";
import { ORIGIN, sumOf } from "../core/graph/route.ts";
import { frameInWords, withMoment } from "../core/layout/frame_info.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { type Access, covers } from "../core/memory/access.ts";
import { nextTurn, Pace } from "../core/pace.ts";
import { Progress } from "../core/progress.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { Metadata } from "../core/tensors/metadata.ts";
import { host } from "../host/mod.ts";
import { StageError, stageError } from "./errors.ts";
import { Figures, type Growing } from "./figures.ts";
import type { Source } from "./pipeline.ts";
import { type HandOver, Plan } from "./plan.ts";
import { assertFrame, DISPOSED, type Gives, isFor, type Place, Planner, type Worker } from "./planner.ts";
import { Queue } from "./queue.ts";
import { Slots } from "./slots.ts";
import { checks, Flow, type Run, Sink, type Stage, Transform } from "./stage.ts";
import { Watch } from "./watch.ts";

/**
 * How long stages may take to end before a warning names them. A stage that still works on a frame is then left behind.
 */
const GRACE_MS = 5000;

/** Options of a run, with the defaults filled in. */
export interface RunOptions {
  readonly frames: number;
  readonly copy: "never" | "allow";
  readonly signal: AbortSignal | undefined;
  readonly measure: boolean;
  readonly progress: boolean;
}

/** A frame on its way: what a stage has of it, and what the hook at the frame's end may reach. */
class Traveller {
  readonly began: number;
  /** The stage that has it. */
  at: Place;
  /** Undefined once it has left the pipeline, so that it can be collected if the program forgets it. */
  frame: Frame | undefined;
  /** The frame in the memory of the stage that has it, if that is not the frame's own. */
  map: Frame | undefined;

  constructor(frame: Frame, at: Place, began: number) {
    [this.frame, this.at, this.began] = [frame, at, began];
  }
}

/** A frame that a stage is about to work on. */
interface InHand {
  readonly traveller: Traveller;
  readonly input: Frame;
  readonly gives: Gives | undefined;
  readonly begin: number;
}

/** One run of a pipeline: it reads the first frame, plans, and then lets all stages work. */
export class Engine implements Run {
  readonly graph: Graph;
  readonly frames: number;
  readonly copy: "never" | "allow";
  readonly #options: RunOptions;
  readonly #source: Place<Source>;
  /** The others, in order. */
  readonly #places: readonly Place[];
  readonly #controller = new AbortController();
  readonly #queues: readonly Queue<Traveller>[];
  readonly #travellers = new Map<Frame, Traveller>();
  readonly #planner: Planner;
  readonly #undo: Undo = [];
  readonly #progress: Progress | undefined;
  readonly #watch: Watch;
  readonly #pace = new Pace();
  /** Ends under way, which wait for whatever still uses the memory; for a frame, with the stage that had it. */
  readonly #ending = new Map<Promise<void>, string | undefined>();
  #iterator: AsyncIterator<Frame> | undefined;
  #first: Promise<IteratorResult<Frame>> | undefined;
  #plan: Promise<Plan> | undefined;
  #ended: Promise<void> | undefined;
  /** Stages that still worked {@link GRACE_MS} after the end had begun. */
  readonly #leftBehind = new Set<string>();
  #grace: Promise<void> | undefined;
  #failures: unknown[] = [];
  #inFlight = 0;
  #wake: (() => void) | undefined;
  #begin = performance.now();
  #end: number | undefined;
  #left = 0;
  #latency = 0;

  constructor(source: Source, stages: readonly Stage[], options: RunOptions) {
    this.#options = options;
    [this.frames, this.copy] = [options.frames, options.copy];
    this.#planner = new Planner(this, (ended) => this.#keep(ended));
    const [first, ...others] = this.#planner.placesOf([source, ...stages]);
    [this.#source, this.#places] = [first as Place<Source>, others];
    this.graph = new Graph([host, ...[source, ...stages].flatMap(({ contexts }) => contexts)], edgesOf);
    this.#queues = stages.map(() => new Queue<Traveller>());
    const { signal } = options;
    const stop = () => this.#stop(signal!.reason);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
    this.#undo.push(() => signal?.removeEventListener("abort", stop));
    this.#progress = Progress.of(options.progress, this.#undo);
    this.#watch = new Watch(this.frames, () => {
      const ended = [...this.#ending.values()].filter((name) => name !== undefined);
      return [...[...this.#travellers.values()].map(({ at }) => at.name), ...ended];
    });
    this.#undo.push(() => this.#watch.end());
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get figures(): Figures {
    const milliseconds = (this.#end ?? performance.now()) - this.#begin;
    const stages = [this.#source, ...this.#places].flatMap(({ figures, stage }) => [
      { ...figures },
      ...stage instanceof Sink ? stage.init.figures?.() ?? [] : [],
    ]);
    return new Figures(stages, this.#left, milliseconds, this.#latency / Math.max(1, this.#left));
  }

  /**
   * Reads the first frame, and asks the graph for each hand-over up to the first stage whose output is not known before
   * it runs. With an example of the frames to come, no frame is read.
   */
  plan(example?: Frame): Promise<Plan> {
    return this.#plan ??= this.#planAll(example);
  }

  async #planAll(example: Frame | undefined): Promise<Plan> {
    try {
      const { done, value: first } = example === undefined ? await this.#firstOf() : ofExample(example);
      if (done) return new Plan([], []);
      assertFrame(first, this.#source.name);
      const { route, target } = first as Frame;
      const takes = frameInWords(first.info);
      const handOvers: HandOver[] = [{ stage: this.#source.name, takes, memory: nameOf(target), route }];
      let frame: Frame = first;
      for (const [i, place] of this.#places.entries()) {
        const { stage } = place;
        if (stage instanceof Flow && stage.init.keeps === true) {
          const takes = frameInWords(frame.info);
          handOvers.push({ stage: stage.name, takes, memory: nameOf(frame.target), route: ORIGIN });
          continue;
        }
        if (stage instanceof Flow) return new Plan(handOvers, this.#places.slice(i).map(({ name }) => name));
        const { reached, gives } = place.planned = await this.#planner.planned(place as Place<Worker>, frame);
        const { route, target = frame.target } = reached;
        const takes = frameInWords(frame.info);
        const branches = stage instanceof Sink ? await stage.init.plan?.(frame, this) : undefined;
        const facts = { stage: stage.name, takes, memory: nameOf(target), route };
        handOvers.push({ ...facts, gives: gives?.said, branches });
        if (gives?.frames instanceof Slots) frame = gives.frames.example;
        else if (gives !== undefined) return new Plan(handOvers, this.#places.slice(i + 1).map(({ name }) => name));
      }
      return new Plan(handOvers, []);
    } catch (error) {
      this.#fail(this.#source.name, error);
      throw error;
    }
  }

  /** Waits no longer than the run lasts: a source may never give a frame. */
  async #firstOf(): Promise<IteratorResult<Frame>> {
    this.signal.throwIfAborted();
    return await unlessAborted(this.#first ??= this.#open(), this.signal);
  }

  async #open(): Promise<IteratorResult<Frame>> {
    this.#begin = performance.now();
    const { init } = this.#source.stage;
    try {
      const frames: Partial<AsyncIterable<Frame>> | undefined = init.frames(this);
      if (typeof frames?.[Symbol.asyncIterator] !== "function") {
        const hint = "Write async *frames() { … }.";
        throw checks.wrongKind("frames", "an async generator, or a ReadableStream", frames, hint);
      }
      this.#iterator = frames[Symbol.asyncIterator]!();
      return await this.#iterator.next();
    } catch (error) {
      throw stageError(this.#source.name, error);
    }
  }

  /** Lets all stages work until the end. @throws {StageError} if a stage fails. @throws the signal's reason. */
  async run(): Promise<Figures> {
    if (!(this.#places.at(-1)?.stage instanceof Sink)) {
      for await (const frame of this.iterate()) this.#discard(frame, (this.#places.at(-1) ?? this.#source).name);
      return this.figures;
    }
    await this.#work(undefined);
    await this.end();
    this.#throwFailures();
    return this.figures;
  }

  /** The frames that come out of the last stage. Each is the caller's. */
  async *iterate(): AsyncGenerator<Frame, void> {
    const out = new Queue<Traveller>();
    let isOver = false;
    const working = this.#work(out).finally(() => {
      isOver = true;
      out.end();
    });
    try {
      for await (const traveller of out) {
        if (this.signal.aborted) { // a flow takes an abort for the end, and yields what it still has
          this.#dispose([traveller]);
          break;
        }
        await this.#unmapped(traveller, undefined, "read");
        yield this.#leave(traveller);
      }
    } finally {
      this.#dispose(out.close());
      if (!isOver) this.#stopQuietly();
      await working;
      await this.end();
    }
    this.#throwFailures();
  }

  /** Runs all stages at once. A failure is noted, and ends the others. */
  async #work(out: Queue<Traveller> | undefined): Promise<void> {
    try {
      await this.plan();
    } catch {
      return; // it is noted
    }
    this.#watch.begin();
    const outputs = [...this.#queues.slice(1), out];
    await Promise.all([
      this.#guard(this.#source, this.#read(this.#queues[0] ?? out!)),
      ...this.#places.map((place, i) =>
        this.#guard(
          place,
          place.stage instanceof Flow
            ? this.#flow(place as Place<Flow>, this.#queues[i], outputs[i]!)
            : this.#each(place as Place<Worker>, this.#queues[i], outputs[i]),
        )
      ),
    ]);
  }

  async #guard(place: Place, loop: Promise<void>): Promise<void> {
    try {
      await this.#overOrLeft(place.name, loop);
    } catch (error) {
      this.#fail(place.name, error);
    }
  }

  /** Waits for a stage's work. Some time after the end has begun, a warning names the stage, and it is left behind. */
  async #overOrLeft(stage: string, work: Promise<unknown>): Promise<void> {
    const late = this.#stopped().then(nextTurn); // it may be late already, and the work over by the next turn
    const isLate = await Promise.race([work.then(() => false), late.then(() => true)]);
    if (!isLate || this.#leftBehind.has(stage)) return;
    this.#leftBehind.add(stage);
    warn(`${stage} still works ${LATE}, and is left behind: run.signal says when to stop.`);
  }

  /** Resolves some time after the end has begun. */
  #stopped(): Promise<void> {
    return this.#grace ??= new Promise((resolve) => {
      const wait = () => {
        const timer = setTimeout(resolve, GRACE_MS);
        this.#undo.push(() => clearTimeout(timer));
      };
      if (this.signal.aborted) wait();
      else this.signal.addEventListener("abort", wait, { once: true });
    });
  }

  async #read(output: Queue<Traveller>): Promise<void> {
    const { figures } = this.#source;
    for (let { done, value } = await (this.#first ??= this.#open()); !done;) {
      this.#first = undefined; // the frame is on its way
      if (output.isClosed) {
        this.#discard(value, this.#source.name);
        break;
      }
      figures.frames++;
      output.push(this.#admit(value, this.#source));
      while (this.#inFlight >= this.frames && !output.isClosed) {
        await new Promise<void>((resolve) => this.#wake = resolve);
      }
      const turn = this.#pace.next();
      if (turn !== undefined) await turn; // so that timers and signals get their turn
      if (output.isClosed) break;
      const begin = performance.now();
      ({ done, value } = await this.#iterator!.next());
      this.#measure(figures, begin);
    }
    output.end();
  }

  async #flow(place: Place<Flow>, input: Queue<Traveller>, output: Queue<Traveller>): Promise<void> {
    const { stage: { init }, name, figures } = place;
    for await (const frame of init.flow(this.#handed(place, input), this)) {
      assertFrame(frame, name);
      const traveller = this.#travellers.get(frame);
      if (traveller !== undefined && traveller.at !== place) {
        throw new StageError(name, `${frame.name} was passed on twice.`);
      }
      figures.frames++;
      const next = traveller ?? this.#admit(frame, place);
      if (output.isClosed) this.#dispose([next]);
      else this.#pass(next, output);
      await output.taken(); // so that a flow decides which of its frames to drop
      if (!output.isClosed) continue;
      this.#dispose(input.close()); // a cancelled stream waits for the read that it has begun
      break;
    }
    this.#dispose(input.close());
    // A stream that was cancelled has dropped what it had.
    if (output.isClosed) this.#dispose([...this.#travellers.values()].filter(({ at }) => at === place));
    output.end();
  }

  async *#handed(place: Place, input: Queue<Traveller>): AsyncGenerator<Frame, void> {
    for await (const traveller of input) {
      traveller.at = place;
      await this.#unmapped(traveller, undefined, "read");
      yield traveller.frame!;
    }
  }

  /** Has a stage work on its frames: one after the other, or several at a time. */
  async #each(place: Place<Worker>, input: Queue<Traveller>, output: Queue<Traveller> | undefined): Promise<void> {
    const { stage } = place;
    const { concurrency = 1 } = stage.init;
    const isOrdered = !(stage instanceof Transform) || (stage.init.ordered ?? true);
    const working = new Set<Promise<void>>();
    let before: Promise<void> = Promise.resolve();
    let count = 0;
    const one = async (taken: InHand, earlier: Promise<void>): Promise<void> => {
      const next = await this.#processed(place, taken);
      if (isOrdered) await earlier;
      if (next === undefined || output === undefined) return; // a sink has none
      if (output.isClosed) this.#dispose([next]);
      else this.#pass(next, output);
    };
    for await (const traveller of input) {
      if (output?.isClosed || this.signal.aborted) {
        this.#dispose([traveller]);
        break;
      }
      traveller.at = place;
      count++;
      const taken = await this.#taken(place, traveller); // awaited, so that work begins in order
      if (concurrency === 1) await one(taken, before);
      else {
        before = one(taken, before);
        const done: Promise<void> = before.catch((error) => this.#fail(place.name, error)).finally(() =>
          working.delete(done)
        );
        working.add(done);
        if (working.size >= concurrency) await Promise.race(working);
      }
    }
    if (!this.signal.aborted) stage.init.flush?.(count);
    await Promise.all(working);
    if (stage instanceof Sink && !this.signal.aborted) {
      try {
        await stage.init.close?.();
      } finally {
        place.isClosed = true;
      }
    }
    this.#dispose(input.close());
    output?.end();
  }

  #pass(traveller: Traveller, output: Queue<Traveller>): void {
    this.#watch.moved();
    output.push(traveller);
  }

  /** A frame in the memory of the stage that is to work on it. */
  async #taken(place: Place<Worker>, traveller: Traveller): Promise<InHand> {
    const begin = performance.now();
    const frame = traveller.frame!;
    if (!isFor(place.planned, frame)) {
      await this.#unmapped(traveller, undefined, "read");
      place.planned = await this.#planner.planned(place, frame);
    }
    const { reached: { target }, gives } = place.planned!;
    const input = await this.#mapped(place.figures, traveller, target, place.stage.taken.access);
    return { traveller, input, gives, begin };
  }

  /** Has a stage work on a frame. Undefined for a sink, and for a dropped frame. */
  async #processed(place: Place<Worker>, { traveller, input, gives, begin }: InHand): Promise<Traveller | undefined> {
    const { stage, figures, name } = place;
    const frame = traveller.frame!;
    if (stage instanceof Sink) {
      await stage.init.write(input, this);
      figures.frames++;
      this.#measure(figures, begin);
      this.#count(traveller);
      this.#dispose([traveller]);
      return undefined;
    }
    const written = gives === undefined ? traveller : await this.#nextFor(place, gives, frame, traveller.began);
    const output = written === traveller ? input : await this.#mapped(figures, written, gives!.reached.target, "write");
    const kept = stage.init.process(input, output, this);
    const isKept = (kept instanceof Promise ? await kept : kept) !== false;
    for (const { resource } of [input, output]) {
      if (!resource.isLive) throw new StageError(name, `it disposed ${resource.name}.`, DISPOSED);
    }
    figures[isKept ? "frames" : "dropped"]++;
    if (stage.init.copies === true) figures.bytesMoved += written.frame!.byteLength;
    this.#measure(figures, begin);
    if (written !== traveller) this.#dispose([traveller]);
    if (isKept) return written;
    this.#dispose([written]);
    return undefined;
  }

  /** The frame that a transform writes, with the time and the metadata of the one that it reads. */
  async #nextFor(place: Place, { frames, info }: Gives, { info: { media }, metadata }: Frame, began: number) {
    const begin = performance.now();
    const ofThisTime = withMoment(info, media);
    const frame = frames instanceof Slots
      ? await frames.next(this.signal, ofThisTime, new Metadata())
      : await frames.next(this.signal, ofThisTime);
    place.figures.waited += performance.now() - begin;
    frame.metadata.assign(metadata);
    return this.#track(frame, place, began);
  }

  /** A frame in a stage's memory. A map that is there already is used again. */
  async #mapped(figures: Growing, traveller: Traveller, target: Target | undefined, access: Access): Promise<Frame> {
    await this.#unmapped(traveller, target, access);
    const { frame, map } = traveller;
    if (map !== undefined) return map;
    if (target === undefined || frame!.target === target) return frame!;
    traveller.map = this.graph.map(frame!, target, { access, copy: this.copy });
    const { bytesMoved, hostWait } = sumOf(traveller.map.route.steps);
    figures.bytesMoved += bytesMoved;
    if (hostWait) figures.hostWaits++;
    return traveller.map;
  }

  /** Ends the previous stage's map, unless this stage can work in it. Waits only if the next map would wait too. */
  async #unmapped(traveller: Traveller, target: Target | undefined, access: Access): Promise<void> {
    const { frame, map } = traveller;
    if (map === undefined || (map.target === target && covers(map.access, access))) return;
    traveller.map = undefined;
    const ended = map[Symbol.asyncDispose]();
    if (target === undefined || target === frame!.target) return await ended;
    const { open, steps, waitReason } = this.graph.explain(frame!, target, { access, copy: this.copy });
    if (!open || waitReason !== undefined || sumOf(steps).hostWait) await ended;
    else this.#keep(ended);
  }

  #admit(frame: Frame, place: Place): Traveller {
    assertFrame(frame, place.name);
    if (this.#travellers.has(frame)) throw new StageError(place.name, `${frame.name} was passed on twice.`);
    const part = this.#travellers.values().find((one) => one.frame!.resource.purpose === frame.resource);
    if (part !== undefined) { // a frame that came in is part of this one, ends with it, and counts until then
      this.#travellers.delete(part.frame!);
      return this.#track(frame, place, part.began);
    }
    const traveller = this.#track(frame, place, performance.now());
    this.#watch.moved();
    this.#inFlight++;
    frame.resource.undo.unshift(() => {
      this.#inFlight--;
      this.#wake?.();
    });
    return traveller;
  }

  #track(frame: Frame, place: Place, began: number): Traveller {
    const traveller = new Traveller(frame, place, began);
    this.#travellers.set(frame, traveller);
    frame.resource.undo.unshift(() => {
      if (traveller.frame !== undefined) this.#travellers.delete(traveller.frame);
    });
    return traveller;
  }

  /** Hands a frame to the program. */
  #leave(traveller: Traveller): Frame {
    const frame = traveller.frame!;
    traveller.frame = undefined;
    this.#travellers.delete(frame);
    this.#count(traveller);
    return frame;
  }

  #count({ began }: Traveller): void {
    this.#left++;
    this.#latency += performance.now() - began;
    this.#watch.moved();
    this.#progress?.add();
  }

  #dispose(travellers: readonly Traveller[]): void {
    for (const { frame, at } of travellers) {
      if (frame === undefined) continue;
      this.#travellers.delete(frame);
      this.#discard(frame, at.name);
    }
  }

  #discard(frame: Frame, stage: string): void {
    this.#keep(frame[Symbol.asyncDispose](), stage);
  }

  #keep(ended: Promise<void>, stage?: string): void {
    const kept: Promise<void> = ended.catch((error) => this.#fail(this.#source.name, error)).finally(() =>
      this.#ending.delete(kept)
    );
    this.#ending.set(kept, stage);
  }

  #measure(figures: Growing, begin: number): void {
    const end = performance.now();
    figures.milliseconds += end - begin;
    if (this.#options.measure) performance.measure(figures.stage, { start: begin, end });
  }

  #fail(stage: string, error: unknown): void {
    if (this.signal.aborted && (error === this.signal.reason || error instanceof StageError)) return;
    this.#stop(stageError(stage, error));
  }

  #stop(reason: unknown): void {
    if (this.signal.aborted) return;
    this.#failures.push(reason);
    this.#abort(reason);
  }

  #stopQuietly(): void {
    if (!this.signal.aborted) {
      this.#abort(new DisposedError("The pipeline has ended.", { api: "pipeline", hint: undefined }));
    }
  }

  #abort(reason: unknown): void {
    this.#controller.abort(reason);
    for (const queue of this.#queues) this.#dispose(queue.close());
    this.#wake?.();
  }

  /** Ends a run that has only been planned. */
  async stop(): Promise<void> {
    this.#stopQuietly();
    await this.#plan?.catch(() => {}); // what made it fail was thrown where it was asked for
    await this.end();
  }

  /** Ends all that the run has, whatever came before, and collects the failures. */
  end(): Promise<void> {
    return this.#ended ??= this.#endAll();
  }

  async #endAll(): Promise<void> {
    this.#end = performance.now();
    const isWhole = !this.signal.aborted;
    if (!isWhole) {
      await this.#settle(this.#first?.then(({ done, value }) => done || this.#discard(value, this.#source.name)));
    }
    for (const { stage, name, isClosed } of this.#places) {
      const late = setTimeout(() => warn(`${name} has not closed ${LATE}: the pipeline waits for it.`), GRACE_MS);
      await this.#attempt(name, async () => {
        if (stage instanceof Transform) await stage.init.close?.();
        if (stage instanceof Sink && !isWhole && !isClosed) await stage.init.abort?.(this.signal.reason);
      });
      clearTimeout(late);
    }
    this.#stopQuietly();
    await this.#settle(this.#iterator?.return?.());
    if (isWhole) this.#nameForgotten();
    this.#dispose([...this.#travellers.values()]);
    while (this.#ending.size > 0) await Promise.all(this.#ending.keys());
    for (const slots of this.#planner.slots) await this.#attempt(this.#source.name, () => slots[Symbol.asyncDispose]());
    await this.#attempt(this.#source.name, () => this.graph[Symbol.asyncDispose]());
    this.#failures.push(...unwind(this.#undo));
  }

  /** Throws what ended the pipeline, with its stage's name, together with what failed afterwards. */
  #throwFailures(): void {
    const [first] = this.#failures;
    try {
      throwAll(this.#failures, "running the pipeline");
    } catch (error) {
      throw first instanceof StageError && error !== first
        ? new StageError(first.stage, messageOf(error), { errors: this.#failures })
        : error;
    }
  }

  async #attempt(stage: string, action: () => void | Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      const failure = stageError(stage, error);
      if (!this.#failures.some((one) => one === error)) this.#failures.push(failure);
    }
  }

  /** Waits for the program's source, within limits. Its errors were thrown before, or come too late. */
  async #settle(done: Promise<unknown> | undefined): Promise<void> {
    if (done !== undefined) await this.#overOrLeft(this.#source.name, done.catch(() => {}));
  }

  #nameForgotten(): void {
    const forgotten = [...this.#travellers.values()].filter(({ frame }) => frame!.resource.isLive);
    const names = forgotten.map(({ at }) => at.name);
    for (const [name, { length }] of Map.groupBy(names, (name) => name)) {
      warn(`${name} has forgotten ${length} frames: it neither passed them on nor disposed them.`);
    }
  }
}

const LATE = `${GRACE_MS / 1000} s after the pipeline's end`;

function ofExample(value: Frame): IteratorResult<Frame> {
  return { done: false, value };
}
