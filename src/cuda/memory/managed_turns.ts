import type { Allocation } from "../../core/memory/allocation.ts";
import { AccessError } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Line, Use } from "../../core/device/line.ts";
import { holdersOf, unstoppable } from "./managed_holders.ts";

/** A stream's commands, whichever context submits them: it is known by its `cudaStream_t`. */
export interface StreamCommands {
  /** The `cudaStream_t`. */
  readonly stream: bigint;
}

/** A block of managed memory, and who may use it: every stream, the host, or one stream. */
interface Tracked {
  readonly allocation: Allocation;
  /** What it was allocated with, and comes back to when the stream is destroyed that it is attached to. */
  readonly initial: "global" | "host";
  user: "global" | "host" | bigint;
  /** Is it attached to a stream that was left to its owner? What that is given from then on is not known here. */
  left: boolean;
}

/**
 * Managed memory of devices without concurrentManagedAccess: host and devices take turns. While anything runs on such a
 * device a touch by the CPU ends the process, unless the block is attached to the host, or to a stream that is idle. So its
 * views are revoked before a command is submitted, and whoever of the host wants new ones waits for that command.
 *
 * It knows what this isolate submits, by whichever context. What another isolate of the process submits, it cannot know.
 */
export class ManagedTurns {
  readonly #tracked = new Map<Allocation, Tracked>();
  /** The streams of such devices. Held weakly: a context that nobody has any more is told of when it is collected. */
  #lines: readonly WeakRef<Line>[] = [];

  /** One more stream may touch memory of this kind, or runs beside it. */
  join(line: Line): void {
    const living = this.#lines.filter((each) => each.deref()?.resource.isLive);
    this.#lines = [...living, new WeakRef(line)];
  }

  /** A new block: the host waits for what is in flight already. */
  track(allocation: Allocation, initial: "global" | "host"): void {
    this.#tracked.set(allocation, { allocation, initial, user: initial, left: false });
    allocation.indivisible = true; // a command is recorded on those who have it: whoever comes later finds it with them
    allocation.beforeFree(() => this.#tracked.delete(allocation));
    if (initial === "global") this.#recordInFlight(allocation);
  }

  /**
   * A block is about to be attached to all streams or to one: what runs there already may touch it then.
   *
   * @throws {AccessError} where the CPU cannot be kept from it.
   */
  takeViews(allocation: Allocation): void {
    if (!this.#tracked.has(allocation)) return;
    const refusal = unstoppable(allocation);
    if (refusal !== undefined) throw refusal;
    revokeViews(allocation);
  }

  /** Who may use a block from now on; unless that is the host, it waits for what is in flight. */
  attached(allocation: Allocation, to: "global" | "host" | StreamCommands): void {
    const tracked = this.#tracked.get(allocation);
    if (tracked === undefined) return;
    tracked.user = typeof to === "string" ? to : to.stream;
    tracked.left = false;
    if (to !== "host") this.#recordInFlight(allocation);
  }

  /**
   * A stream's work is done, and it is about to be destroyed: what is attached to it comes back to what it was allocated
   * with. Where it is left to its owner, who may destroy it or not, nothing is given to the host, nor to other streams.
   */
  streamEnds({ stream }: StreamCommands, destroyed: boolean): void {
    for (const tracked of this.#tracked.values()) {
      const { allocation, initial, user } = tracked;
      if (user !== stream || (initial === "host" && !destroyed)) continue;
      if (destroyed) this.attached(allocation, initial);
      else {
        tracked.left = true;
        this.#recordInFlight(allocation);
      }
      if (initial === "host") continue;
      if (unstoppable(allocation) === undefined) revokeViews(allocation);
      else this.#eachInFlight((fence) => fence.waitSync()); // whoever has it then keeps all others from running
    }
  }

  /**
   * May a command of a stream use these?
   *
   * @throws {AccessError} where the block of one is attached to the host, or to another stream.
   */
  assertReachable(uses: readonly Use[], commands: StreamCommands): void {
    for (const { tensor, argument } of uses) {
      for (const { allocation } of tensor.resource.grants) this.#assertReachable(allocation, commands, argument);
    }
  }

  #assertReachable(allocation: Allocation, { stream }: StreamCommands, argument: string): void {
    const tracked = this.#tracked.get(allocation);
    if (tracked === undefined || tracked.user === "global" || tracked.user === stream) return;
    const whom = tracked.user === "host" ? "the host" : "another stream";
    throw new AccessError(`${argument}: its block is attached to ${whom}, and the device needs it to itself.`, {
      api: "cuda",
      argument,
      hint: 'Attach it to all first: cuda.managed.attach(tensor, "global").',
    });
  }

  /**
   * A command is about to be submitted: the host's views of what it may touch are revoked.
   *
   * @throws {AccessError} where a promise or another API holds such memory: what they do with it, nobody can stop.
   */
  before(commands: StreamCommands): void {
    const concerned = this.#concerned(commands);
    for (const allocation of concerned) {
      const refusal = unstoppable(allocation);
      if (refusal !== undefined) throw refusal;
    }
    for (const allocation of concerned) revokeViews(allocation);
  }

  /** It was submitted: the host waits for it before it looks at what it may touch. */
  after(commands: StreamCommands, fence: Fence): void {
    for (const allocation of this.#concerned(commands)) recordOn(allocation, fence);
  }

  #concerned(commands: StreamCommands): Allocation[] {
    const concerned = [...this.#tracked.values()].filter((tracked) => concerns(tracked, commands));
    return concerned.map(({ allocation }) => allocation);
  }

  #recordInFlight(allocation: Allocation): void {
    this.#eachInFlight((fence) => recordOn(allocation, fence));
  }

  #eachInFlight(use: (fence: Fence) => void): void {
    for (const each of this.#lines) {
      const line = each.deref();
      if (line !== undefined && !line.wasOver(line.submitted)) use(line.fence());
    }
  }
}

/** The turns of this isolate: a block that is attached to all is any device's. */
export const managedTurns: ManagedTurns = new ManagedTurns();

/** May the commands of a stream touch a block, as far as the host has to know? */
function concerns({ user, left }: Tracked, { stream }: StreamCommands): boolean {
  return left || user === "global" || user === stream;
}

function revokeViews({ views, block }: Allocation): void {
  views?.revokeRange(0, block.byteLength, false);
}

function recordOn(allocation: Allocation, fence: Fence): void {
  for (const resource of holdersOf(allocation)) resource.inherit([fence]);
}
