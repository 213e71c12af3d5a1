import type { Allocation } from "../../core/allocation.ts";
import { AccessError } from "../../core/errors.ts";
import type { Fence } from "../../core/fence.ts";
import type { Resource } from "../../core/resource.ts";

/** Who may use managed memory: every stream, the host alone, or one stream. */
export type ManagedAttachment = "global" | "host" | "single";

/** A stream, as far as memory can be attached to it. */
export interface AttachedStream {
  /** Its commands. */
  readonly timeline: object;
  /** Its end of life: memory that was attached to it is everybody's again after that. */
  readonly resource: Pick<Resource, "state">;
}

/** A block of managed memory, who may use it, and who of the host sees it. */
interface Tracked {
  readonly allocation: Allocation;
  attachment: ManagedAttachment;
  stream: AttachedStream | undefined;
  seers: Resource[];
}

/**
 * Managed memory of a device without concurrentManagedAccess: host and device take turns. While anything runs on the device
 * a touch by the CPU ends the process, unless the block is attached to the host, or to a stream that is idle. So its views
 * are revoked before a command is submitted, and whoever of the host wants new ones waits for that command.
 */
export class ManagedTurns {
  readonly #tracked = new Map<Allocation, Tracked>();

  /** A new block, and what is in flight on the device already. */
  track(allocation: Allocation, attachment: "global" | "host", inFlight: readonly Fence[]): void {
    const tracked: Tracked = { allocation, attachment, stream: undefined, seers: [] };
    this.#tracked.set(allocation, tracked);
    allocation.beforeFree(() => this.#tracked.delete(allocation));
    if (attachment === "global") { for (const fence of inFlight) recordOn(tracked, fence); }
  }

  /** Who may use a block from now on. */
  attached(allocation: Allocation, attachment: ManagedAttachment, stream: AttachedStream): void {
    const tracked = this.#tracked.get(allocation);
    if (tracked === undefined) return;
    tracked.attachment = attachment;
    tracked.stream = attachment === "single" ? stream : undefined;
  }

  /** The host has mapped a block, or a part of it: its tensor may show it only while it is the host's turn. */
  seenByHost(allocation: Allocation, seer: Resource): void {
    this.#tracked.get(allocation)?.seers.push(seer);
  }

  /**
   * May a command of a stream use a block?
   *
   * @throws {AccessError} where it is attached to the host, or to another stream.
   */
  assertReachable(allocation: Allocation, timeline: object, argument: string): void {
    const tracked = this.#tracked.get(allocation);
    if (tracked === undefined || this.#concerns(tracked, timeline)) return;
    const whom = tracked.attachment === "host" ? "the host" : "another stream";
    throw new AccessError(`${argument}: its block is attached to ${whom}, and the device needs it to itself.`, {
      api: "cuda",
      argument,
      hint: 'Attach it to all first: cuda.managed.attach(tensor, "global").',
    });
  }

  /**
   * A command is about to be submitted: the host's views of what it may touch are revoked.
   *
   * @throws {AccessError} where a promise holds such memory: what it does with it, nobody can stop.
   */
  before(timeline: object): void {
    const concerned = [...this.#tracked.values()].filter((tracked) => this.#concerns(tracked, timeline));
    for (const tracked of concerned) {
      const holder = resourcesOf(tracked).find((resource) => resource.held);
      if (holder === undefined) continue;
      throw new AccessError(`${holder.name} is lent to a promise: the device cannot run anything until that settles.`, {
        api: "cuda",
        hint: "Await that first; or attach the memory to the host for as long as it lasts.",
      });
    }
    for (const { allocation } of concerned) allocation.views?.revokeRange(0, allocation.block.byteLength, false);
  }

  /** It was submitted: the host waits for it before it looks at what it may touch. */
  after(timeline: object, fence: Fence): void {
    for (const tracked of this.#tracked.values()) if (this.#concerns(tracked, timeline)) recordOn(tracked, fence);
  }

  #concerns({ attachment, stream }: Tracked, timeline: object): boolean {
    if (attachment === "single" && stream?.resource.state === "live") return stream.timeline === timeline;
    return attachment !== "host";
  }
}

/** Whoever has the bytes: their owners, and those of the host that they were mapped to. */
function resourcesOf(tracked: Tracked): Resource[] {
  tracked.seers = tracked.seers.filter(({ state }) => state !== "freed");
  const owners = tracked.allocation.roots.flatMap(({ resource }) => resource ?? []);
  return [...owners, ...tracked.seers];
}

function recordOn(tracked: Tracked, fence: Fence): void {
  for (const resource of resourcesOf(tracked)) resource.record(fence.retain());
}
