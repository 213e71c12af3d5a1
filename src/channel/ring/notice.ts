/**
 * What writer and readers of a ring tell each other: 24 bytes, little-endian. docs/guides/between-processes.md has the
 * format.
 *
 * @module
 */
import { ECONNRESET, EPIPE } from "../../../ffi/libc/errors.ts";
import { NativeCallError } from "../../core/errors.ts";
import { badMessage } from "../errors.ts";
import type { Packet } from "../packet.ts";

/**
 * What a notice says: that a frame can be read; that its reader has finished; that a reader keeps frames, this one as the
 * newest, and waits for one more.
 */
export const NOTICES = { published: 1, released: 2, wanted: 3 } as const;

const BYTES = 24;

/** On the wire, that there is no timestamp. */
const NO_TIMESTAMP = -(2n ** 63n);

/** What a writer does when no frame is free. */
export type WhenFull = "wait" | "drop-oldest";

/** How many of so many frames readers may hold: one that may not wait for them has to keep one to fill. */
export function mostHeld(frames: number, whenFull: WhenFull): number {
  return whenFull === "wait" ? frames : frames - 1;
}

/** One frame, in one turn. */
export interface Notice {
  /** Which of the ring's frames. */
  readonly index: number;
  /** The number of the turn: each published frame has the next. */
  readonly sequence: number;
  /** Its timestamp, in nanoseconds. */
  readonly timestamp: bigint | undefined;
}

/** Is it the error of a side that finds that the other has ended? */
export function isEnd(error: unknown): boolean {
  return error instanceof NativeCallError && (error.code === EPIPE || error.code === ECONNRESET);
}

/** Can a notice hold it? */
export function isTimestamp(value: unknown): value is bigint {
  return typeof value === "bigint" && BigInt.asIntN(64, value) === value && value !== NO_TIMESTAMP;
}

/** The bytes of a notice. */
export function encodedNotice(kind: number, { index, sequence, timestamp = NO_TIMESTAMP }: Notice): Uint8Array {
  const view = new DataView(new ArrayBuffer(BYTES));
  view.setUint32(0, kind, true);
  view.setUint32(4, index, true);
  view.setBigUint64(8, BigInt(sequence), true);
  view.setBigInt64(16, timestamp, true);
  return new Uint8Array(view.buffer);
}

/** The notice in a message, and its kind. @throws {MessageError} if it is none of these kinds. */
export function noticeIn({ bytes, fds }: Packet, kinds: readonly number[]): Notice & { readonly kind: number } {
  using none = fds;
  if (none.length > 0) throw badMessage("fds", `expected 0, got ${none.length}.`);
  if (bytes.length !== BYTES) throw badMessage("notice", `expected ${BYTES} bytes, got ${bytes.length}.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, BYTES);
  const kind = view.getUint32(0, true);
  if (!kinds.includes(kind)) throw badMessage("notice", `expected kind ${kinds.join(" or ")}, got ${kind}.`);
  const sequence = Number(view.getBigUint64(8, true));
  if (!Number.isSafeInteger(sequence)) throw badMessage("sequence", "expected a number below 2^53.");
  const timestamp = view.getBigInt64(16, true);
  return {
    kind,
    index: view.getUint32(4, true),
    sequence,
    timestamp: timestamp === NO_TIMESTAMP ? undefined : timestamp,
  };
}
