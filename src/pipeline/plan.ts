import { nameOf, type Target } from "../core/graph/context.ts";
import { ORIGIN, type Route, type Step, sumOf } from "../core/graph/route.ts";
import { compareSteps } from "../core/graph/search.ts";
import { type FrameInfo, frameInfo, frameInWords } from "../core/layout/frame_info.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { type Access, writes } from "../core/memory/access.ts";
import { Printed } from "../core/printed.ts";
import { checkPlanes, type Frame } from "../core/tensors/frame.ts";
import { frameAllocator } from "../core/tensors/over.ts";
import { host } from "../host/mod.ts";
import { StageError } from "./errors.ts";
import type { Run, Size, Taken } from "./stage.ts";

/** Alignment of the frames that a stage writes: encoders read whole vectors, and kernels take a plane by itself. */
export const PLACEMENT = { rowAlign: 64, planeAlign: 512 };

/** The frames that reach a stage, and how they get there. */
export interface HandOver {
  /** The stage's name. */
  readonly stage: string;
  /** The frames that it gets: `"I420 1920 × 1080"`. */
  readonly takes: string;
  /** The memory that it works in. */
  readonly memory: string;
  /** How the bytes get there. */
  readonly route: Route;
  /** The frames that it writes; undefined if it works in place. */
  readonly gives?: Given | undefined;
  /** The plans of its branches, if it hands frames to several pipelines. */
  readonly branches?: readonly Plan[] | undefined;
}

/** What a stage writes into. */
export interface Given {
  /** The frames: `"GRAY8 1920 × 1080"`. */
  readonly frame: string;
  /** How many are allocated; undefined if the next stage owns them. */
  readonly count?: number;
  /** Bytes of all of them. */
  readonly byteLength?: number;
  /** Whose memory it is. */
  readonly memory: string;
  /** How the stage reaches it. */
  readonly route: Route;
  /** True if the stage only copies. */
  readonly copies: boolean;
}

/** How the frames of a pipeline get from stage to stage. It prints as one line for each hand-over. */
export class Plan extends Printed {
  /** From the source on. A program's own stage, and what follows it, is unknown before its first frame. */
  readonly handOvers: readonly HandOver[];
  /** The names of the stages that are not planned yet. */
  readonly unknown: readonly string[];
  readonly #isMade = true;

  /** Made by a pipeline. */
  constructor(handOvers: readonly HandOver[], unknown: readonly string[]) {
    super();
    this.handOvers = handOvers;
    this.unknown = unknown;
  }

  /** True for what this class has made, and not for a proxy of it. For mappers. */
  static owns(value: object): boolean {
    return #isMade in value;
  }

