import type { Fence } from "../device/fence.ts";
import type { Line } from "../device/line.ts";
import { AccessError, warn } from "../errors.ts";
import { sleepSync } from "../pace.ts";
import { advance, failed, keepFailures, type Obstacle, ownersOf, raiseFailures, subtreeOf } from "./ending.ts";
import type { Resource } from "./resource.ts";

/** A wait that has ended. If its work has not, the work is polled. */
interface EndedWait {
  readonly fence: Fence;
  readonly errors: unknown[];
  /** When the work is given up, once it has been seen to go on. */
  until?: number;
}

/** How long a dispose polls work that goes on after its wait has ended, in milliseconds. Then its memory is given up. */
const LOST_AFTER_MS = 10_000;

/** How long an end waits before it says so, in milliseconds. */
const SECONDS_MS = 2_000;

/** Blocks, but not on a lend or behind a gate: then the end goes on in the background. @throws all failures. */
export function driveSync(resource: Resource): void {
  const obstacle = advance(resource);
  if (obstacle !== undefined) blockOn(resource, obstacle);
  raiseFailures(resource);
}

function blockOn(resource: Resource, first: Obstacle): void {
  let ended: EndedWait | undefined;
  for (let obstacle: Obstacle | undefined = first; obstacle !== undefined; obstacle = advance(resource)) {
    if (obstacle instanceof Promise) {
      leaveToBackground(resource);
      break;
    }
    if (ended !== undefined && isSame(obstacle, ended)) {
      outlast(resource, ended);
      sleepSync(1);
      continue;
    }
    ended = endedWait(obstacle);
    try {
      obstacle.waitSync();
    } catch (error) {
      if (error instanceof AccessError) {
        leaveToBackground(resource);
        throw error;
      }
      ended.errors.push(error);
    }
  }
}

/**
 * The same where the work on its bytes is over, and only commands that give them back are left. Where a gate holds those
 * up, or work is unfinished, it waits for nothing.
 */
export function driveIfOver(resource: Resource): void {
  if (subtreeOf(resource).some((each) => !each.onlyReturns && each.busy)) return;
  const obstacle = advance(resource);
  if (obstacle instanceof Promise || obstacle?.line.gatesAt(obstacle.mark) !== undefined) return;
  driveSync(resource);
}

export async function drive(resource: Resource, wait = (fence: Fence) => fence.wait()): Promise<void> {
  let ended: EndedWait | undefined;
  for (let obstacle = advance(resource); obstacle !== undefined; obstacle = advance(resource)) {
    if (obstacle instanceof Promise) await outwaited(obstacle, resource);
    else if (ended !== undefined && isSame(obstacle, ended)) {
      outlast(resource, ended);
      await new Promise((resolve) => setTimeout(resolve, 1));
    } else {
      ended = endedWait(obstacle);
      try {
        await outwaited(wait(obstacle), resource);
      } catch (error) {
        ended.errors.push(error);
      }
    }
  }
}

/**
 * An end that a program awaits, and that something of its own may hold up for ever, says so after seconds. It keeps the
 * process alive: native code may have to let go first.
 */
function outwaited(hold: Promise<void>, resource: Resource): Promise<void> {
  const { awaited, name } = resource;
  const wayOut = awaited ? resource.wayOut : undefined;
  if (wayOut === undefined) return hold;
  let times = 0;
  const timer = setInterval(() => {
    if (++times === 1) warn(`the end of ${name} has been waiting for seconds. ${wayOut}`);
  }, SECONDS_MS);
  return hold.finally(() => clearInterval(timer));
}

/** Drives it in the background. The bytes keep the failures for their next user, unless a `disposeAsync` reports them. */
export async function driveInBackground(resource: Resource, wait = waitAside): Promise<void> {
  await drive(resource, wait);
  if (!resource.awaited) keepFailures(resource);
}

/** True if a `disposeAsync`, its own or an owner's, drives its end and reports it. */
export function isAwaited(resource: Resource): boolean {
  for (const each of ownersOf(resource)) if (each.awaited) return true;
  return false;
}

function leaveToBackground(resource: Resource): void {
  if (!isAwaited(resource)) driveInBackground(resource);
}

/** The work goes on after its wait has ended: notes the errors, and gives the work up after a while. */
function outlast(resource: Resource, ended: EndedWait): void {
  failed(resource, ended.errors.splice(0));
  ended.until ??= performance.now() + LOST_AFTER_MS;
  if (performance.now() > ended.until) { for (const each of subtreeOf(resource)) abandon(each, ended.fence); }
}

/** The work may never end: keeps its memory for good, because the work may still write to it. */
function abandon(resource: Resource, fence: Fence): void {
  if (resource.work.abandon(fence.line)) {
    warn(`work on ${resource.name} could not be waited for; its memory is kept for good.`);
    for (const grant of resource.grants) grant.allocation.escaped = true;
  }
  if (resource.intermediate === undefined) return;
  for (const each of subtreeOf(resource.intermediate)) abandon(each, fence);
}

function isSame({ line, mark }: Fence, { fence }: EndedWait): boolean {
  return fence.line === line && fence.mark === mark;
}

function endedWait(fence: Fence): EndedWait {
  return { fence, errors: [] };
}

/** How often the waits are asked about, in milliseconds, and how often before each goes on alone. */
const EVERY_MS = 1;
const TIMES = 20;

interface Waiting {
  readonly mark: number;
  readonly done: () => void;
  left: number;
}

const waiting = new Map<Line, Waiting[]>();
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Waits for a fence at low cost: it neither polls before it returns nor takes a thread, and all such waits share one
 * timer. Work that takes long is waited for by {@link Fence.wait} after a while.
 * @throws the work's error.
 */
export async function waitPatiently(fence: Fence): Promise<void> {
  const { line, mark } = fence;
  if (line.wasOver(mark)) return line.raise(mark);
  if (line.gatesAt(mark) === undefined) {
    await new Promise<void>((done) => {
      const beside = waiting.get(line);
      if (beside === undefined) waiting.set(line, [{ mark, done, left: TIMES }]);
      else beside.push({ mark, done, left: TIMES });
      timer ??= setTimeout(ask, EVERY_MS);
    });
  }
  if (line.wasOver(mark)) return line.raise(mark);
  await fence.wait();
}

/** The same where the program may end before: other code may hold the bytes for as long as the process lasts. */
async function waitAside(fence: Fence): Promise<void> {
  const { driver: { lines }, lane } = fence.line;
  await lines.waitAside?.(lane);
  await waitPatiently(fence);
}

function ask(): void {
  timer = undefined;
  for (const [line, waits] of waiting) {
    let goesOn = true;
    const left = waits.filter((one) => {
      goesOn &&= isOver(line, one.mark);
      if (!goesOn && !line.wasOver(one.mark) && --one.left > 0) return true;
      one.done();
      return false;
    });
    if (left.length === 0) waiting.delete(line);
    else waiting.set(line, left);
  }
  if (waiting.size > 0) timer = setTimeout(ask, EVERY_MS);
}

function isOver(line: Line, mark: number): boolean {
  try {
    return line.isOver(mark);
  } catch {
    return false; // the wait that goes on alone meets the same error, and reports it
  }
}
