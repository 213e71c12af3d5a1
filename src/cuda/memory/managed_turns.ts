import type { Allocation } from "../../core/memory/allocation.ts";
import { AccessError } from "../../core/errors.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Line, Use } from "../../core/device/line.ts";
import type { CudaDevice } from "../device.ts";
import { holdersOf, unstoppable } from "./managed_holders.ts";

/** A stream, known by its `cudaStream_t` in all contexts. */
export interface StreamCommands {
  /** The `cudaStream_t`. */
  readonly stream: bigint;
}

interface Tracked {
  readonly allocation: Allocation;
  /** Its first users, and again its users once its stream is destroyed. */
  readonly initial: "global" | "host";
  user: "global" | "host" | bigint;
  /** True if its stream was returned to its owner, whose commands samepage does not see. */
  left: boolean;
}

/**
 * Managed memory of devices without concurrentManagedAccess: host and devices take turns. While such a device runs
 * anything, the process crashes if the CPU touches a block that is attached neither to the host nor to an idle stream. So
 * a command revokes the views first, and new views wait for the command.
 *
 * It sees the commands of all contexts of this isolate, but none of other isolates. For backends.
 */
export class ManagedTurns {
  readonly #tracked = new Map<Allocation, Tracked>();
  /** The streams of such devices; weak, so that finalizers notice a forgotten context. */
  #lines: readonly WeakRef<Line>[] = [];

  /** Adds a stream of such a device. */
  join(line: Line): void {
    const living = this.#lines.filter((each) => each.deref()?.resource.isLive);
    this.#lines = [...living, new WeakRef(line)];
  }

  /** Adds a block. The host waits for all commands in flight. */
  track(allocation: Allocation, initial: "global" | "host"): void {
    this.#tracked.set(allocation, { allocation, initial, user: initial, left: false });
    allocation.indivisible = true; // commands are recorded on its holders, for later users
    allocation.beforeFree(() => this.#tracked.delete(allocation));
    if (initial === "global") this.#recordInFlight(allocation);
  }

  /**
   * Revokes the views of a block before it is attached to streams, because their running commands may touch it then.
   *
   * @throws {AccessError} if the CPU cannot be kept from it.
   */
  takeViews(allocation: Allocation): void {
    if (!this.#tracked.has(allocation)) return;
    const refusal = unstoppable(allocation);
    if (refusal !== undefined) throw refusal;
    revokeViews(allocation);
  }

  /** Sets the users of a block. Unless that is the host, the block waits for all commands in flight. */
  attached(allocation: Allocation, to: "global" | "host" | StreamCommands): void {
    const tracked = this.#tracked.get(allocation);
    if (tracked === undefined) return;
    tracked.user = typeof to === "string" ? to : to.stream;
    tracked.left = false;
    if (to !== "host") this.#recordInFlight(allocation);
  }

  /** Call it when a stream's work is over: its blocks return to their first users if it is destroyed, else they stay with it. */
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
      else this.#eachInFlight((fence) => fence.waitSync()); // its new users exclude all others
    }
  }

  /**
   * Throws unless a command of a stream may use these.
   *
   * @throws {AccessError} if the block of one is attached to the host, or to another stream.
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
   * Revokes the host's views of all memory that the next command may touch.
   *
   * @throws {AccessError} if a promise or another API holds such memory, because their use cannot be stopped.
   */
  before(commands: StreamCommands): void {
    const concerned = this.#concerned(commands);
    for (const allocation of concerned) {
      const refusal = unstoppable(allocation);
      if (refusal !== undefined) throw refusal;
    }
    for (const allocation of concerned) revokeViews(allocation);
  }

  /** Records a submitted command on all memory that it may touch: the host waits for it. */
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

const TURNS = new ManagedTurns();

/**
 * The turns of a device and the host at managed memory; undefined if both can use it at once, or the device has no managed
 * memory.
 */
export function turnsOf(
  { attributes: { managedMemory, concurrentManagedAccess } }: CudaDevice,
): ManagedTurns | undefined {
  return managedMemory === 1 && concurrentManagedAccess !== 1 ? TURNS : undefined;
}

/** True if the commands of a stream may touch a block that the host may use. */
function concerns({ user, left }: Tracked, { stream }: StreamCommands): boolean {
  return left || user === "global" || user === stream;
}

function revokeViews({ views, block }: Allocation): void {
  views?.revokeRange(0, block.byteLength, false);
}

function recordOn(allocation: Allocation, fence: Fence): void {
  for (const resource of holdersOf(allocation)) resource.inherit([fence]);
}
