import type { Driver, LineEvents, Lines, Sync } from "../contract.ts";
import type { Fence } from "./fence.ts";
import { blockingPause, polled } from "./asking.ts";
import { Line, type LineInit } from "./line.ts";

/** Work that is not a line's: of other code, of a promise. */
export interface ForeignWork extends Pick<Driver, "api" | "error">, Pick<Lines<LineEvents>, "gate"> {
  /** What it is, for messages. */
  readonly name: string;
  /** The function that asks, for errors. */
  readonly fn: string;
  /** The resources that outlive it. */
  readonly owners?: LineInit<LineEvents>["owners"];
  /** It begins, and learns how to report a failure, as of mark 1. */
  begin?(events: LineEvents): void;
  /** Asks whether it is over. */
  isOver(events: LineEvents): boolean;
  /** Blocks until it is. */
  block(): void;
  /** The same without blocking. */
  wait(): Promise<void>;
  /** False if `wait` takes no thread: then any number of them are in flight. */
  readonly takesThread?: false;
  /** How lines of other drivers wait for it on their devices, where they can. */
  readonly shown?: Pick<Sync<LineEvents>, "exports" | "export">;
  /** Gives back what it holds. */
  release?(): void;
}

const IMPORTS_NOTHING = { imports: [], import: (port: unknown) => port, wait() {}, release() {} };

/** Work that no driver reports: `isOver` is asked until it returns true. */
export function polledFence(
  { isOver, ...about }: Pick<ForeignWork, "api" | "error" | "name" | "fn" | "begin"> & { isOver(): boolean },
): Fence {
  const pause = blockingPause(about.name);
  const block = () => void (isOver() || pause());
  return fenceOf({ ...about, takesThread: false, isOver, block, wait: () => polled(isOver) });
}

/** Such work as a fence: the only mark of a line of its own. */
export function fenceOf({ api, error, name, fn, owners, gate, shown, ...work }: ForeignWork): Fence {
  const lines: Lines<LineEvents> = {
    close: () => work.release?.(),
    submitted() {},
    poll: (events, mark) => work.isOver(events) ? mark : 0,
    block: () => work.block(),
    waitElsewhere: () => work.wait(),
    ...(work.takesThread === undefined ? {} : { takesThread: work.takesThread }),
    ...(gate === undefined ? {} : { gate }),
    ...(shown === undefined ? {} : { sync: { ...IMPORTS_NOTHING, ...shown } }),
  };
  const line = new Line<LineEvents>({
    driver: { api, error, lines },
    name,
    ...(owners === undefined ? {} : { owners }),
    open(events) {
      work.begin?.(events);
      return events;
    },
  });
  line.submit([], { fn, call: () => 0 });
  return line.fence();
}
