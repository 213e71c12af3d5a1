import { isMade, isPlain } from "../core/argument.ts";
import { BOOLEAN, integer, type Rule, SIGNAL } from "../core/checks.ts";
import { Printed } from "../core/printed.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { Engine, type RunOptions } from "./engine.ts";
import type { Figures } from "./figures.ts";
import type { Plan } from "./plan.ts";
import { checks, Flow, MAX_AT_A_TIME, Sink, SOURCE, type SourceInit, Stage, Transform, writerOf } from "./stage.ts";

/** Options of a {@link Pipeline}. */
export interface PipelineOptions {
  /** The most frames that each stage has at a time. They are allocated once. 4 if left out. */
  readonly frames?: number;
  /** Whether bytes may be copied between two stages. `"never"` if left out: a copy is an error that names the stage. */
  readonly copy?: "never" | "allow";
  /** Ends the pipeline: calls that wait for it throw the signal's reason. */
  readonly signal?: AbortSignal;
  /** True to record a `performance.measure` of each stage's work on each frame, which developer tools show. */
  readonly measure?: boolean;
  /** True to show on stderr, if that is a terminal, how many frames are done, and how many per second. */
  readonly progress?: boolean;
}

const COPY: Rule = (checks, value, argument) => void checks.nameIn(value, { never: 1, allow: 1 }, argument);
const OPTIONS = { frames: integer(1, MAX_AT_A_TIME), copy: COPY, signal: SIGNAL, measure: BOOLEAN, progress: BOOLEAN };

/** What can follow a pipeline's source: stages, and the program's own streams of frames. */
export type Piece = Transform | Flow | Sink | TransformStream<Frame, Frame> | WritableStream<Frame>;

/** Where frames come from: a source, another pipeline, or anything that can be read in a loop. */
export type Origin = Source | Pipeline | AsyncIterable<Frame> | ReadableStream<Frame>;

/**
 * Stages, one after the other. Each hands its frames to the next in the memory that costs the least to reach, which is
 * usually the same bytes. Run it, or, if the last stage is not a sink, take its frames in a loop.
 *
 * @example
 * ```ts
 * import { host, imageInfo } from "@samepage/interop";
 * import { pipeline, Sink, Source, Transform } from "@samepage/interop/pipeline";
 *
 * const info = imageInfo({ format: "GRAY8", width: 4, height: 1 });
 * const grey = new Source({
 *   name: "grey",
 *   async *frames() {
 *     for (let i = 1; i <= 3; i++) {
 *       const frame = host.allocateFrame(info);
 *       frame.planes[0].bytes().fill(i);
 *       yield frame;
 *     }
 *   },
 * });
 * const double = new Transform({
 *   name: "double",
 *   takes: { memory: host },
 *   process: ({ planes: [plane] }) => plane.bytes().forEach((value, i, bytes) => void (bytes[i] = 2 * value)),
 * });
 * const print = new Sink({
 *   name: "print",
 *   takes: { memory: host },
 *   write: ({ planes: [plane] }) => console.log(plane.bytes({ access: "read" })[0]), // 2, 4, 6
 * });
 * await pipeline(grey, double, print).run();
 * ```
 */
export class Pipeline extends Printed implements AsyncIterable<Frame, void>, AsyncDisposable {
  /** Its stages. */
  readonly stages: readonly [Source, ...Stage[]];
  readonly #options: RunOptions;
  /** The run that {@link explain} has begun. */
  #engine: Engine | undefined;
  /** The current run, or the last one. */
  #last: Engine | undefined;

  /** Made by {@link pipeline}, and by the methods of a source. */
  constructor(stages: readonly [Source, ...Stage[]], options: PipelineOptions) {
    super();
    const { frames = 4, copy = "never", signal, measure = false, progress = false } = checks.optionsIn(
      options,
      OPTIONS,
    );
    this.stages = stages;
    this.#options = { frames, copy, signal, measure, progress };
  }

  /** True for objects of this class, and not for a proxy of one. For mappers. */
  static owns(value: object): boolean {
    return #engine in value;
  }

  /**
   * The same pipeline with one more stage, or with one of the program's streams.
   * @throws {ArgumentError} after a sink.
   */
  pipeThrough(piece: Transform | Flow | TransformStream<Frame, Frame>): Pipeline {
    assertNoSink(piece);
    return this.#with(piece);
  }

  /** Runs it into a sink. @throws as {@link run}. */
  async pipeTo(sink: Sink | WritableStream<Frame>): Promise<Figures> {
    return await this.#with(sink).run();
  }

  #with(piece: Piece): Pipeline {
    return new Pipeline(inOrder(this, [piece]), this.#options as PipelineOptions);
  }

  /**
   * Reads the first frame, and returns the route of each hand-over. The run that follows begins with that frame.
   *
   * @throws {StageError} where a stage does not take what the one before it gives, or no route leads to its memory.
   */
  async explain(): Promise<Plan> {
    return await this.planFor(undefined);
  }

