/**
 * Where the two sides of a ring meet: sockets that the program makes, or TCP with a secret.
 *
 * @module
 */
import { literal, type Names, optionsIn } from "../../core/argument.ts";
import { unlessAborted } from "../../core/device/fence.ts";
import { ArgumentError } from "../../core/errors.ts";
import { errnoError, type Hints } from "../../core/native/libc.ts";
import {
  EADDRINUSE,
  EADDRNOTAVAIL,
  ECONNREFUSED,
  EHOSTUNREACH,
  ENETUNREACH,
  ENOENT,
  ERROR_NAMES,
  ETIMEDOUT,
} from "../../../ffi/libc/errors.ts";
import { UCS_ERR_TIMED_OUT } from "../../../ffi/ucx/errors.ts";
import { API, checks, ucxError } from "../library.ts";
import { assertKnown, type Secret, secretOf, SHORTEST_MS } from "./handshake.ts";
import { type Conn, Stream } from "./stream.ts";

/** What gives a ring's writer those who connect to it: a Deno listener. */
export interface UcxListener {
  /** The next one that connects. */
  accept(): Promise<Conn>;
  /** Ends it: `accept` rejects. */
  close(): void;
}

/** Options of {@link UcxContext.rings}. */
export interface UcxRingsOptions {
  /**
   * What both sides know, 16 bytes or more: each has to prove that it knows the secret, which does not travel. Without
   * sockets of the program's they meet by TCP at `"host:port"`; a port alone is one of 127.0.0.1.
   */
  readonly secret?: string | Uint8Array;
  /** Makes what a writer listens at: TLS, or a Unix socket. Without a secret, each reader that connects is let in. */
  readonly listen?: (address: string) => UcxListener;
  /** Makes a reader's connection. */
  readonly connect?: (address: string) => Promise<Conn>;
  /**
   * Milliseconds without a sign of life after which the other side is given up, 10,000 by default. A writer has its frames
   * back then; a reader's `next()` throws. A shorter interruption of the network goes unnoticed. Both sides send a sign of
   * life four times in the shorter of their two timeouts.
   */
  readonly timeout?: number;
}

const NAMES: Names<UcxRingsOptions> = { secret: true, listen: true, connect: true, timeout: true };

const MIN_SECRET = 16;
const [LONGEST_MS, TIMEOUT_MS] = [3_600_000, 10_000];

/** How the sides of rings meet. */
export interface Meeting {
  readonly timeout: number;
  listen(address: string): UcxListener;
  connect(address: string): Promise<Conn>;
  /** Throws unless the other side may come. */
  admit(stream: Stream, side: "reader" | "writer"): Promise<void>;
}

/** How the sides of rings meet, as a program says it. @throws {ArgumentError} */
export function meetingIn(options: UcxRingsOptions): Meeting {
  const { secret, listen, connect, timeout = TIMEOUT_MS } = optionsIn(options, NAMES);
  checks.assertInteger(timeout, "timeout", SHORTEST_MS, LONGEST_MS);
  for (const [name, given] of Object.entries({ listen, connect })) {
    if (given !== undefined && typeof given !== "function") throw checks.wrongKind(name, "a function", given);
  }
  const isOwn = listen !== undefined || connect !== undefined;
  if (!isOwn && secret === undefined) throw checks.wrong("options", "expected a secret or sockets, got neither.", WHO);
  const key = secret === undefined ? undefined : keyIn(secret);
  return {
    timeout,
    listen: (address) => isOwn ? made("listen", listen, address) : Deno.listen(placeIn(address)),
    connect: async (address) => await (isOwn ? made("connect", connect, address) : Deno.connect(placeIn(address))),
    admit: async (stream, side) => {
      if (key !== undefined) await assertKnown(stream, key, side);
    },
  };
}

const WHO =
  "UCX itself does not ask who comes: pass { secret }, or { listen, connect } that make Deno's TLS or Unix sockets.";

