import type { Driver, LineEvents, Lines, Sync } from "../contract.ts";
import type { AccessError } from "../errors.ts";
import type { Fence } from "./fence.ts";
import { blockingPause, polled, polledAside } from "./asking.ts";
import { Resource } from "../life/resource.ts";
import { Line, type LineInit } from "./line.ts";

/** Work that is not a line's: of other code, of a promise. */
export interface ForeignWork extends Pick<Driver, "api" | "error">, Pick<Lines, "gate"> {
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
  /** The same without keeping the process alive. Such work is other code's, and takes no thread here. */
  waitAside?(): Promise<void>;
  /** How lines of other drivers wait for it on their devices, where they can. */
  readonly shown?: Pick<Sync, "exports" | "export">;
  /** Gives back what it holds. */
  release?(): void;
}

const IMPORTS_NOTHING = { imports: [], import: (port: unknown) => port, wait() {}, release() {} };

/** Work that no driver reports. */
export interface PolledWork extends Pick<ForeignWork, "api" | "error" | "name" | "fn" | "begin"> {
  /** Is asked until it returns true. */
  isOver(): boolean;
  /** Asked before this thread blocks: the error where that would never end. */
  readonly deadlock?: (() => AccessError | undefined) | undefined;
}

/** Such work as a fence. */
export function polledFence(work: PolledWork): Fence {
  return fenceOf(new Polled(work));
}

/** A class, because its objects take less to make than closures. */
class Polled implements ForeignWork {
  readonly api: string;
  readonly error: ForeignWork["error"];
  readonly name: string;
  readonly fn: string;
  readonly #work: PolledWork;
  #pause: (() => void) | undefined;

  constructor(work: PolledWork) {
    this.api = work.api;
    this.error = work.error;
    this.name = work.name;
    this.fn = work.fn;
    this.#work = work;
  }

  begin(events: LineEvents): void {
    this.#work.begin?.(events);
  }

  isOver(): boolean {
    return this.#work.isOver();
  }

  block(): void {
    if (this.isOver()) return;
    const deadlock = this.#work.deadlock?.();
    if (deadlock !== undefined && !this.isOver()) throw deadlock; // it may be over by what has made it impossible
    (this.#pause ??= blockingPause(this.name))();
  }

  wait(): Promise<void> {
    return polled(() => this.isOver());
  }

  waitAside(): Promise<void> {
    return polledAside(() => this.isOver());
  }
}

let shared: Resource | undefined;

/** Nobody ends work that holds nothing: all of it shares one. */
function neverEnded(): Resource {
  return shared ??= new Resource({ name: "work of other code" });
}

/** What a line of such work is made of, and its lane. */
class Lane implements LineInit<Lane> {
  readonly driver: Driver<Lane>;
  readonly name: string;
  readonly owners: LineInit<Lane>["owners"];
  readonly resource: Resource | undefined;
  readonly work: ForeignWork;
  events: LineEvents | undefined;

  constructor(work: ForeignWork, lines: Lines<Lane>) {
    this.driver = { api: work.api, error: work.error, lines };
    this.name = work.name;
    this.owners = work.owners;
    this.resource = work.owners === undefined && work.release === undefined ? neverEnded() : undefined;
    this.work = work;
  }

  open(events: LineEvents): this {
    this.events = events;
    this.work.begin?.(events);
    return this;
  }
}

const LINES: Lines<Lane> = {
  close: ({ work }) => work.release?.(),
  submitted() {},
  poll: ({ work, events }, mark) => work.isOver(events!) ? mark : 0,
  block: ({ work }) => work.block(),
  waitElsewhere: ({ work }) => work.wait(),
};

const ASIDE: Lines<Lane> = { ...LINES, takesThread: false, waitAside: ({ work }) => work.waitAside!() };

const NO_USES: readonly never[] = [];

function done(): number {
  return 0;
}

/** Such work as a fence: the only mark of a line of its own. */
export function fenceOf(work: ForeignWork): Fence {
  const { fn, gate, shown } = work;
  const base = work.waitAside === undefined ? LINES : ASIDE;
  const lines: Lines<Lane> = gate === undefined && shown === undefined ? base : {
    ...base,
    ...(gate === undefined ? {} : { gate }),
    ...(shown === undefined ? {} : { sync: { ...IMPORTS_NOTHING, ...shown } }),
  };
  const line = new Line<Lane>(new Lane(work, lines));
  line.submit(NO_USES, { fn, call: done });
  return line.fence();
}
