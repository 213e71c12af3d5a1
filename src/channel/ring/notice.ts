/**
 * The notices that the writer and the readers of a ring send each other: 24 bytes, little-endian, and behind them the
 * facts about a published frame, if there are any. docs/guides/between-processes.md has the format.
 *
 * @module
 */
import { ECONNRESET, EPIPE } from "../../../ffi/libc/errors.ts";
import { NativeCallError } from "../../core/errors.ts";
import { badMessage } from "../errors.ts";
import type { Look } from "../packet.ts";
import { type Facts, factsIn } from "./facts.ts";
import type { Link } from "./link.ts";

/** A frame can be read; a reader has finished with it; a reader keeps frames, this one as the newest, and waits for more. */
export const NOTICES = { published: 1, released: 2, wanted: 3 } as const;

/** The version of this format: the ring's first message names it. */
export const FORMAT = 3;

/** The length of a notice without facts. */
export const NOTICE_BYTES = 24;

const [KIND_AT, INDEX_AT, SEQUENCE_AT, TIMESTAMP_AT] = [0, 4, 8, 16];

/** Stands for no timestamp on the wire. */
const NO_TIMESTAMP = -(2n ** 63n);

/** What a writer does when no frame is free. */
export type WhenFull = "wait" | "drop-oldest";

/** How many of so many frames readers may hold: a writer that does not wait for them keeps one to fill. */
export function mostHeld(frames: number, whenFull: WhenFull): number {
  return whenFull === "wait" ? frames : frames - 1;
}

export interface Notice {
  readonly index: number;
  /** The number of the turn: each published frame has the next. */
  readonly sequence: number;
  readonly timestamp: bigint | undefined;
  /** Other facts about the frame, encoded. */
  readonly facts?: Uint8Array | undefined;
}

export interface ReceivedNotice extends Omit<Notice, "facts"> {
  readonly kind: number;
  readonly known: Facts | undefined;
}

/** True for the errors by which one side notices that the other has ended. */
export function isEnd(error: unknown): boolean {
  return error instanceof NativeCallError && (error.code === EPIPE || error.code === ECONNRESET);
}

export function isTimestamp(value: unknown): value is bigint {
  return typeof value === "bigint" && BigInt.asIntN(64, value) === value && value !== NO_TIMESTAMP;
}

/** Notices are written one after the other, in the same bytes. */
const scratch = new DataView(new ArrayBuffer(NOTICE_BYTES));
const scratchBytes = new Uint8Array(scratch.buffer);

export function encodedNotice(kind: number, notice: Notice): Uint8Array {
  return written(kind, notice).slice();
}

/** Notifies the other side, at once if there is room. If that fails, `onFailure` is called a little later. */
export function notify(
  link: Link,
  kind: number,
  notice: Notice,
  onFailure: (error: unknown) => void,
): void {
  try {
    if (link.sendNow(written(kind, notice), kind === NOTICES.published ? notice.index : undefined)) return;
    link.send(encodedNotice(kind, notice)).catch(onFailure);
  } catch (error) {
    queueMicrotask(() => onFailure(error));
  }
}

/** Looks at a message that has to be a notice of one of these kinds; throws a {@link MessageError} if it is not. */
export function noticeOf(kinds: readonly number[]): Look<ReceivedNotice> {
  return (data, byteLength, fds) => {
    if (fds.length > 0) throw badMessage("fds", `expected 0, got ${fds.length}.`);
    if (byteLength < NOTICE_BYTES) throw badMessage("notice", `expected ${NOTICE_BYTES} bytes, got ${byteLength}.`);
    const kind = data.getUint32(KIND_AT, true);
    if (!kinds.includes(kind)) throw badMessage("notice", `expected kind ${kinds.join(" or ")}, got ${kind}.`);
    if (byteLength > NOTICE_BYTES && kind !== NOTICES.published) {
      throw badMessage("notice", `expected ${NOTICE_BYTES} bytes, got ${byteLength}.`);
    }
    const upper = data.getUint32(SEQUENCE_AT + 4, true);
    if (upper >= 2 ** 21) throw badMessage("sequence", "expected a number below 2^53.");
    const sequence = upper * 2 ** 32 + data.getUint32(SEQUENCE_AT, true);
    const known = byteLength === NOTICE_BYTES
      ? undefined
      : factsIn(new Uint8Array(data.buffer, data.byteOffset + NOTICE_BYTES, byteLength - NOTICE_BYTES));
    return { kind, index: data.getUint32(INDEX_AT, true), sequence, timestamp: timestampIn(data), known };
  };
}

/** Most frames have no timestamp: no bigint is made for them. */
function timestampIn(data: DataView): bigint | undefined {
  if (data.getUint32(TIMESTAMP_AT, true) === 0 && data.getUint32(TIMESTAMP_AT + 4, true) === 2 ** 31) return undefined;
  return data.getBigInt64(TIMESTAMP_AT, true);
}

function written(
  kind: number,
  { index, sequence, timestamp = NO_TIMESTAMP, facts }: Notice,
): Uint8Array<ArrayBuffer> {
  scratch.setUint32(KIND_AT, kind, true);
  scratch.setUint32(INDEX_AT, index, true);
  scratch.setUint32(SEQUENCE_AT, sequence, true); // its lower half
  scratch.setUint32(SEQUENCE_AT + 4, sequence / 2 ** 32, true);
  scratch.setBigInt64(TIMESTAMP_AT, timestamp, true);
  if (facts === undefined) return scratchBytes;
  const whole = new Uint8Array(NOTICE_BYTES + facts.length);
  whole.set(scratchBytes);
  whole.set(facts, NOTICE_BYTES);
  return whole;
}
