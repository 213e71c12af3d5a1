/**
 * How the stages of one run work on frames of each kind, and what they write into.
 *
 * @module
 */
import { aKind, isMade } from "../core/argument.ts";
import { nameOf, type Target } from "../core/graph/context.ts";
import { type FrameInfo, frameInfo, frameInWords } from "../core/layout/frame_info.ts";
import { Frame } from "../core/tensors/frame.ts";
import { host } from "../host/mod.ts";
import { StageError, stageError } from "./errors.ts";
import type { Growing } from "./figures.ts";
import { allocatorFor, assertTaken, type Given, reach, type Reached, several, type User } from "./plan.ts";
import { RecentKinds } from "./recent_kinds.ts";
import { Slots } from "./slots.ts";
import { checks, Flow, type OwnFrames, type Run, Sink, type Stage, Transform } from "./stage.ts";

/** A stage in this run: the same stage may stand in two places. */
export class Place<S extends Stage = Stage> {
  readonly stage: S;
  readonly next: Place | undefined;
  readonly figures: Growing;
  /** How it works on frames of the last one's kind. */
  planned: Planned | undefined;
  /** What it writes into, by kind of frame: a kind that comes back is not allocated again. */
  readonly given: RecentKinds<Gives>;
  /** True once its close() is over. A close() that is under way ends by abort(). */
  isClosed = false;
  /** The frames that it has for the stage before it. */
  own: OwnFrames | undefined;

  constructor(stage: S, next: Place | undefined, forget: (gives: Gives) => void) {
    [this.stage, this.next] = [stage, next];
    this.given = new RecentKinds(({ frames }) => frames instanceof Slots && frames.isIdle, forget);
    const none = { frames: 0, dropped: 0, milliseconds: 0, waited: 0, bytesMoved: 0, hostWaits: 0 };
    this.figures = { stage: stage.name, ...none };
  }

  get name(): string {
    return this.stage.name;
  }
}

/** How a stage works on frames of one kind. */
export interface Planned {
  readonly from: Target;
  readonly info: FrameInfo;
  readonly reached: Reached;
  /** What it writes into. */
  readonly gives?: Gives | undefined;
}

/** A stage that works on one frame at a time. */
export type Worker = Transform | Sink;

export interface Gives {
  readonly info: FrameInfo;
  readonly frames: Slots | OwnFrames;
  readonly reached: Reached;
  /** The same facts, as a plan shows them. */
  readonly said: Given;
}

/** Finds out how stages work on frames of a kind that is new to them, and allocates what they write into. */
export class Planner {
  /** What stages write into. Whoever made the planner ends them. */
  readonly slots = new Set<Slots>();
  readonly #run: Run;
  readonly #keep: (ended: Promise<void>) => void;

  /** @param keep waits for an end that is under way */
  constructor(run: Run, keep: (ended: Promise<void>) => void) {
    [this.#run, this.#keep] = [run, keep];
  }

  /** A place for each stage, in order. */
  placesOf(stages: readonly Stage[]): readonly Place[] {
    const places: Place[] = [];
    const forget = ({ frames }: Gives) => this.#forget(frames as Slots);
    for (const stage of stages.toReversed()) places.unshift(new Place(stage, places[0], forget));
    return places;
  }

  /** How a stage works on such frames. @throws {StageError} */
  async planned(place: Place<Worker>, frame: Frame): Promise<Planned> {
    try {
      return await this.#plannedFor(place, frame);
    } catch (error) {
      throw stageError(place.name, error);
    }
  }

  async #plannedFor({ stage, next, given }: Place<Worker>, frame: Frame): Promise<Planned> {
    const { taken, name } = stage;
    const { target: from, info } = frame;
    assertTaken(name, taken, info);
    const reached = reach(name, taken.memory, frame, taken.access, this.#run);
    if (!(stage instanceof Transform) || stage.init.gives === undefined) return { from, info, reached };
    const wanted = givenOf(stage.init.gives(info));
    const known = given.find((one) => isAlike(one.info, wanted) && one.reached.target === reached.target);
    const gives = known ?? await this.#givesOf(stage, wanted, reached.target, next);
    given.use(gives);
    return { from, info, reached, gives };
  }

  /** Ends idle frames of a kind that came long ago. */
  #forget(frames: Slots): void {
    this.slots.delete(frames);
    this.#keep(frames[Symbol.asyncDispose]());
  }

