import { shown } from "../core/argument.ts";
import { BOOLEAN, Checks, FUNCTION, integer, TEXT } from "../core/checks.ts";
import { type Context, isTarget, type Target } from "../core/graph/context.ts";
import type { Graph } from "../core/graph/graph.ts";
import { type FrameInfo, IMAGE_FORMATS } from "../core/layout/frame_info.ts";
import { type Access, accessOf } from "../core/memory/access.ts";
import { Printed } from "../core/printed.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import type { Figures, StageFigures } from "./figures.ts";
import type { Plan } from "./plan.ts";

export const checks: Checks = new Checks("pipeline");

/** What a stage knows about the pipeline that it runs in. */
export interface Run {
  /** Aborted once the pipeline ends before its source does: after an error, a signal, or a `break` in the loop. */
  readonly signal: AbortSignal;
  /** The contexts of all stages. */
  readonly graph: Graph;
  /** The most frames that each stage has at a time. */
  readonly frames: number;
  /** Whether bytes may be copied between two stages. */
  readonly copy: "never" | "allow";
  /** What its stages have done so far. */
  readonly figures: Figures;
}

/** A width or a height in pixels: one, or the least and the most. */
export type Size = number | readonly [least: number, most: number];

/** Which frames a stage takes, and how it wants them. What is left out may be anything. */
export interface Takes<T extends Tensor = Tensor> {
  /**
   * The memory that it works in. The cheapest to reach is used, and the first of those that cost the same. If left out,
   * frames stay in the memory in which they are.
   */
  readonly memory?: Target<T> | readonly Target<T>[];
  /** What it does with the bytes; `"read-write"` for a transform in place, `"read"` for any other stage. */
  readonly access?: Access;
  /** The formats: `"NV12"`, `["RGB", "BGR"]`. */
  readonly format?: string | readonly string[];
  /** Pixels across. */
  readonly width?: Size;
  /** Pixels down. */
  readonly height?: Size;
}

/** A stage's own memory, into which the stage before it writes: a ring's frames. */
export interface OwnFrames {
  /**
   * The next frame to write, whose `info.media` is that of `info`. A dispose gives it back unwritten.
   */
  next(signal: AbortSignal, info: FrameInfo): Promise<Frame>;
}

/** What every stage is made of. */
export interface StageInit {
  /** Its name, for errors and figures: `"edges"`. */
  readonly name: string;
  /** Contexts that it brings into the graph, for other stages too. Those of `takes.memory` need not be named. */
  readonly contexts?: Iterable<Context>;
}

/** What a {@link Source} is made of. */
export interface SourceInit extends StageInit {
  /** The frames, in order. The pipeline owns and disposes each. A `return()` of the iterator ends the source. */
  frames(run: Run): AsyncIterable<Frame> | ReadableStream<Frame>;
}

/** What a {@link Transform} is made of. */
export interface TransformInit<T extends Tensor = Tensor> extends StageInit {
  /** Which frames it takes. */
  readonly takes?: Takes<T>;
  /**
   * What the frames are that it writes, into memory of its own. If left out, it works in place, or writes only metadata.
   */
  gives?(input: FrameInfo): FrameInfo;
  /** Allocates a frame for it to write. If left out, the pipeline does so, in memory that it reaches without a copy. */
  allocate?(info: FrameInfo): Frame;
  /**
   * Works on a frame in its memory. Commands may be under way when it returns: the next user of the bytes waits for
   * them. `output` begins with the input's time and a copy of its metadata. Return `false` to drop the frame.
   */
  process(input: Frame<T>, output: Frame<T>, run: Run): void | boolean | Promise<void | boolean>;
  /** True for a stage that only copies frames, so that the bytes are counted as moved. */
  readonly copies?: boolean;
  /** How many frames it works on at a time; 1 if left out. */
  readonly concurrency?: number;
  /** False to pass frames on as soon as they are done; if left out, they keep their order. */
  readonly ordered?: boolean;
  /** Called after the last frame, with the number of all frames. Some may still be on their way to `process`. */
  flush?(count: number): void;
  /** Called once at the end, whatever ended the pipeline. */
  close?(): void | Promise<void>;
}

