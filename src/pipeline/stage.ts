import { shown } from "../core/argument.ts";
import { BOOLEAN, Checks, FUNCTION, integer, TEXT } from "../core/checks.ts";
import type { Context, Target } from "../core/graph/context.ts";
import type { Graph } from "../core/graph/graph.ts";
import { type FrameInfo, IMAGE_FORMATS } from "../core/layout/frame_info.ts";
import { type Access, accessOf } from "../core/memory/access.ts";
import { Printed } from "../core/printed.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import type { Figures } from "./figures.ts";
import type { Plan } from "./plan.ts";

export const checks: Checks = new Checks("pipeline");

/** What a stage knows of the pipeline that it runs in. */
export interface Run {
  /** Aborted once the pipeline ends before its source does: by an error, a signal, or a loop that breaks off. */
  readonly signal: AbortSignal;
  /** The contexts of all stages. */
  readonly graph: Graph;
  /** The most frames that each stage has at a time. */
  readonly frames: number;
  /** May bytes be copied between two stages? */
  readonly copy: "never" | "allow";
  /** What its stages have done so far. */
  readonly figures: Figures;
}

/** A width or a height in pixels: one, or the least and the most. */
export type Size = number | readonly [least: number, most: number];

/** Which frames a stage takes, and how it wants them. What is left out may be anything. */
export interface Takes<T extends Tensor = Tensor> {
  /**
   * The memory that it works in: the cheapest to reach is taken, and the first where several cost the same. Left out,
   * frames come in the memory in which they are.
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

/** Memory that a stage has for the one before it to write: a ring's frames. */
export interface OwnFrames {
  /**
   * The next frame to write, whose `info.media` is that of `info`. Its end without a write of the stage gives it back.
   */
  next(signal: AbortSignal, info: FrameInfo): Promise<Frame>;
}

/** What every stage is made of. */
export interface StageInit {
  /** Its name, for errors and figures: `"edges"`. */
  readonly name: string;
  /** The contexts that it brings, for others to use too: those of `takes.memory` need not be named. */
  readonly contexts?: Iterable<Context>;
}

/** What a {@link Source} is made of. */
export interface SourceInit extends StageInit {
  /** The frames, in order. Each is the pipeline's, which disposes it. A `return()` of the iterator ends the source. */
  frames(run: Run): AsyncIterable<Frame> | ReadableStream<Frame>;
}

/** What a {@link Transform} is made of. */
export interface TransformInit<T extends Tensor = Tensor> extends StageInit {
  /** Which frames it takes. */
  readonly takes?: Takes<T>;
  /** What it makes of such a frame, in memory of its own. Left out, it works in place, or looks and writes metadata. */
  gives?(input: FrameInfo): FrameInfo;
  /** Allocates a frame for it to write; left out, page-aligned memory of the host's that it reaches without a copy. */
  allocate?(info: FrameInfo): Frame;
  /**
   * Works on a frame in its memory. Commands that it submits may be under way when it returns: the next user of the bytes
   * waits for them. What it writes begins with the input's time, and a copy of its metadata. `false` drops the frame.
   */
  process(input: Frame<T>, output: Frame<T>, run: Run): void | boolean | Promise<void | boolean>;
  /** True for one that copies frames, and no more: their bytes are counted. */
  readonly copies?: boolean;
  /** How many frames it works on at a time; 1 if left out. */
  readonly concurrency?: number;
  /** False for frames to go on as soon as they are done; left out, they keep their order. */
  readonly ordered?: boolean;
  /** Called once no more frames come, with how many came in all: the last of them may still be on their way to `process`. */
  flush?(count: number): void;
  /** Called once at the end, whatever ended the pipeline. */
  close?(): void | Promise<void>;
}

/** What a {@link Flow} is made of. */
export interface FlowInit extends StageInit {
  /**
   * What comes out, of what goes in: fewer frames, more, or others. Each frame that it takes is its own: it passes it on, or
   * disposes it.
   */
  flow(frames: AsyncIterable<Frame>, run: Run): AsyncIterable<Frame>;
  /** True if what comes out has gone in, and was not changed: then {@link Plan} looks past it. */
  readonly keeps?: boolean;
}

/** What a {@link Sink} is made of. */
export interface SinkInit<T extends Tensor = Tensor> extends StageInit {
  /** Which frames it takes. */
  readonly takes?: Takes<T>;
  /** Memory that it has for a transform before it to write, of such frames. Called once, before the first frame. */
  allocate?(info: FrameInfo, run: Run): OwnFrames | Promise<OwnFrames>;
  /** What pipelines of its own will do with such a frame. */
  plan?(frame: Frame<T>, run: Run): Promise<readonly Plan[]>;
  /** Takes a frame, which is disposed after that: what keeps its memory holds that up, and nothing else. */
  write(frame: Frame<T>, run: Run): unknown;
  /** How many frames it takes at a time; 1 if left out. */
  readonly concurrency?: number;
  /** Called once no more frames come, with how many came in all: each was given to `write`, which may still be at work. */
  flush?(count: number): void;
  /** Called once after the last frame; not called after an error. */
  close?(): void | Promise<void>;
  /** Called once instead, with what ended the pipeline; while close() is under way, to end that. */
  abort?(reason: unknown): void | Promise<void>;
}

/** The most frames that a stage has at a time. */
export const MOST_AT_A_TIME = 1024;

const STAGE = { name: TEXT, contexts: true };
const CONCURRENCY = integer(1, MOST_AT_A_TIME);
export const SOURCE = { ...STAGE, frames: FUNCTION };
const TRANSFORM = {
  ...{ ...STAGE, takes: true, gives: FUNCTION, allocate: FUNCTION, process: FUNCTION },
  ...{ copies: BOOLEAN, concurrency: CONCURRENCY, ordered: BOOLEAN, flush: FUNCTION, close: FUNCTION },
};
const FLOW = { ...STAGE, flow: FUNCTION, keeps: BOOLEAN };
const SINK = {
  ...{ ...STAGE, takes: true, allocate: FUNCTION, plan: FUNCTION, write: FUNCTION, concurrency: CONCURRENCY },
  ...{ flush: FUNCTION, close: FUNCTION, abort: FUNCTION },
};
const TAKES = { memory: true, access: true, format: true, width: true, height: true };

/** {@link Takes} as a pipeline reads it. */
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

  /** Checks what no stage can leave out: its name, and the function that works. */
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

/** A stage that has all frames in its own hands: what comes out is up to it. */
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

/** A stage that takes frames, the last one. */
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

function takenOf(given: Takes | undefined, usual: Access): Taken {
  const { memory = [], access, format, width, height } = checks.optionsIn(given ?? {}, TAKES, "takes");
  const targets = [memory].flat() as Target[];
  for (const target of targets) {
    if (typeof target?.kind !== "string" || typeof target.context !== "object") {
      throw checks.wrongKind("takes.memory", "contexts, or kinds of their memory", target, "Pass host, cl, cv.mat.");
    }
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
  return [...contexts, ...memory.map(({ context }) => context)];
}

/** Takes a stream's writer. @throws {ArgumentError} for what is no stream, and one that others write to. */
export function writerOf<T>(stream: WritableStream<T>, argument: string): WritableStreamDefaultWriter<T> {
  if (!(stream instanceof WritableStream)) throw checks.wrongKind(argument, "a WritableStream", stream);
  if (!stream.locked) return stream.getWriter();
  throw checks.wrong(argument, "the stream is locked.", "Release what writes to it: writer.releaseLock().");
}
