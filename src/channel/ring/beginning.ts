/**
 * The first message of a ring: how many frames follow, and by which rules they are passed on.
 *
 * @module
 */
import { literal } from "../../core/argument.ts";
import { badMessage } from "../errors.ts";
import { oneOf, record, whole } from "../fields.ts";
import { decoded, encoded, jsonIn, KINDS } from "../message.ts";
import { FORMAT, type WhenFull } from "./notice.ts";

export const MAX_FRAMES = 1024;

export interface Beginning {
  readonly count: number;
  readonly whenFull: WhenFull;
}

export function beginningOf({ count, whenFull }: Beginning): Uint8Array<ArrayBuffer> {
  return encoded(KINDS.ring, 0, { frames: count, whenFull, notices: FORMAT });
}

/** @throws {MessageError} if it is not the first message of a ring, or is one of another version. */
export function beginningIn(bytes: Uint8Array<ArrayBuffer>, fds: number): Beginning {
  const { kind, body } = decoded(bytes, fds);
  if (kind === KINDS.memory) {
    throw badMessage("kind", "this is a channel, not a ring: use connect() and peer.receive().");
  }
  if (kind !== KINDS.ring || fds > 0) throw badMessage("kind", `expected ${KINDS.ring}, a ring's, got ${kind}.`);
  const { frames, whenFull, notices } = record(jsonIn(body), "body", ["frames", "whenFull", "notices"]);
  if (notices !== FORMAT) {
    const what = `expected ${FORMAT}, got ${literal(notices)}.`;
    throw badMessage("notices", `${what} Writer and reader need the same version of samepage.`);
  }
  const count = whole(frames, "frames", 1);
  if (count > MAX_FRAMES) throw badMessage("frames", `expected at most ${MAX_FRAMES}, got ${count}.`);
  return { count, whenFull: oneOf(whenFull, "whenFull", ["wait", "drop-oldest"]) };
}
