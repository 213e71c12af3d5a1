import type { ClCommandQueue } from "../../../ffi/opencl/handles.ts";
import { type Gate, gatesOf } from "./gate.ts";
import type { Point } from "./point.ts";

/** How many commands are kept until those that are over are looked for, beyond what was left the last time. */
const SWEEP = 64;

/** A marker waits for what is in front of it, and what comes after a barrier waits for the barrier too. */
export type CommandKind = "command" | "marker" | "barrier";

/** What a new command would wait for. */
export interface Ahead {
  /** The commands whose events it hangs on. */
  readonly behind: readonly Point[];
  /** The user events that it hangs on. */
  readonly gates: readonly Gate[];
  /** The one in front of it, where they run in order. */
  readonly before?: Point | undefined;
  /** One of the commands that it is sure to wait for, whatever the driver: it extends the chain that this one ends. */
  readonly follows: Point | undefined;
}

/** Those of each `cl_command_queue` that is in use; weak, so that a context that a program forgot is noticed. */
const known = new Map<ClCommandQueue, WeakRef<Submitted>>();

/**
 * The commands of one `cl_command_queue` that were not seen over, and what is known of their order. All queues that are
 * attached to it share them: each stands behind what the others were given.
 */
export class Submitted {
  readonly #handle: ClCommandQueue;
  readonly #overtakes: boolean;
  #users = 0;
  #pending: Point[] = [];
  #last: Point | undefined;
  #whole: Point | undefined;
  #barrier: Point | undefined;
  #gates: readonly Gate[] = [];
  #sweepAt = SWEEP;
  #failure: unknown;

  private constructor(handle: ClCommandQueue, overtakes: boolean) {
    this.#handle = handle;
    this.#overtakes = overtakes;
  }

  /** Those of a `cl_command_queue`, for one more who uses it. `overtakes`: may a command begin before an earlier one? */
  static to(handle: ClCommandQueue, overtakes: boolean): Submitted {
    let of = known.get(handle)?.deref();
    if (of === undefined) known.set(handle, new WeakRef(of = new Submitted(handle, overtakes)));
    of.#users++;
    return of;
  }

  /** One less uses it. True for the last one, who has to wait for all that are left. */
  leave(): boolean {
    return --this.#users === 0;
  }

  /** Does anybody use it? */
  get inUse(): boolean {
    return this.#users > 0;
  }

  /** The command that was submitted last. */
  get last(): Point | undefined {
    return this.#last;
  }

  /** The command that is done when all are, where there is one. */
  get whole(): Point | undefined {
    return this.#overtakes ? this.#whole : this.#last;
  }

  /** The commands that all are over with. Each is its own end where the others may outlast it. */
  get ends(): readonly Point[] {
    if (this.#overtakes) return [...this.#pending];
    return this.#last === undefined ? [] : [this.#last];
  }

  /** The user events that are still to be set before all can be over. */
  get gates(): readonly Gate[] {
    if (this.#gates.length > 0) this.#gates = this.#gates.filter((gate) => !gate.set);
    return this.#gates;
  }

  /** True where it is time to {@link forget}. */
  get crowded(): boolean {
    return this.#pending.length >= this.#sweepAt;
  }

  /** What a command behind `waits` would wait for. */
  ahead(waits: readonly Point[], kind: CommandKind): Ahead {
    if (!this.#overtakes) {
      const gates = joined(this.gates, gatesOf(waits));
      return { behind: waits, gates, before: this.#last, follows: endOfChain(waits) };
    }
    const barrier = this.#barrier;
    const sure = barrier !== undefined && isUnfinished(barrier) ? [...waits, barrier] : waits;
    if (kind === "command") return { behind: sure, gates: gatesOf(sure), follows: endOfChain(sure) };
    // PoCL 3.1 lets it wait for all in front of it, whatever its list says.
    const behind = [...new Set([...sure, ...this.#pending.filter(isUnfinished)])];
    const follows = endOfChain(waits.length === 0 ? behind : sure);
    return { behind, gates: joined(this.gates, gatesOf(waits)), follows };
  }

  /** One more. `whole`: it waits for all in front of it. */
  add(point: Point, kind: CommandKind, gates: readonly Gate[], whole: boolean): void {
    this.#gates = joined(this.#gates, gates);
    this.#pending.push(point);
    this.#last = point;
    this.#whole = whole ? point : undefined;
    if (kind === "barrier") this.#barrier = point;
  }

  /**
   * Lets go of the commands that are over. What fails here concerns none that is asked for now: those that could not be
   * asked are asked again next time, and the first failure is thrown with the end of the queue.
   */
  forget(): void {
    const { crowded } = this;
    // In order, the first is over first; else it may be the last.
    if (this.#overtakes && crowded) this.#pending = this.#pending.filter((point) => !this.#letGo(point));
    else while (this.#pending.length > 0 && this.#letGo(this.#pending[0])) this.#pending.shift();
    if (crowded || this.#pending.length === 0) this.#sweepAt = SWEEP + 2 * this.#pending.length;
  }

  /** Hands out all that are left when nobody uses it any more, and the first failure on the way here. */
  takeAll(): { left: readonly Point[]; failures: readonly unknown[] } {
    known.delete(this.#handle);
    this.forget();
    return { left: this.#pending.splice(0), failures: this.#failure === undefined ? [] : [this.#failure] };
  }

  /** Lets go of one, if it is over. */
  #letGo(point: Point): boolean {
    let past = false;
    try {
      past = isPast(point);
      if (past) point.letGo();
    } catch (error) {
      this.#failure ??= error;
    }
    return past;
  }
}

function endOfChain(points: readonly Point[]): Point | undefined {
  return points.find((point) => point.endsChain);
}

/** As far as was seen. */
function isUnfinished(point: Point): boolean {
  return point.event !== undefined;
}

/** True for a command that is done, or has failed and nothing is left that it had waited for. */
function isPast(point: Point): boolean {
  return point.over() && point.behind.every((each) => each.over());
}

function joined(gates: readonly Gate[], more: readonly Gate[]): readonly Gate[] {
  if (more.length === 0 || more === gates) return gates;
  return gates.length === 0 ? more : [...new Set([...gates, ...more])];
}