function keyIn(secret: string | Uint8Array): Secret {
  const bytes = typeof secret === "string"
    ? new TextEncoder().encode(secret)
    : checks.bytesIn(secret, "secret", "a string or bytes").slice();
  if (bytes.length >= MIN_SECRET) return secretOf(bytes);
  throw checks.wrong("secret", `expected ${MIN_SECRET} bytes or more, got ${bytes.length}.`, "Let it be random.");
}

/** `"7000"`, `":7000"` or `"10.0.0.1:7000"`. */
function placeIn(address: string): { readonly hostname: string; readonly port: number } {
  const [, hostname, port] = /^(?:\[?([^\]]*?)\]?:)?(\d{1,5})$/.exec(address) ?? [];
  if (port !== undefined && Number(port) < 65_536) return { hostname: hostname || "127.0.0.1", port: Number(port) };
  throw checks.wrong("address", `expected "host:port", or a port of 127.0.0.1, got "${address}".`);
}

function made<T>(name: string, make: ((address: string) => T) | undefined, address: string): T {
  if (make !== undefined) return make(address);
  throw checks.wrong(name, `it is missing, and without it there is no way to ${name}.`, WHO);
}

/** Deno's errors of sockets as those of the system's calls, as a ring by fds throws them. */
export function socketError(error: unknown, fn: string, address: string): unknown {
  if (!(error instanceof Error)) return error;
  const { code: name } = error as Error & { readonly code?: unknown };
  if (error.message.startsWith(NO_HOST)) return noHost(address, fn, error);
  const code = [...ERROR_NAMES].find(([, one]) => one === name)?.[0];
  if (code === undefined) return error;
  return errnoError(API, code, fn, hintsAt(address), { cause: error });
}

/** How Deno's message of a failed lookup begins. Its error has no class and no code of its own. */
const NO_HOST = "failed to lookup address information";

function noHost(address: string, fn: string, cause: Error): ArgumentError {
  const hint = "Is the name right, and does this machine reach its name server?";
  const what = `address: this machine finds no host for ${literal(address)}.`;
  return new ArgumentError(what, { api: API, fn, argument: "address", hint, cause });
}

function hintsAt(address: string): Hints {
  const isThere = `Does the ring's writer listen at ${address}? Start it first.`;
  const isOpen = `${isThere} A writer at a port alone listens at 127.0.0.1.`;
  const isFar = `No route leads from this machine to ${address}: is the address right, and the network up?`;
  return {
    [ECONNREFUSED]: /.:\d+$/.test(address) ? isOpen : isThere,
    [ENOENT]: isThere,
    [EADDRINUSE]: `Another socket listens at ${address}: end its process, or choose another address.`,
    [EADDRNOTAVAIL]: `A writer listens at an address of its own machine, which ${address} is not.`,
    [EHOSTUNREACH]: isFar,
    [ENETUNREACH]: isFar,
    [ETIMEDOUT]: `Can this machine reach ${address}? A firewall may stand between.`,
  };
}

/** Has both sides agree in time; closes the connection if they do not, also where it comes later. */
export async function agreedInTime<R>(
  coming: Promise<Conn>,
  timeout: number,
  signal: AbortSignal | undefined,
  agree: (stream: Stream, over: AbortSignal) => Promise<R>,
): Promise<R> {
  const late = AbortSignal.timeout(timeout);
  const over = signal === undefined ? late : AbortSignal.any([signal, late]);
  const opened = coming.then((conn) => new Stream(conn));
  const close = () => void opened.then((stream) => stream.close(), () => {});
  over.addEventListener("abort", close);
  try {
    return await agree(await unlessAborted(opened, over), over);
  } catch (error) {
    close();
    signal?.throwIfAborted();
    throw late.aborted ? ucxError(UCS_ERR_TIMED_OUT, "the handshake of a ring", { cause: error }) : error;
  } finally {
    over.removeEventListener("abort", close);
  }
}
