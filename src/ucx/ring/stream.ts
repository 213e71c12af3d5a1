import { ECONNRESET } from "../../../ffi/libc/errors.ts";
import { badMessage } from "../../channel/errors.ts";
import type { NativeCallError } from "../../core/errors.ts";
import { errnoError } from "../../core/native/libc.ts";
import { API } from "../library.ts";

/** What the two sides of a ring agree over: a Deno connection, by TCP, TLS or a Unix socket. */
export type Conn = Pick<Deno.Conn, "read" | "write" | "close">;

const LENGTH_BYTES = 4;

/** How a connection of Deno's says that the other side has gone, without a last word as TLS has one. */
const ENDS = [
  Deno.errors.ConnectionReset,
  Deno.errors.ConnectionAborted,
  Deno.errors.BrokenPipe,
  Deno.errors.UnexpectedEof,
];

const BOTH_BY_TLS = "Do both sides use TLS, and does this one trust the writer's certificate?";

/** Whole messages over a connection, each with its length before it. */
export class Stream {
  readonly #conn: Conn;
  readonly #chunk: Uint8Array<ArrayBuffer> = new Uint8Array(65_536);
  #unread: Uint8Array<ArrayBuffer> = new Uint8Array();
  #isClosed = false;

  constructor(conn: Conn) {
    this.#conn = conn;
  }

  /** The next message. @throws {MessageError} if it is longer than `most` bytes, or TLS refuses it. @throws as {@link some}, and where it has ended. */
  async receive(most: number): Promise<Uint8Array<ArrayBuffer>> {
    const length = new DataView((await this.#exactly(LENGTH_BYTES)).buffer).getUint32(0, true);
    if (length > most) throw badMessage("length", `expected at most ${most} bytes, got ${length}.`);
    return await this.#exactly(length);
  }

  /** @throws {NativeCallError} ECONNRESET if the other side has ended. */
  async send(message: Uint8Array): Promise<void> {
    const bytes = new Uint8Array(LENGTH_BYTES + message.length);
    new DataView(bytes.buffer).setUint32(0, message.length, true);
    bytes.set(message, LENGTH_BYTES);
    for (let at = 0; at < bytes.length;) at += await this.#conn.write(bytes.subarray(at)).catch(raise);
  }

  /**
   * What has come, and was not read yet, or comes next; undefined once the other side has ended.
   *
   * @throws {NativeCallError} ECONNRESET where it has left bytes unread.
   */
  async some(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (this.#unread.length > 0) {
      const unread = this.#unread;
      this.#unread = new Uint8Array();
      return unread;
    }
    const count = await this.#conn.read(this.#chunk).catch(raise);
    return count === null ? undefined : this.#chunk.slice(0, count);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#conn.close();
  }

  async #exactly(count: number): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for (let left = count; left > 0;) {
      const part = await this.some();
      if (part === undefined) throw ended();
      parts.push(part.subarray(0, left));
      this.#unread = part.subarray(left);
      left -= Math.min(left, part.length);
    }
    return joinedBytes(parts, count);
  }
}

function raise(error: unknown): never {
  if (error instanceof Deno.errors.InvalidData) throw badMessage("tls", `${error.message}. ${BOTH_BY_TLS}`, error);
  throw ENDS.some((type) => error instanceof type) ? ended(error) : error;
}

function ended(cause?: unknown): NativeCallError {
  const hint = "The other side ended before it had said all, or turned this process away: then its warning says why.";
  return errnoError(API, ECONNRESET, "the handshake of a ring", hint, { cause });
}

function joinedBytes(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
