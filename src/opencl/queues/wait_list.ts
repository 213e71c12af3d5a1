import type { Fence } from "../../core/life/fence.ts";
import type { OpenCLContext } from "../context.ts";
import { OpenCLFence } from "../event.ts";
import type { Point } from "./point.ts";

/** The fences of a context, which a wait list can have; the host waits for all others, here. */
export function waitForForeign(waits: readonly Fence[], context: OpenCLContext): Fence[] {
  const own: Fence[] = [];
  for (const fence of waits) {
    if (OpenCLFence.pointOf(fence) !== undefined && fence.context === context) own.push(fence);
    else fence.waitSync();
  }
  return own;
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
