/**
 * The VA-API driver of the tests: libva loads it as any other, also on a machine without a GPU.
 *
 * @module
 */
import { buildLibrary } from "../c_library.ts";

/** A device file of any machine: the driver takes it for a GPU. */
export const NODE = "/dev/null";

const SOURCE = new URL("driver/driver.c", import.meta.url).pathname;
const FOLDER = new URL("../../out/vaapi/", import.meta.url).pathname; // git ignores it
/** Where it is, once it was built. */
export const LIBRARY = `${FOLDER}samepage_drv_video.so`;

/** What makes the loader take it for libva's own library of DRM displays, once it is loaded. */
const SONAME = "-Wl,-soname,libva-drm.so.2";

/**
 * Compiles the driver.
 *
 * @returns Why it cannot: cc, or libva's headers, are not there.
 */
export function buildDriver(): Promise<string | undefined> {
  return buildLibrary({
    sources: [SOURCE],
    library: LIBRARY,
    args: ["-Wno-missing-field-initializers", "-Wno-cast-function-type", "-fvisibility=hidden", SONAME, "-lva"],
    headers: { said: "va/va.h", missing: "libva's headers: apt install libva-dev" },
  });
}

/** Has this process find the driver, which was built. It needs no permission but FFI. */
export function useDriver(): void {
  Deno.dlopen(LIBRARY, {}); // before libva-drm, which libavutil loads too: who asks for that by its name gets this
  setVariable("LIBVA_DRIVER_NAME", "samepage");
  setVariable("LIBVA_DRIVERS_PATH", FOLDER);
}

/** How the driver behaves from now on, in its own words (driver.c). */
export function behave(...words: readonly string[]): void {
  setVariable("SAMEPAGE_VA", words.join(" "));
}

/** The process's own: C reads what Deno may not. */
function setVariable(name: string, value: string): void {
  const { setenv } = Deno.dlopen("libc.so.6", {
    setenv: { parameters: ["buffer", "buffer", "i32"], result: "i32" },
  }).symbols;
  const text = (of: string) => new TextEncoder().encode(`${of}\0`);
  if (setenv(text(name), text(value), 1) !== 0) throw new Error(`${name} could not be set`);
}
