import type { Used } from "../../core/device/arguments.ts";
import type { Fence } from "../../core/life/fence.ts";
import { waitsOnDevice } from "../../core/life/waits.ts";
import { OpenCLFence } from "../event.ts";
import type { OpenCLQueue } from "../queue.ts";
import type { Point } from "./point.ts";

/**
 * The fences that a wait list of a queue's command has to have: of `after`, and of the work on what the command uses. The
 * host waits for those of others, here, which may run code of the program's.
 */
export function waitsOf(queue: OpenCLQueue, after: readonly Fence[], used: readonly Used[]): Fence[] {
  const isOwn = (fence: Fence) => OpenCLFence.pointOf(fence) !== undefined && fence.context === queue.context;
  return waitsOnDevice(after, isOwn, (waits) => {
    for (const one of used) one.workBeside(queue, waits);
  });
}

/** The points of fences that have to stand in the wait list of a command in `line`. @throws what made one fail. */
export function unfinishedIn(fences: readonly Fence[], line: object): Point[] {
  const points = new Set<Point>();
  for (const fence of fences) {
    if (fence.line === line) continue;
    const point = OpenCLFence.pointOf(fence)!;
    point.flush();
    // PoCL 3.1 never ends a command that was submitted behind an event that had failed by then.
    if (point.over()) point.raise();
    else points.add(point);
  }
  // To ask about a later one may have shown that an earlier one is over.
  const behind: Point[] = [];
  for (const point of points) {
    if (point.event === undefined) point.raise();
    else behind.push(point);
  }
  return behind;
}
