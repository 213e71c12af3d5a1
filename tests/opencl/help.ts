/**
 * What the tests of OpenCL share: devices of this machine, kernels, memory behind the library's back.
 *
 * @module
 */
import { sleepSync } from "../../src/core/pace.ts";
import { assert, assertEquals, AssertionError } from "@std/assert";
import { ledger, LibraryNotFoundError, MapperGraph } from "@samepage/interop";
import { host, type HostTensor } from "@samepage/interop";
import {
  OpenCLContext,
  type OpenCLDevice,
  openclDevices,
  type OpenCLKernel,
  type OpenCLProgram,
} from "@samepage/interop/opencl";

export { collect } from "../gc.ts";
export { gate, Opening } from "../gate.ts";
export { warningsOf } from "../warnings.ts";

/** Part of the names of platforms that the tests call by a short one. */
const KNOWN = { pocl: "portable computing", rusticl: "rusticl", nvidia: "nvidia", intel: "intel(r) opencl" } as const;

/** A platform: its short name, or its own where it has none. */
export type Platform = keyof typeof KNOWN | (string & Record<never, never>);

/** Platforms whose device moves the bytes of host memory; all others use them in place. */
export const MIGRATING: readonly Platform[] = ["nvidia"];

/**
 * Why a platform is not asked what comes of work that fails; undefined where it can be. Intel's driver (2026.2) never runs
 * a command behind a user event that failed, and says CL_COMPLETE of it; out of order, it may end the process.
 */
export function whereWorkCannotFail(...platforms: readonly Platform[]): string | undefined {
  return platforms.includes("intel") ? "Intel's driver says that it is done" : undefined;
}

/** Why a platform is not asked about chains of aliases. A second map of what has a copy of its own can be refused. */
export function whereBytesMove(...platforms: readonly Platform[]): string | undefined {
  const moving = platforms.find((platform) => MIGRATING.includes(platform));
  return moving === undefined ? undefined : `${moving} moves the bytes`;
}

/** The first device of every platform that is here. */
const here: ReadonlyMap<Platform, OpenCLDevice> = devicesHere();

/** Those that every test wants, and whatever else is here. */
export const ALL: readonly Platform[] = [...new Set(["pocl", "rusticl", ...here.keys()])];

/** Those that are here. */
export const HERE: readonly Platform[] = [...here.keys()];

/** Each platform beside another one. */
export const PAIRS: readonly (readonly [Platform, Platform])[] = pairsOf(ALL);

function devicesHere(): ReadonlyMap<Platform, OpenCLDevice> {
  const found = new Map<Platform, OpenCLDevice>();
  try {
    for (const device of openclDevices()) {
      const name = shortNameOf(device.platform);
      if (!found.has(name)) found.set(name, device);
    }
  } catch (error) {
    if (!(error instanceof LibraryNotFoundError)) throw error;
  }
  return found;
}

function shortNameOf(platform: string): Platform {
  return Object.entries(KNOWN).find(([, part]) => platform.toLowerCase().includes(part))?.[0] ?? platform;
}

/** All of two; of three and more, each with the next. */
function pairsOf(platforms: readonly Platform[]): [Platform, Platform][] {
  const pairs = platforms.map((one, i): [Platform, Platform] => [one, platforms[(i + 1) % platforms.length]]);
  return platforms.length === 2 ? pairs.slice(0, 1) : pairs;
}

/** The first device of a platform that is here. */
export function deviceOf(platform: Platform): OpenCLDevice {
  const device = here.get(platform);
  assert(device !== undefined, `no ${platform} here`);
  return device;
}

/** Opens a platform's device. */
export function open(platform: Platform): OpenCLContext {
  const { platform: name, name: device } = deviceOf(platform);
  return OpenCLContext.open({ platform: name, device });
}

/**
 * A test that needs platforms, and leaves the ledger as it was. Where one is missing, or cannot be asked for a `reason`,
 * it is ignored, and its name says so.
 */
export function test(
  name: string,
  needs: readonly Platform[],
  run: () => void | Promise<void>,
  reason?: string,
): void {
  const missing = needs.filter((platform) => !here.has(platform));
  const why = missing.length > 0 ? `no ${missing.join(", no ")} here` : reason;
  Deno.test({
    name: why === undefined ? name : `${name} (${why})`,
    ignore: why !== undefined,
    fn: async () => {
      const before = ledger.alive;
      try {
        await run();
      } catch (error) {
        // What failed first is what matters; what a dispose made of it is in its shadow.
        throw innermost(error);
      }
      assertEquals(ledger.alive, before, "alive after the test, and before it");
    },
  });
}

function innermost(error: unknown): unknown {
  while (error instanceof SuppressedError) error = error.suppressed;
  return error;
}

/** The same test once for each platform, but where there is a reason against it. */
export function testEach(
  name: string,
  run: (platform: Platform) => void | Promise<void>,
  reason: (platform: Platform) => string | undefined = () => undefined,
): void {
  for (const platform of ALL) test(`${platform}: ${name}`, [platform], () => run(platform), reason(platform));
}

/** The same, of work that fails because a user event does. */
export function testFailing(name: string, run: (platform: Platform) => void | Promise<void>): void {
  testEach(name, run, whereWorkCannotFail);
}

