import { crc32, fnv1a } from "./checksum.ts";

/*
 * The bytes: MAGIC, u32 version, u32 length of the header, the header (JSON), the parts in its order, and u32 CRC-32 and
 * u32 FNV-1a of all before. Numbers are little-endian.
 */
const MAGIC = new TextEncoder().encode("samepage");
const HEADER_AT = MAGIC.length + 8;
const CHECKSUMS = 8;

/** A kind of bytes that samepage gives out, and takes back from any source. */
export interface EnvelopeKind<H> {
  /** The format's version: bytes of another are refused. */
  readonly version: number;
  /** What errors call it: `"a binary of a samepage program"`. */
  readonly what: string;
  /** True for a valid header, which a checksum does not prove: anyone can write one. */
  isHeader(value: unknown): value is H;
  /** The error for unusable bytes: `what` is a sentence about them. */
  damaged(what: string): Error;
}

export interface Unsealed<H> {
  readonly header: H;
  /** All parts, one after the other. */
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** Packs a header and parts, so that a change to any byte is noticed. */
export function sealed<H>(
  { version }: EnvelopeKind<H>,
  header: H,
  parts: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
  const bytes = new Uint8Array(HEADER_AT + text.length + length + CHECKSUMS);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint32(MAGIC.length, version, true);
  view.setUint32(MAGIC.length + 4, text.length, true);
  let at = HEADER_AT;
  for (const part of [text, ...parts]) {
    bytes.set(part, at);
    at += part.length;
  }
  const checked = bytes.subarray(0, at);
  view.setUint32(at, crc32(checked), true);
  view.setUint32(at + 4, fnv1a(checked), true);
  return bytes;
}

/** Unpacks what was sealed. @throws the kind's `damaged` error if any byte is missing or was changed. */
export function unsealed<H>(kind: EnvelopeKind<H>, bytes: Uint8Array<ArrayBuffer>): Unsealed<H> {
  const { version, what, damaged } = kind;
  if (bytes.length < HEADER_AT + CHECKSUMS || MAGIC.some((byte, i) => byte !== bytes[i])) {
    throw damaged(`it is not ${what}.`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const format = view.getUint32(MAGIC.length, true);
  if (format !== version) throw damaged(`it has format ${format}, and this samepage reads format ${version}.`);
  const end = bytes.length - CHECKSUMS;
  const checked = bytes.subarray(0, end);
  if (view.getUint32(end, true) !== crc32(checked) || view.getUint32(end + 4, true) !== fnv1a(checked)) {
    throw damaged("it is cut short, or some of its bytes were changed.");
  }
  const begin = HEADER_AT + view.getUint32(MAGIC.length + 4, true);
  if (begin > end) throw damaged("its header reaches past its end.");
  return { header: headerIn(kind, bytes.subarray(HEADER_AT, begin)), payload: bytes.slice(begin, end) };
}

function headerIn<H>({ isHeader, damaged }: EnvelopeKind<H>, bytes: Uint8Array): H {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw damaged("its header is not JSON.");
  }
  if (isHeader(header)) return header;
  throw damaged("its header is not one of samepage's.");
}

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isList(value: unknown, isItem: (item: unknown) => boolean): value is readonly unknown[] {
  return Array.isArray(value) && value.every(isItem);
}
