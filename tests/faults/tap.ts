/**
 * Native calls that fail when a test says so. {@linkcode installTap} has to run before a library is opened, which
 * importing samepage does not do.
 *
 * @module
 */
import { setTap } from "../../src/core/native/library.ts";
import { type Failure, FAILURES } from "./failures.ts";
import { TABLES } from "./tables.ts";

// deno-lint-ignore no-explicit-any -- a native function of any signature
type Native = (...args: any[]) => any;

/** The `nonblocking` functions, which return promises. */
const NONBLOCKING: ReadonlySet<string> = new Set(
  Object.values(TABLES).flatMap((symbols) => Object.entries(symbols))
    .filter(([, symbol]) => "nonblocking" in symbol).map(([name]) => name),
);

/** errno, by a libc of its own: the library's may be open before there is a tap. */
const { __errno_location: errno } = Deno.dlopen("libc.so.6", {
  __errno_location: { parameters: [], result: "u64" },
}).symbols;
let counting = false;
/** Every call so far, counted or not. */
let total = 0;
/** How often each function was called since counting began. */
let calls = new Map<string, number>();
let due: Due | undefined;
let failed: string | undefined;
let last: string | undefined;

/**
 * Whether a call is to fail, `"opencl.clCreateBuffer"`, `"dmabuf.ioctl(SYNC_IOC_MERGE)"`; of the calls of this function it is the `nth`, from 1. `place`
 * returns where it is made: the lines of the functions of samepage's that called each other.
 */
export type Due = (call: string, nth: number, place: () => string) => boolean;

/** Puts counting functions in the place of every library's own, from now on. */
export function installTap(): void {
  setTap(tapped);
}

/** The same functions, but that they are counted, and fail when it is their turn. */
export function tapped(api: string, functions: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(functions).map(([name, real]) => {
    const failure = FAILURES[api]?.[name];
    if (FAILURES[api] === undefined || !(name in FAILURES[api])) {
      throw new Error(`${api}.${name} is not in failures.ts`);
    }
    if (failure === undefined || typeof real !== "function") return [name, real];
    return [name, tap(api, name, real as Native, failure)];
  });
  return Object.fromEntries(entries);
}

function tap(api: string, fn: string, real: Native, failure: Failure): Native {
  const nonblocking = NONBLOCKING.has(fn);
  return (...args) => {
    total++;
    if (!counting) return real(...args);
    const name = failure.what === undefined ? `${api}.${fn}` : `${api}.${fn}(${failure.what(...args)})`;
    const again = failure.poll === true && name === last;
    last = name;
    if (again) return real(...args);
    const nth = (calls.get(name) ?? 0) + 1;
    calls.set(name, nth);
    if (failed !== undefined || due === undefined || !due(name, nth, placeOf)) return real(...args);
    failed = name;
    if (failure.throws !== undefined) throw failure.throws(fn);
    const released = failure.release ? real(...args) : undefined;
    failure.also?.(...args);
    if (failure.errcode !== undefined) new Int32Array(args[args.length - 1].buffer)[0] = failure.errcode;
    if (failure.errno !== undefined) setErrno(failure.errno);
    if (!nonblocking) return failure.result;
    // A result before the other thread has given it back would have the program give it back a second time meanwhile.
    return Promise.resolve(released).then(() => failure.result);
  };
}

/** Where in src/ the program is. Deno takes tenths of a millisecond for a stack: it is asked for where it decides. */
function placeOf(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 50;
  const { stack } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  return stack!.split("\n").filter((line) => line.includes("/src/")).join("\n");
}

function setErrno(code: number): void {
  const pointer = Deno.UnsafePointer.create(errno())!;
  new Int32Array(Deno.UnsafePointerView.getArrayBuffer(pointer, 4))[0] = code;
}

/** How many native calls there have been. */
export function nativeCalls(): number {
  return total;
}

/** Native calls of one operation, counted. */
export class Counted implements Disposable {
  /** From now on; the first call that is due fails, and no other. */
  constructor(fails?: Due) {
    counting = true;
    calls = new Map();
    due = fails;
    failed = last = undefined;
  }

  /** How many there were. */
  get calls(): number {
    return calls.values().reduce((sum, count) => sum + count, 0);
  }

  /** Which one was made to fail: `"opencl.clCreateBuffer"`. */
  get failed(): string | undefined {
    return failed;
  }

  /** Counts no longer. */
  [Symbol.dispose](): void {
    counting = false;
  }
}
