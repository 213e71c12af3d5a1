/**
 * What a ring stands on: how its two sides reach each other. `by_fd.ts` does it on one machine, `src/ucx` between two.
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

/** A connection to the other side of a ring. It carries notices, in order. */
export interface Link {
  /** Its end of life, which the other side notices. */
  readonly resource: Resource;
  /** The other side, in words: `"process 4711"`. */
  readonly who: string;
  /** The other process, as the kernel reports it, if it is on this machine. */
  readonly credentials?: Credentials;
  /** Takes the next notice, if there is one: `"later"` if none has come yet, `"ended"` if none will. */
  take<T>(look: Look<T>): T | "later" | "ended";
  /** Waits until a notice can be taken, or until the other side has ended. */
  ready(readiness: Readiness, signal: AbortSignal | undefined): Promise<void>;
  /**
   * Sends a notice. Returns false, having done nothing, if it would have to wait. The notice of a published frame carries
   * that frame's bytes if the reader's memory is not the writer's.
   */
  sendNow(bytes: Uint8Array, published?: number): boolean;
  /** Sends a notice, and waits while there is no room for it. */
  send(bytes: Uint8Array): Promise<void>;
  /** Waits until this side can end: the other side has, or will get, all that it was notified of. */
  sent(signal: AbortSignal | undefined): Promise<void>;
}

/** A reader at a ring's door. */
export interface Arrival {
  /** Sends the ring's first message and its memory. Ends itself if it throws. */
  welcome(ring: Resource, beginning: Uint8Array<ArrayBuffer>): Promise<Link>;
}

/** Where a ring's writer listens. It holds the ring's memory in the form in which readers get it. */
export interface Door extends AsyncIterable<Arrival> {
  /** Its end of life, after which no reader can join. */
  readonly resource: Resource;
  /** Where it is: a path, an address. */
  readonly path: string;
}

/** A ring that was joined. */
export interface Joined<T extends Tensor | Frame> {
  readonly link: Link;
  readonly frames: readonly T[];
  readonly whenFull: WhenFull;
  /** For memory that is not the writer's own. */
  readonly fetch?: Fetch;
}

/**
 * How a reader gets the bytes of the frame that was announced last, and so gives the frame back to the writer. Places are
 * indexes of frames that the program does not hold.
 */
export interface Fetch {
  /** Puts bytes that came with the notice to a place. Returns false if they come by themselves. */
  unpack(place: number): boolean;
  /**
   * Brings bytes that come by themselves to the first of these places. Resolves to false if the writer has ended. The bytes
   * of later frames may go to the other places meanwhile, in order, so the next call has to begin with those; if the wait
   * is given up, it has to name all of them again.
   */
  bring(places: readonly number[], signal: AbortSignal | undefined): Promise<boolean>;
}