/** The same test once for each platform beside another one. */
export function testPairs(name: string, run: (one: Platform, other: Platform) => void | Promise<void>): void {
  for (const [one, other] of PAIRS) test(`${one} and ${other}: ${name}`, [one, other], () => run(one, other));
}

/** Asserts how many hold an object. A driver's own thread lets go a moment after the work it did for us is done. */
export function assertHeld(references: () => number, expected: number): void {
  for (let tries = 0; references() !== expected && tries < 30_000; tries++) sleepSync(1);
  assertEquals(references(), expected);
}

/** Kernels that the tests use. */
export const SOURCE = `
kernel void fill(global uchar* x, uchar seed) { size_t i = get_global_id(0); x[i] = (uchar)(seed + i * 7); }
kernel void add(global uchar* x, uchar n) { x[get_global_id(0)] += n; }
kernel void double_it(global uchar* x) { x[get_global_id(0)] *= 2; }
kernel void xor_from(global uchar* to, global const uchar* from, uchar key) {
  size_t i = get_global_id(0);
  to[i] = from[i] ^ key;
}
kernel void add_at(global uchar* x, ulong base, uchar n) { x[base + get_global_id(0)] += n; }
kernel void slow(global uchar* x, uchar n, uint turns) {
  size_t i = get_global_id(0);
  uint y = x[i] + 1u;
  for (uint t = 0; t < turns; t++) y = y * y + (t ^ 0x9e3779b9u);
  x[i] += n + (uchar)(y == 0x12345678u); // never, but the compiler cannot know
}`;

/** Kernels of a context; disposed with it. */
export interface Kernels {
  readonly program: OpenCLProgram;
  readonly fill: OpenCLKernel;
  readonly add: OpenCLKernel;
  readonly doubleIt: OpenCLKernel;
  readonly xorFrom: OpenCLKernel;
  readonly addAt: OpenCLKernel;
  readonly slow: OpenCLKernel;
}

/** Builds them. */
export function kernelsOf(cl: OpenCLContext): Kernels {
  const program = cl.program(SOURCE);
  return {
    program,
    fill: program.kernel("fill"),
    add: program.kernel("add"),
    doubleIt: program.kernel("double_it"),
    xorFrom: program.kernel("xor_from"),
    addAt: program.kernel("add_at"),
    slow: program.kernel("slow"),
  };
}

/** A context, a graph over it and the host, its kernels; disposing it closes all. */
export interface Bench extends Disposable, AsyncDisposable {
  readonly cl: OpenCLContext;
  readonly graph: MapperGraph;
  readonly kernels: Kernels;
}

/** Opens a platform and what most tests need beside it. */
export function bench(platform: Platform): Bench {
  const cl = open(platform);
  return {
    cl,
    graph: new MapperGraph([host, cl]),
    kernels: kernelsOf(cl),
    [Symbol.dispose]: () => cl[Symbol.dispose](),
    [Symbol.asyncDispose]: () => cl[Symbol.asyncDispose](),
  };
}

/** Random bytes: no code can have guessed them. */
export function random(byteLength: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(byteLength);
  for (let at = 0; at < byteLength; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
  return bytes;
}

/** A host tensor of random bytes, and a copy of them. */
export function randomTensor(byteLength: number): { tensor: HostTensor<"u8">; bytes: Uint8Array<ArrayBuffer> } {
  const tensor = host.allocate({ shape: [byteLength], dtype: "u8" });
  const bytes = random(byteLength);
  tensor.view().set(bytes);
  return { tensor, bytes };
}

/** What `fill` writes. */
export function filled(byteLength: number, seed: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: byteLength }, (_, i) => seed + i * 7);
}

/** Fails with the first difference: assertEquals takes seconds to show two megabytes. */
export function assertBytes(actual: Uint8Array, expected: Uint8Array, what = "bytes"): void {
  assertEquals(actual.length, expected.length, what);
  const at = actual.findIndex((byte, i) => byte !== expected[i]);
  if (at >= 0) throw new AssertionError(`${what}: at ${at} there is ${actual[at]}, not ${expected[at]}.`);
}

/**
 * Turns of `slow` which, over some thousand work-items, take tens of milliseconds on a machine of today; llvmpipe cuts
 * a loop short at 65,535.
 */
export const LONG = 8_000;

/** What was thrown; fails where nothing was. */
export function thrown<E extends Error>(kind: abstract new (...args: never[]) => E, action: () => unknown): E {
  let error: unknown;
  try {
    action();
  } catch (caught) {
    error = caught;
  }
  assert(error instanceof kind, `expected ${kind.name}, got ${error}`);
  return error;
}

/** The same of a promise. */
export async function rejection<E extends Error>(
  kind: abstract new (...args: never[]) => E,
  promise: PromiseLike<unknown>,
): Promise<E> {
  const error = await Promise.resolve(promise).then(() => undefined, (caught) => caught);
  assert(error instanceof kind, `expected ${kind.name}, got ${error}`);
  return error;
}

/** Asks until the answer is yes; fails where that takes too long. */
export async function until(holds: () => boolean, what: string, milliseconds = 30_000): Promise<void> {
  const end = performance.now() + milliseconds;
  while (!holds()) {
    assert(performance.now() < end, `waited ${milliseconds} ms in vain: ${what}`);
    await sleep(1);
  }
}

/** Lets the event loop turn. */
export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
