/**
 * What a ring stands on: how its two sides reach each other. `by_fd.ts` has one machine's way, `src/ucx` another's.
 *
 * @module
 */
import type { Resource } from "../../core/life/resource.ts";
import type { Readiness } from "../../core/native/poller.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import type { Credentials } from "../connection.ts";
import type { Look } from "../packet.ts";
import type { WhenFull } from "./notice.ts";

/** The other side of a ring, from one side to the other: notices, in order. */
export interface Link {
  /** Its end: the other side learns of it. */
  readonly resource: Resource;
  /** Who is there, in words: `"process 4711"`. */
  readonly who: string;
  /** What the kernel knows of the other side, where it is on this machine. */
  readonly credentials?: Credentials;
  /** Takes the next notice, if there is one: `"later"` if none has come yet, `"ended"` if none will. */
  take<T>(look: Look<T>): T | "later" | "ended";
  /** Waits until a notice can be taken, or until the other side has ended. */
  ready(readiness: Readiness, signal: AbortSignal | undefined): Promise<void>;
  /**
   * Sends a notice, unless that has to wait: then it returns false, and nothing was done. With the notice of a published
   * frame go that frame's bytes, where the reader's memory is not the writer's.
   */
  sendNow(bytes: Uint8Array, published?: number): boolean;
  /** Sends a notice, and waits while there is no room for it. */
  send(bytes: Uint8Array): Promise<void>;
  /** Waits until this side can go: the other has, or is going to have, all that it was notified of. */
  sent(signal: AbortSignal | undefined): Promise<void>;
}

/** A reader at a ring's door. */
export interface Arrival {
  /** Sends the ring's first message, and its memory. It owns what it was given until it returns, also if it throws. */
  welcome(ring: Resource, beginning: Uint8Array<ArrayBuffer>): Promise<Link>;
}

/** What a ring's writer listens at. It has the ring's memory in the form in which readers get it. */
export interface Door extends AsyncIterable<Arrival> {
  /** Its end: no more readers come. */
  readonly resource: Resource;
  /** Where it is: a path, an address. */
  readonly path: string;
}

/** A ring that was joined. */
export interface Joined<T extends Tensor | Frame> {
  readonly link: Link;
  readonly frames: readonly T[];
  readonly whenFull: WhenFull;
  /**
   * Brings the bytes of the frame that was announced last into one of `frames` that the program does not hold, where its
   * memory is not the writer's own. The writer has its frame back then. Resolves to false if the writer has ended before.
   * If the wait is given up, the bytes still come, so the next call names the same place.
   */
  readonly fetch?: (into: number, signal: AbortSignal | undefined) => Promise<boolean>;
}
