/**
 * The SYCL of the tests: DPCTL over Intel's drivers where SAMEPAGE_LIB_SYCL names it (`deno task setup sycl`), else the
 * stand-in of `dpctl/dpctl.c`.
 *
 * @module
 */
import { DPCTL, hasWheels } from "../../tasks/setup/wheels.ts";
import { buildLibrary } from "../c_library.ts";

const SOURCE = new URL("dpctl/dpctl.c", import.meta.url).pathname;
const FOLDER = new URL("../../out/sycl/", import.meta.url).pathname; // git ignores it

/** The loader takes it for DPCTL, once it is loaded. */
const SONAME = "-Wl,-soname,libDPCTLSyclInterface.so";

/** The stand-in, once it was built. */
export const STAND_IN = `${FOLDER}libsamepage_dpctl.so`;

/** Compiles the stand-in. Returns why it cannot: cc, or DPCTL's headers, are not there. */
export async function buildStandIn(): Promise<string | undefined> {
  if (!await hasWheels(DPCTL)) return "DPCTL's headers: deno task setup test";
  return await buildLibrary({
    sources: [SOURCE],
    library: STAND_IN,
    args: ["-Wno-missing-field-initializers", SONAME, "-isystem", `${DPCTL.folder}/dpctl/include`],
  });
}

/** Has this process use a real DPCTL if one is named, else the stand-in. Returns what is missing. */
export async function openSycl(): Promise<string | undefined> {
  if (!isStandIn()) return undefined;
  const missing = await buildStandIn();
  if (missing === undefined) useStandIn();
  return missing;
}

/** Has this process find the stand-in, which was built: a load of DPCTL by its name gets this. */
export function useStandIn(): void {
  Deno.dlopen(STAND_IN, {});
}

/** Whether no real DPCTL is named. */
export function isStandIn(): boolean {
  return Deno.env.get("SAMEPAGE_LIB_SYCL") === undefined;
}

/** How the stand-in behaves from now on, in its own words (dpctl.c). It needs no permission but FFI. */
export function behave(...words: readonly string[]): void {
  const { setenv } = Deno.dlopen("libc.so.6", {
    setenv: { parameters: ["buffer", "buffer", "i32"], result: "i32" },
  }).symbols;
  const text = (of: string) => new TextEncoder().encode(`${of}\0`);
  if (setenv(text("SAMEPAGE_SYCL"), text(words.join(" ")), 1) !== 0) throw new Error("SAMEPAGE_SYCL could not be set");
}

/** How many objects the stand-in has; 0 on a real DPCTL, which does not report it. */
export function alive(): number {
  if (!isStandIn()) return 0;
  const { samepage_alive } = Deno.dlopen(STAND_IN, { samepage_alive: { parameters: [], result: "i64" } }).symbols;
  return Number(samepage_alive());
}

/** What a device does not report, it does not have. */
export const UNREPORTED: readonly string[] = [
  "DPCTLDeviceVector_Size",
  "DPCTLDevice_GetBackend",
  "DPCTLDevice_GetDeviceType",
  "DPCTLDevice_HasAspect",
  "DPCTLDevice_GetGlobalMemSize",
  "DPCTLDevice_GetLocalMemSize",
  "DPCTLDevice_GetMaxMemAllocSize",
  "DPCTLDevice_GetMaxWorkGroupSize",
].map((fn) => `sycl.${fn}`);
