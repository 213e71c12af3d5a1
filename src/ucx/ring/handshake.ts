/**
 * Who may come to a ring, and what its two sides say before the first frame.
 *
 * @module
 */
import { badMessage } from "../../channel/errors.ts";
import { decimal, oneOf, record, text, whole } from "../../channel/fields.ts";
import { jsonIn } from "../../channel/message.ts";
import { FORMAT } from "../../channel/ring/notice.ts";
import { wrongInAddress } from "../ticket.ts";
import type { Tags } from "./link.ts";
import type { Bytes } from "./messages.ts";
import type { Stream } from "./stream.ts";

/** The key of a secret. */
export type Secret = Promise<CryptoKey>;

const HMAC = { name: "HMAC", hash: "SHA-256" };
const NONCE_BYTES = 32;
const MAC_BYTES = 32;

/** The shortest time after which a side gives the other one up. */
export const SHORTEST_MS = 100;

/** A worker's address has some 50 bytes a transport. */
const LONGEST_ADDRESS = 16_384;
const LONGEST_HELLO = 2 * LONGEST_ADDRESS;

export function secretOf(bytes: Bytes): Secret {
  return crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign", "verify"]);
}

/** A reader's proof comes first: who does not know the secret learns nothing that depends on it. */
const PROOFS = ["reader", "writer"] as const;

/** Throws unless the other side knows the secret, which does not travel. @throws {MessageError} */
export async function assertKnown(stream: Stream, secret: Secret, side: (typeof PROOFS)[number]): Promise<void> {
  const key = await secret;
  const own = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  await stream.send(own);
  const theirs = await exactly(stream, NONCE_BYTES, "nonce");
  for (const proof of PROOFS) {
    const isOwn = proof === side;
    const [by, to] = isOwn ? [own, theirs] : [theirs, own];
    const claim = new Uint8Array([...new TextEncoder().encode(`samepage ring ${FORMAT} ${proof} `), ...by, ...to]);
    if (isOwn) await stream.send(new Uint8Array(await crypto.subtle.sign(HMAC, key, claim)));
    else if (!await crypto.subtle.verify(HMAC, key, await proofOf(proof, stream), claim)) {
      throw badMessage("proof", `the ${proof} does not know the secret.`);
    }
  }
}

/** A writer that does not take a reader's proof closes the connection, and says nothing. */
async function proofOf(by: (typeof PROOFS)[number], stream: Stream): Promise<Bytes> {
  try {
    return await exactly(stream, MAC_BYTES, "proof");
  } catch (cause) {
    if (by === "reader") throw cause;
    throw badMessage("secret", "the writer turned this reader away. Pass the secret that the writer has.", cause);
  }
}

async function exactly(stream: Stream, length: number, what: string): Promise<Bytes> {
  const bytes = await stream.receive(length);
  if (bytes.length === length) return bytes;
  throw badMessage(what, `expected ${length} bytes, got ${bytes.length}.`);
}

/** What each side sends about itself. */
export interface Side {
  /** Where its worker is. */
  readonly worker: Bytes;
  /** True if its frames are not the CPU's memory, and so do not come inside of notices. */
  readonly isApart: boolean;
  /** After how many milliseconds without a sign of life it gives the other side up. */
  readonly timeout: number;
}

/** A reader also sends the tags of messages in both directions, which only the two sides know. */
export interface Hello extends Side {
  readonly tags: Tags;
}

const TAGS = ["sends", "takes", "frames"] as const;
const SIDE = ["worker", "apart", "timeout"] as const;

export function helloOf(side: Side): Hello {
  const [sends, takes, frames] = crypto.getRandomValues(new BigUint64Array(TAGS.length));
  return { ...side, tags: { sends, takes, frames } };
}

export async function sendHello(stream: Stream, hello: Hello): Promise<void> {
  const { sends, takes, frames } = hello.tags;
  await sendJson(stream, {
    ...bodyOf(hello),
    sends: `${sends}`,
    takes: `${takes}`,
    frames: `${frames}`,
    notices: FORMAT,
  });
}

/** The writer's message after its frames. */
export async function sendSide(stream: Stream, side: Side): Promise<void> {
  await sendJson(stream, bodyOf(side));
}

function bodyOf({ worker, isApart, timeout }: Side): Record<(typeof SIDE)[number], unknown> {
  return { worker: worker.toBase64(), apart: isApart, timeout };
}

async function sendJson(stream: Stream, body: unknown): Promise<void> {
  await stream.send(new TextEncoder().encode(JSON.stringify(body)));
}

/** @throws {MessageError} if it is anything else. */
export async function receiveHello(stream: Stream): Promise<Hello> {
  return helloIn(await stream.receive(LONGEST_HELLO));
}

export function helloIn(bytes: Bytes): Hello {
  const body = record(jsonIn(bytes), "hello", [...SIDE, ...TAGS, "notices"]);
  if (body.notices !== FORMAT) throw badMessage("notices", `expected ${FORMAT}: let both sides have one version.`);
  const [sends, takes, frames] = TAGS.map((name) => decimal(body[name], "tag", "unsigned"));
  if (new Set([sends, takes, frames]).size < TAGS.length) throw badMessage("tag", "two are the same.");
  return { ...partsIn(body), tags: { sends, takes, frames } };
}

/** @throws {MessageError} if it is anything else. */
export async function receiveSide(stream: Stream): Promise<Side> {
  return partsIn(record(jsonIn(await stream.receive(LONGEST_HELLO)), "writer", SIDE));
}

function partsIn({ worker, apart, timeout }: Readonly<Record<string, unknown>>): Side {
  return {
    worker: workerIn(worker),
    isApart: oneOf(apart, "apart", [true, false]),
    timeout: whole(timeout, "timeout", SHORTEST_MS),
  };
}

function workerIn(given: unknown): Bytes {
  try {
    return addressIn(Uint8Array.fromBase64(text(given, "worker", LONGEST_HELLO)));
  } catch (cause) {
    if (cause instanceof SyntaxError) throw badMessage("worker", "expected base64.", cause);
    throw cause;
  }
}

/** The address of a worker, as far as it can be checked. @throws {MessageError} */
function addressIn(bytes: Bytes): Bytes {
  if (bytes.length === 0 || bytes.length > LONGEST_ADDRESS) {
    throw badMessage("worker", `expected 1 to ${LONGEST_ADDRESS} bytes, got ${bytes.length}.`);
  }
  const wrong = wrongInAddress(bytes);
  if (wrong !== undefined) throw badMessage("worker", wrong);
  return bytes;
}