/** What a {@link Flow} is made of. */
export interface FlowInit extends StageInit {
  /**
   * Takes frames, and yields fewer, more, or others. It owns each frame that it takes: it passes it on, or disposes it.
   */
  flow(frames: AsyncIterable<Frame>, run: Run): AsyncIterable<Frame>;
  /** True if it yields the frames that went in, unchanged. {@link Plan} can then plan the stages after it. */
  readonly keeps?: boolean;
}

/** What a {@link Sink} is made of. */
export interface SinkInit<T extends Tensor = Tensor> extends StageInit {
  /** Which frames it takes. */
  readonly takes?: Takes<T>;
  /** Its own memory for such frames, into which the transform before it writes. Called once, before the first frame. */
  allocate?(info: FrameInfo, run: Run): OwnFrames | Promise<OwnFrames>;
  /** The plans of its own pipelines for such a frame. */
  plan?(frame: Frame<T>, run: Run): Promise<readonly Plan[]>;
  /** What the stages of its own pipelines have done so far, or did in their last run. */
  figures?(): readonly StageFigures[];
  /** Takes a frame, which is disposed afterwards. Whatever keeps its memory delays only that dispose. */
  write(frame: Frame<T>, run: Run): unknown;
  /** How many frames it takes at a time; 1 if left out. */
  readonly concurrency?: number;
  /**
   * Called after the last frame, with the number of all frames. Each was given to `write`, which may still be at work.
   */
  flush?(count: number): void;
  /** Called once after the last frame; not called after an error. */
  close?(): void | Promise<void>;
  /** Called once instead of close(), with what ended the pipeline; or to end a close() that is under way. */
  abort?(reason: unknown): void | Promise<void>;
}

/** The most frames that a stage has at a time. */
export const MAX_AT_A_TIME = 1024;

const STAGE = { name: TEXT, contexts: true };
const CONCURRENCY = integer(1, MAX_AT_A_TIME);
export const SOURCE = { ...STAGE, frames: FUNCTION };
const TRANSFORM = {
  ...{ ...STAGE, takes: true, gives: FUNCTION, allocate: FUNCTION, process: FUNCTION },
  ...{ copies: BOOLEAN, concurrency: CONCURRENCY, ordered: BOOLEAN, flush: FUNCTION, close: FUNCTION },
};
const FLOW = { ...STAGE, flow: FUNCTION, keeps: BOOLEAN };
const SINK = {
  ...{ ...STAGE, takes: true, allocate: FUNCTION, plan: FUNCTION, write: FUNCTION, concurrency: CONCURRENCY },
  ...{ figures: FUNCTION, flush: FUNCTION, close: FUNCTION, abort: FUNCTION },
};
const TAKES = { memory: true, access: true, format: true, width: true, height: true };

/** {@link Takes}, checked and with its defaults. */
export interface Taken {
  readonly memory: readonly Target[];
  readonly access: Access;
  readonly format: readonly string[] | undefined;
  readonly width: Size | undefined;
  readonly height: Size | undefined;
}

/** A part of a pipeline. */
export abstract class Stage extends Printed {
  /** Its name. */
  readonly name: string;
  #isMade = true;
  /** The contexts that it brings. */
  readonly contexts: readonly Context[];

  /** Checks what every stage needs: its name, and the function that does the work. */
  protected constructor({ name, contexts = [] }: StageInit, work: Readonly<Record<string, unknown>>) {
    super();
    TEXT(checks, name, "name");
    for (const [argument, given] of Object.entries(work)) FUNCTION(checks, given, argument);
    this.name = name;
    this.contexts = [...contexts];
  }

  /** True for what this class has made, and not for a proxy of it. For mappers. */
  static owns(value: object): boolean {
    return #isMade in value;
  }

  /** What it is, and its name. */
  toString(): string {
    return `${this.constructor.name.toLowerCase()} ${this.name}`;
  }
}