  /** @internal The same, for an example of the frames to come. */
  async planFor(example: Frame | undefined): Promise<Plan> {
    const engine = this.#engine ??= this.#made();
    try {
      return await engine.plan(example);
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Runs until the source ends. Frames of a pipeline without a sink are disposed as they come out.
   *
   * @throws {StageError} if a stage fails, with its name. Every frame has then ended.
   * @throws the signal's reason.
   */
  async run(): Promise<Figures> {
    return await this.#taken().run();
  }

  /** Takes the frames that come out of the last stage. Each is yours: dispose it. @throws as {@link run}. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void> {
    if (this.stages.at(-1) instanceof Sink) {
      throw checks.wrong("stages", "no frames come out of a pipeline with a sink.", "Run it: await pipeline.run().");
    }
    yield* this.#taken().iterate();
  }

  /** The same frames as a stream. */
  get readable(): ReadableStream<Frame> {
    return ReadableStream.from(this);
  }

  /** Figures of the current run, or of the last one; undefined before the first. */
  get figures(): Figures | undefined {
    return (this.#last ?? this.#engine)?.figures;
  }

  /** Its stages, in one line. */
  toString(): string {
    return `pipeline ${this.stages.map(({ name }) => name).join(" → ")}`;
  }

  /** Ends the run that {@link explain} has begun. */
  async [Symbol.asyncDispose](): Promise<void> {
    const engine = this.#engine;
    this.#engine = undefined;
    await engine?.stop();
  }

  #made(): Engine {
    const [source, ...stages] = this.stages;
    return new Engine(source, stages, this.#options);
  }

  #taken(): Engine {
    const engine = this.#last = this.#engine ?? this.#made();
    this.#engine = undefined;
    return engine;
  }
}

/** A stage that gives frames. By itself it is a pipeline. */
export class Source extends Stage implements AsyncIterable<Frame, void> {
  /** @internal */
  readonly init: SourceInit;

  /** Checks its properties. @throws {ArgumentError} for wrong ones. */
  constructor(init: SourceInit) {
    const { frames } = checks.optionsIn(init, SOURCE, "init");
    super(init, { frames });
    this.init = init;
  }

  /** A pipeline of this source and another stage, or one of the program's streams. */
  pipeThrough(piece: Transform | Flow | TransformStream<Frame, Frame>): Pipeline {
    assertNoSink(piece);
    return pipeline(this, piece);
  }

  /** Runs it into a sink. @throws as {@link Pipeline.run}. */
  async pipeTo(sink: Sink | WritableStream<Frame>): Promise<Figures> {
    return await pipeline(this, sink).run();
  }

  /** Takes its frames. Each is yours: dispose it. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void> {
    yield* pipeline(this);
  }
}

/**
 * Makes a pipeline of stages: a source, then transforms and streams of frames, and perhaps a sink. The last argument may
 * be options.
 *
 * @throws {ArgumentError} for anything but a stage, and for a stage in the wrong place.
 */
export function pipeline(origin: Origin, ...pieces: readonly (Piece | PipelineOptions)[]): Pipeline {
  const last = pieces.at(-1);
  const hasOptions = typeof last === "object" && last !== null && isPlain(last) && !("readable" in last);
  const options = hasOptions ? last as PipelineOptions : {};
  return new Pipeline(inOrder(origin, (hasOptions ? pieces.slice(0, -1) : pieces) as Piece[]), options);
}

function inOrder(origin: Origin, pieces: readonly Piece[]): readonly [Source, ...Stage[]] {
  const [source, ...before] = sourcesOf(origin);
  const stages = [...before, ...pieces.map(stageOf)];
  const early = stages.slice(0, -1).find((stage) => stage instanceof Sink);
  if (early === undefined) return [source, ...stages];
  const hint =
    "Put it last; tee([…], […]) hands the same frames to several lists of stages, each with a sink at its end.";
  throw checks.wrong("stages", `${early.name} is a sink, and not the last stage.`, hint);
}

function sourcesOf(origin: Origin): readonly [Source, ...Stage[]] {
  if (isMade(origin, Pipeline)) return origin.stages;
  if (isMade(origin, Source)) return [origin];
  if (typeof (origin as Partial<AsyncIterable<Frame>> | null)?.[Symbol.asyncIterator] !== "function") {
    throw checks.wrongKind("stages", "a source of frames at the beginning", origin);
  }
  return [new Source({ name: "source", frames: () => origin })];
}

function assertNoSink(piece: Piece): void {
  if (!(piece instanceof Sink || piece instanceof WritableStream)) return;
  throw checks.wrong("stages", "no frames come out of a sink.", "Run it: await source.pipeTo(sink).");
}

let streams = 0;

function stageOf(piece: Piece): Stage {
  if (isMade(piece, Transform) || isMade(piece, Flow) || isMade(piece, Sink)) return piece;
  if (piece instanceof WritableStream) return sinkOf(piece);
  const { readable, writable } = (piece ?? {}) as Partial<TransformStream<Frame, Frame>>;
  if (!(readable instanceof ReadableStream) || !(writable instanceof WritableStream)) {
    const hint = isMade(piece, Source)
      ? "A pipeline has one source, at the beginning: join() brings in another."
      : undefined;
    throw checks.wrongKind("stages", "a stage, or a stream of frames", piece, hint);
  }
  return new Flow({
    name: `stream ${++streams}`,
    flow: (frames) => ReadableStream.from(frames).pipeThrough({ readable, writable }),
  });
}

function sinkOf(stream: WritableStream<Frame>): Sink {
  const writer = writerOf(stream, "stages");
  return new Sink({
    name: `stream ${++streams}`,
    write: (frame) => writer.write(frame),
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  });
}