  /** Bytes that are copied or moved for each frame, by all hand-overs together. */
  get bytesMoved(): number {
    const ofGiven = ({ route, copies, byteLength = 0, count = 1 }: Given) =>
      route.bytesMoved + (copies ? byteLength / count : 0);
    return this.#sum(
      ({ route, gives }) => route.bytesMoved + (gives === undefined ? 0 : ofGiven(gives)),
      (one) => one.bytesMoved,
    );
  }

  /** How often the host waits for each frame. */
  get hostWaits(): number {
    const of = (route: Route | undefined) => Number(route !== undefined && sumOf(route.steps).hostWait);
    return this.#sum(({ route, gives }) => of(route) + of(gives?.route), (one) => one.hostWaits);
  }

  /** Bytes that the stages allocate, once. */
  get byteLength(): number {
    return this.#sum(({ gives }) => gives?.byteLength ?? 0, (one) => one.byteLength);
  }

  #sum(of: (one: HandOver) => number, ofPlan: (plan: Plan) => number): number {
    return this.handOvers.reduce((sum, one) => {
      return sum + of(one) + (one.branches ?? []).reduce((all, branch) => all + ofPlan(branch), 0);
    }, 0);
  }

  /** What `JSON.stringify` makes of it. */
  override toJSON(): object {
    const { handOvers, unknown, bytesMoved, hostWaits, byteLength } = this;
    return { handOvers, unknown, bytesMoved, hostWaits, byteLength };
  }

  /** A line for each hand-over, then the sums. */
  toString(): string {
    const { bytesMoved, hostWaits, byteLength } = this;
    const sums = `each frame: ${bytesMoved} bytes moved, ${hostWaits} waits of the host; ${byteLength} bytes allocated`;
    return [...this.#lines(""), sums].join("\n");
  }

  #lines(indent: string): string[] {
    const lines = this.handOvers.flatMap(({ stage, takes, memory, route, gives, branches = [] }) => {
      const how = route.steps.length === 0 ? "" : ` by ${inWords(route)}`;
      const line = `${indent}${stage}: ${takes} in ${memory}${how}${gives === undefined ? "" : `; ${giving(gives)}`}`;
      return [line, ...branches.flatMap((branch) => branch.#lines(`${indent}  `))];
    });
    return [...lines, ...this.unknown.map((stage) => `${indent}${stage}: known once it has its first frame`)];
  }
}

function inWords(route: Route): string {
  return route.toString().split("\n").slice(0, route.steps.length).join(", then ");
}

function giving({ frame, count, memory, route }: Given): string {
  const where = count === undefined ? `frames of ${memory}` : `${count} frames of ${memory}`;
  return `gives ${frame} in ${where}${route.steps.length === 0 ? "" : ` by ${inWords(route)}`}`;
}

/** Throws unless a stage takes such frames. */
export function assertTaken(stage: string, { format, width, height }: Taken, info: FrameInfo): void {
  const size = info as { readonly width?: number; readonly height?: number };
  const wrong = format?.includes(info.format) === false ||
    !isWithin(size.width, width) || !isWithin(size.height, height);
  if (!wrong) return;
  const sizes = [width, height].some((one) => one !== undefined) ? ` of ${sizeOf(width)} × ${sizeOf(height)}` : "";
  throw new StageError(stage, `expected ${format?.join(" or ") ?? "pictures"}${sizes}, got ${frameInWords(info)}.`, {
    argument: "takes",
    hint: "Put a stage before it that converts: convert(cl, { format, width, height }).",
  });
}

function isWithin(pixels: number | undefined, size: Size | undefined): boolean {
  if (size === undefined) return true;
  const [least, most] = typeof size === "number" ? [size, size] : size;
  return pixels !== undefined && pixels >= least && pixels <= most;
}

function sizeOf(size: Size | undefined): string {
  if (size === undefined) return "any";
  return typeof size === "number" ? `${size}` : `${size[0]} to ${size[1]}`;
}

/** Where a stage works on a frame: `target` is undefined for the memory in which the frame lies. */
export interface Reached {
  readonly target: Target | undefined;
  readonly route: Route;
}

/** The memory of a stage that costs the least to reach. @throws {StageError} if all routes are closed. */
export function reach(
  stage: string,
  memory: readonly Target[],
  frame: Frame,
  access: Access,
  { graph, copy }: Pick<Run, "graph" | "copy">,
): Reached {
  if (memory.length === 0) return { target: undefined, route: ORIGIN };
  if (writes(access) && frame.access === "read") {
    throw new StageError(stage, `it writes, and ${frame.name} can only be read.`, {
      hint: "Others read the same bytes, or it lies in their memory: put copy() before this stage.",
    });
  }
  const routes = memory.map((target) => graph.explain(frame, target, { access, copy }));
  const route = cheapest(routes);
  if (route !== undefined) return { target: memory[routes.indexOf(route)], route };
  const why = routes.map(({ refused }) => refused.map(({ reason, remedy = "" }) => `${reason} ${remedy}`).join(" "));
  const there = memory.map(nameOf).join(" or ");
  throw new StageError(stage, `no route from ${frame.name} to ${there}: ${[...new Set(why)].join(" ").trim()}`, {
    hint: copy === "allow" ? undefined : 'Where a copy is meant, allow it: pipeline(…, { copy: "allow" }).',
  });
}

/** A stage that uses the frames that another one writes. */
export interface User {
  readonly memory: readonly Target[];
  readonly access: Access;
}

/** Allocates the frames that a stage writes: in host memory or in the stage's own, whichever costs all users less. */
export function allocatorFor(
  stage: string,
  users: readonly User[],
  given: FrameInfo,
  run: Pick<Run, "graph">,
): () => Frame {
  const info = frameInfo(given);
  const [{ memory }] = users;
  const onHost = (): Frame => host.allocateFrame(info, PLACEMENT);
  const [own] = memory.flatMap((one) => frameAllocator(one) ?? []);
  const onOwn = own && (() => own(info));
  const [ofHost, ofOwn] = [onHost, onOwn].map((allocate) => allocate && stepsOf(allocate, users, run));
  if (ofHost !== undefined && (ofOwn === undefined || compareSteps(ofHost, ofOwn) <= 0)) return onHost;
  if (onOwn !== undefined) return onOwn;
  throw new StageError(stage, `no memory for ${frameInWords(info)} is known that it can write.`, {
    hint: "Give it an allocate(info) of its own.",
  });
}

/** The steps by which such frames reach all users; undefined if one user cannot reach them in place. */
function stepsOf(allocate: () => Frame, users: readonly User[], { graph }: Pick<Run, "graph">): Step[] | undefined {
  using frame = allocate();
  const steps: Step[] = [];
  let at: Target | undefined;
  for (const { memory, access } of users) {
    if (at !== undefined && memory.includes(at)) continue; // it stays mapped
    const routes = memory.map((target) => graph.explain(frame, target, { access }));
    const best = cheapest(routes);
    if (best === undefined) return undefined;
    steps.push(...best.steps);
    at = memory[routes.indexOf(best)];
  }
  return steps;
}

function cheapest(routes: readonly Route[]): Route | undefined {
  const open = routes.filter((route) => route.open);
  if (open.length === 0) return undefined;
  return open.reduce((best, one) => compareSteps(one.steps, best.steps) < 0 ? one : best);
}

/**
 * Allocates `count` frames of one kind and makes something of them: all or nothing.
 * @throws {LayoutError} for other frames.
 */
export function several<T>(info: FrameInfo, count: number, allocate: () => Frame, make: (frames: Frame[]) => T): T {
  return allOrNothing("allocating frames", (undo) => {
    const frames = Array.from({ length: count }, () => {
      const frame = allocate();
      undo.push(() => frame[Symbol.dispose]());
      checkPlanes(frame.planes, info);
      return frame;
    });
    return make(frames);
  });
}