/** A stage that works on one frame at a time: in place, or into another. */
export class Transform<T extends Tensor = Tensor> extends Stage {
  /** @internal */
  readonly init: TransformInit<T>;
  /** @internal */
  readonly taken: Taken;

  /** Checks its properties. @throws {ArgumentError} for wrong ones. */
  constructor(init: TransformInit<T>) {
    const { process, gives, takes } = checks.optionsIn(init, TRANSFORM, "init");
    const taken = takenOf(takes, gives === undefined ? "read-write" : "read");
    super({ ...init, contexts: contextsOf(init, taken) }, { process });
    this.init = init;
    this.taken = taken;
  }
}

/** A stage that owns the frames it takes, and decides which frames come out. */
export class Flow extends Stage {
  /** @internal */
  readonly init: FlowInit;

  /** Checks its properties. @throws {ArgumentError} for wrong ones. */
  constructor(init: FlowInit) {
    const { flow } = checks.optionsIn(init, FLOW, "init");
    super(init, { flow });
    this.init = init;
  }
}

/** The last stage, which takes the frames. */
export class Sink<T extends Tensor = Tensor> extends Stage {
  /** @internal */
  readonly init: SinkInit<T>;
  /** @internal */
  readonly taken: Taken;

  /** Checks its properties. @throws {ArgumentError} for wrong ones. */
  constructor(init: SinkInit<T>) {
    const { write, takes } = checks.optionsIn(init, SINK, "init");
    const taken = takenOf(takes, "read");
    super({ ...init, contexts: contextsOf(init, taken) }, { write });
    this.init = init;
    this.taken = taken;
  }
}

function takenOf(given: Takes = {}, usual: Access): Taken {
  const { memory = [], access, format, width, height } = checks.optionsIn(given, TAKES, "takes");
  const targets = [memory].flat() as Target[];
  const wrong = targets.findIndex((target) => !isTarget(target));
  if (wrong >= 0) {
    throw checks.wrongKind(
      "takes.memory",
      "contexts, or kinds of their memory",
      targets[wrong],
      "Pass host, cl, cv.mat.",
    );
  }
  const formats = format === undefined ? undefined : [format].flat();
  if (formats?.length === 0) throw checks.wrong("takes.format", "it names none.", "Leave it out for any.");
  for (const one of formats ?? []) assertFormat(one, formats!);
  for (const [argument, size] of Object.entries({ width, height })) {
    if (size === undefined || typeof size === "number" || isRange(size)) continue;
    throw checks.wrongKind(`takes.${argument}`, "a number of pixels, or [least, most]", size);
  }
  return { memory: targets, access: accessOf(access, usual), format: formats, width, height };
}

/** Formats of FFmpeg's have names of its own, but for those that all APIs have: "nv12" alone is one of an odd size. */
function assertFormat(format: string, all: readonly string[]): void {
  checks.assertText(format, "takes.format");
  const known = format.toUpperCase();
  if (all.includes(known) || !Object.hasOwn(IMAGE_FORMATS, known)) return;
  throw checks.wrong("takes.format", `no frame is of "${shown(format)}".`, `It is called "${known}".`);
}

function isRange(size: readonly unknown[]): boolean {
  return Array.isArray(size) && size.length === 2 && size.every((pixels) => typeof pixels === "number");
}

function contextsOf({ contexts = [] }: StageInit, { memory }: Taken): readonly Context[] {
  return [...checks.listIn(contexts, "contexts"), ...memory.map(({ context }) => context)];
}

/** Takes a stream's writer. @throws {ArgumentError} for anything but a stream, and for a locked stream. */
export function writerOf<T>(stream: WritableStream<T>, argument: string): WritableStreamDefaultWriter<T> {
  if (!(stream instanceof WritableStream)) throw checks.wrongKind(argument, "a WritableStream", stream);
  if (!stream.locked) return stream.getWriter();
  throw checks.wrong(argument, "the stream is locked.", "Release what writes to it: writer.releaseLock().");
}
