/**
 * The Level Zero drivers of the tests, which the loader finds by ZE_ENABLE_ALT_DRIVERS: one of the tests' own
 * (`driver/driver.c`), and the loader's null driver, which returns SUCCESS and does nothing.
 *
 * @module
 */
import { NULL_DRIVER } from "../../tasks/setup/levelzero.ts";
import { buildLibrary } from "../c_library.ts";

/** Part of the name of the tests' first device. */
export const DEVICE = "samepage's test device";
/** Part of the name of their second one, which has no shared memory. */
export const SECOND = "second test device";
/** Part of the null driver's. */
export const NULL_DEVICE = "Null Device";

const SOURCE = new URL("driver/driver.c", import.meta.url).pathname;
const FOLDER = new URL("../../out/levelzero/", import.meta.url).pathname; // git ignores it
/** Where it is, once it was built. */
export const LIBRARY = `${FOLDER}libsamepage_ze.so`;

/**
 * Compiles the driver of the tests.
 *
 * @returns Why it cannot: cc, or Level Zero's headers, are not there.
 */
export function buildDriver(): Promise<string | undefined> {
  return buildLibrary({
    sources: [SOURCE],
    library: LIBRARY,
    args: ["-fvisibility=hidden"],
    headers: { said: "level_zero/", missing: "Level Zero's headers: apt install libze-dev" },
  });
}

/** Has this process's loader find the drivers that are there. It looks once. Returns why it cannot. */
export async function useDrivers(): Promise<string | undefined> {
  const reason = await buildDriver() ?? missing();
  if (reason === undefined) setDrivers(...hasNullDriver() ? [NULL_DRIVER] : []);
  return reason;
}

/** Has it find the driver of the tests, which was built, and others. It needs no permission but FFI. */
export function setDrivers(...others: readonly string[]): void {
  setVariable("ZE_ENABLE_ALT_DRIVERS", [LIBRARY, ...others].join(","));
}

function missing(): string | undefined {
  try {
    Deno.dlopen("libze_loader.so.1", {}).close();
    return undefined;
  } catch {
    return "Level Zero's loader: apt install libze1";
  }
}

/** Whether the null driver was built: `deno task setup test` does that. */
export function hasNullDriver(): boolean {
  try {
    return Deno.statSync(NULL_DRIVER).isFile;
  } catch {
    return false;
  }
}

/** How the driver of the tests behaves from now on, in its own words (driver.c). */
export function behave(...words: readonly string[]): void {
  setVariable("SAMEPAGE_ZE", words.join(" "));
}

/** How many objects of the tests' driver are alive, and how often one was used as no driver allows. */
export function counts(): { readonly alive: number; readonly misused: number } {
  const { samepage_ze_alive: alive, samepage_ze_misused: misused } = Deno.dlopen(LIBRARY, {
    samepage_ze_alive: { parameters: [], result: "i32" },
    samepage_ze_misused: { parameters: [], result: "i32" },
  }).symbols;
  return { alive: alive(), misused: misused() };
}

/** The process's own: C reads what Deno may not. */
function setVariable(name: string, value: string): void {
  const { setenv } = Deno.dlopen("libc.so.6", {
    setenv: { parameters: ["buffer", "buffer", "i32"], result: "i32" },
  }).symbols;
  const text = (of: string) => new TextEncoder().encode(`${of}\0`);
  if (setenv(text(name), text(value), 1) !== 0) throw new Error(`${name} could not be set`);
}