  /** What a transform writes into: frames of the next stage, or its own. */
  async #givesOf(
    stage: Transform,
    info: FrameInfo,
    target: Target | undefined,
    next: Place | undefined,
  ): Promise<Gives> {
    const { name, init } = stage;
    const memory = target === undefined ? [] : [target];
    const made = (frames: Slots | OwnFrames, example: Frame, own: Partial<Given> = {}): Gives => {
      const reached = reach(name, memory, example, "write", this.#run);
      const facts = { frame: frameInWords(info), memory: nameOf(example.target), route: reached.route };
      return { info, frames, reached, said: { ...facts, copies: init.copies === true, ...own } };
    };
    if (next?.stage instanceof Sink && next.stage.init.allocate !== undefined) {
      const frames = next.own ??= await this.#ownOf(next as Place<Sink>, info);
      await using example = await frames.next(this.#run.signal, info);
      if (!isAlike(example.info, info)) {
        const hint = "Convert all to one size: convert(cl, { format, width, height }).";
        throw new StageError(next.name, `it takes ${frameInWords(example.info)}, got ${frameInWords(info)}.`, { hint });
      }
      return made(frames, example);
    }
    const allocate = init.allocate === undefined
      ? allocatorFor(name, [{ memory: [target ?? host], access: "write" }, ...usersOf(next)], info, this.#run)
      : () => assertFrame(init.allocate!(info), name);
    const slots = several(info, this.#run.frames, allocate, (frames) => new Slots(frames, name));
    this.slots.add(slots);
    return made(slots, slots.example, { count: slots.count, byteLength: slots.byteLength });
  }

  async #ownOf({ stage, name }: Place<Sink>, info: FrameInfo): Promise<OwnFrames> {
    try {
      return await stage.init.allocate!(info, this.#run);
    } catch (error) {
      throw stageError(name, error);
    }
  }
}

export const DISPOSED = { hint: "The pipeline disposes what a stage gets and gives." };

/** @throws {StageError} unless a stage has given a frame that is alive */
export function assertFrame(frame: Frame, name: string): Frame {
  if (!isMade(frame, Frame)) throw new StageError(name, `expected it to give frames, got ${aKind(frame)}.`);
  if (!frame.resource.isLive) throw new StageError(name, `it passed on ${frame.name}, which was disposed.`, DISPOSED);
  return frame;
}

/** What a transform gives, without times: its frames have the times of those that it reads. */
function givenOf(given: FrameInfo | undefined): FrameInfo {
  if (typeof given !== "object") throw checks.wrongKind("gives", "what the frames are: imageInfo({ … })", given);
  const { media: _, ...kind } = given;
  return frameInfo(kind as FrameInfo);
}

/** True for frames of one kind, whatever their times. */
function isAlike(one: FrameInfo, other: FrameInfo): boolean {
  for (const name in { ...one, ...other }) {
    const [a, b] = [Reflect.get(one, name), Reflect.get(other, name)];
    if (a !== b && name !== "media" && (typeof a !== "object" || JSON.stringify(a) !== JSON.stringify(b))) return false;
  }
  return true;
}

/** Leaves access out: the map checks it, and it differs between a decoder's frames. */
export function isFor(planned: Planned | undefined, { target, info }: Frame): boolean {
  return planned !== undefined && planned.from === target && isAlike(planned.info, info);
}

/** Who uses a stage's frames after it: all stages up to one that makes new frames; the host where that is not known. */
function usersOf(place: Place | undefined): readonly User[] {
  if (place === undefined) return [ON_HOST];
  const { stage, next } = place;
  if (stage instanceof Flow) return stage.init.keeps === true ? usersOf(next) : [ON_HOST];
  const { taken: { memory, access } } = stage as Worker;
  const isLast = stage instanceof Sink || (stage as Transform).init.gives !== undefined;
  const user = memory.length > 0 ? [{ memory, access }] : isLast ? [ON_HOST] : [];
  return isLast ? user : [...user, ...usersOf(next)];
}

const ON_HOST: User = { memory: [host], access: "read" };
