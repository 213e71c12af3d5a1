/**
 * A message's bytes: a header of 16 bytes and a body of canonical JSON. docs/guides/between-processes.md has the format.
 *
 * @module
 */
import { messageOf } from "../core/errors.ts";
import { badMessage } from "./errors.ts";
import { LONGEST_BODY, MAX_FDS } from "./packet.ts";

export const KINDS = { memory: 1, ring: 2, port: 3 } as const;

/** `page` in ASCII. */
const MAGIC = 0x6567_6170;

const VERSION = 2;

const HEADER_BYTES = 16;

export interface Message {
  /** One of {@link KINDS}, or an unknown number. */
  readonly kind: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

export function encoded(kind: number, fds: number, body: unknown): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(JSON.stringify(body));
  assertLength(text.length);
  const bytes = new Uint8Array(HEADER_BYTES + text.length);
  const header = new DataView(bytes.buffer);
  header.setUint32(0, MAGIC, true);
  header.setUint8(4, VERSION);
  header.setUint8(5, kind);
  header.setUint16(6, fds, true);
  header.setUint32(8, text.length, true);
  bytes.set(text, HEADER_BYTES);
  return bytes;
}

export function decoded(bytes: Uint8Array<ArrayBuffer>, fds: number): Message {
  if (bytes.length < HEADER_BYTES) {
    throw badMessage("header", `expected ${HEADER_BYTES} bytes, got ${bytes.length}.`);
  }
  assertLength(bytes.length - HEADER_BYTES);
  const header = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  expect("magic", MAGIC, header.getUint32(0, true));
  expect("version", VERSION, header.getUint8(4));
  const count = header.getUint16(6, true);
  if (count > MAX_FDS) throw badMessage("fds", `expected at most ${MAX_FDS}, got ${count}.`);
  expect("fds", count, fds);
  expect("length", bytes.length - HEADER_BYTES, header.getUint32(8, true));
  expect("reserved", 0, header.getUint32(12, true));
  return { kind: header.getUint8(5), body: bytes.subarray(HEADER_BYTES) };
}

/**
 * The JSON of a body. It has to be exactly what `JSON.stringify` writes, which rules out two properties of one name,
 * numbers that JavaScript cannot hold, and white space.
 * @throws {MessageError} for anything else.
 */
export function jsonIn(body: Uint8Array<ArrayBuffer>): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    const value: unknown = JSON.parse(text);
    if (JSON.stringify(value) === text) return value;
  } catch (cause) {
    throw badMessage("body", `invalid JSON: ${messageOf(cause).slice(0, 100)}`, cause);
  }
  throw badMessage("body", "expected JSON as JSON.stringify writes it: each name once, numbers below 2^53, no spaces.");
}

/** @throws {MessageError} for a body that is too long. */
export function assertLength(byteLength: number): void {
  if (byteLength <= LONGEST_BODY) return;
  const what = `expected at most ${LONGEST_BODY} bytes, a frame's metadata included, got ${byteLength}.`;
  throw badMessage("body", `${what} Send longer results as a tensor.`);
}

function expect(argument: string, expected: number, given: number): void {
  if (given !== expected) throw badMessage(argument, `expected ${expected}, got ${given}.`);
}
