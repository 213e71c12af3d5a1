/**
 * What the programs of the rows may use beside the public entry points.
 *
 * @module
 */
import { type Fence, host, type ImageInfo, imageInfo, InteropError } from "@samepage/interop";
import { LocalMemory, OpenCLContext, type OpenCLKernel } from "@samepage/interop/opencl";
import { report } from "./perform.ts";

export { collect } from "../gc.ts";

/** A kind of error, whatever its constructor takes. */
type Kind = abstract new (...args: never[]) => Error;

/** Opens the device of the driver that this run is for. */
export function open(): OpenCLContext {
  return OpenCLContext.open({ platform: Deno.args[1] });
}

/** A context, and a kernel with arguments that fit it. */
export interface KernelBench {
  readonly cl: OpenCLContext;
  /** `kernel void k(global int* o, int n, float4 v, local int* l)`, which writes `n` to `o`. */
  readonly k: OpenCLKernel;
  readonly good: readonly never[];
}

/** A program that has a kernel. */
export function withKernel(use: (bench: KernelBench) => unknown): () => void {
  return () => {
    using cl = open();
    using program = cl.program(
      "kernel void k(global int* o, int n, float4 v, local int* l) { o[get_global_id(0)] = n; }",
    );
    using o = cl.allocate({ shape: [64], dtype: "i32" });
    const good = [o, 1, [1, 2, 3, 4], new LocalMemory(16)] as readonly unknown[] as readonly never[];
    use({ cl, k: program.kernel("k"), good });
    cl.queue.finish();
  };
}

/** What a caller without types can pass. */
export function any<T = never>(value: unknown): T {
  return value as T;
}

/** Says something for the row's `says`. */
export function say(...words: unknown[]): void {
  report.said.push(words.join(" "));
}

/** What a row's own promise rejects with; it comes back as it is. */
export class OwnError extends Error {}

/** Throws unless an error is typed, or the program's own, and of one of these kinds where some are named. */
export function judge(what: string, error: unknown, kinds: readonly Kind[] = []): void {
  const told = error instanceof Error ? `${error.constructor.name}: ${error.message}` : String(error);
  if (!(error instanceof InteropError || error instanceof OwnError)) {
    throw new Error(`${what}: untyped ${told}`, { cause: error });
  }
  if (kinds.length > 0 && !kinds.some((kind) => error.constructor === kind)) throw new Error(`${what}: ${told}`);
  report.caught.push(error.constructor.name);
  if (error instanceof InteropError && error.codeName !== undefined) report.caught.push(error.codeName);
}

/** Wants a typed error, of one of these kinds where some are named; returns it. */
export function fails(what: string, action: () => unknown, ...kinds: readonly Kind[]): InteropError {
  try {
    action();
  } catch (error) {
    judge(what, error, kinds);
    return error as InteropError;
  }
  throw new Error(`${what}: no error`);
}

/** Wants success or a typed error; returns what came of it. */
export function safe<T>(what: string, action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    judge(what, error);
  }
}

/** The same of a promise. */
export async function safely<T>(what: string, promise: Promise<T>): Promise<T | undefined> {
  return await promise.catch((error) => judge(what, error) as undefined);
}

/** Tries something; returns `"ok"`, or the error's class with the argument at fault, or its code. */
export function outcome(action: () => unknown): string {
  try {
    action();
    return "ok";
  } catch (error) {
    return inShort(error);
  }
}

/** The same of a promise. */
export async function settled(promise: Promise<unknown>): Promise<string> {
  return await promise.then(() => "ok", inShort);
}

function inShort(error: unknown): string {
  judge("outcome", error);
  const { constructor, argument, codeName } = error as InteropError;
  return [constructor.name, argument ?? codeName].filter((word) => word !== undefined).join(" ");
}

/** Throws unless two values are the same. */
export function same(what: string, actual: unknown, expected: unknown): void {
  if (!Object.is(actual, expected)) throw new Error(`${what}: ${String(actual)} in place of ${String(expected)}`);
}

/** Lets the event loop turn. */
export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Numbers at random, the same for each seed: whole, from 0 to below a limit. */
export function randomOf(seed: number): (below: number) => number {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ seed >>> 15, 1 | seed);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) % below;
  };
}

/** Grey pixels. */
export function grey(width: number, height: number): ImageInfo {
  return imageInfo({ format: "GRAY8", width, height });
}

/** A promise that a row settles, and its fence. */
export interface Opening extends Disposable {
  /** Reached once it is settled. */
  readonly fence: Fence;
  /** Lets the work behind it run. */
  complete(): Promise<void>;
  /** Fails the work behind it. */
  fail(error?: unknown): Promise<void>;
}

/** One that is not settled yet; its dispose fails it. */
export function opening(): Opening {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fence = host.signal(promise);
  const settled = () => fence.wait().catch(() => {});
  return {
    fence,
    complete: () => (resolve(), settled()),
    fail: (error: unknown = new OwnError("the program failed it")) => (reject(error), settled()),
    [Symbol.dispose]: () => reject(new OwnError("nobody settled it")),
  };
}
