/**
 * The VA-API driver of the tests: libva loads it as any other, also on a machine without a GPU.
 *
 * @module
 */
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
export async function buildDriver(): Promise<string | undefined> {
  if (await isBuilt()) return undefined;
  await Deno.mkdir(FOLDER, { recursive: true });
  const unfinished = await Deno.makeTempFile({ dir: FOLDER });
  const warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-Wno-cast-function-type"];
  const args = [
    "-O1",
    ...warnings,
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    SONAME,
    "-o",
    unfinished,
    SOURCE,
    "-lva",
  ];
  try {
    const { success, stderr } = await new Deno.Command("cc", { args }).output();
    const said = new TextDecoder().decode(stderr);
    if (success) await Deno.rename(unfinished, LIBRARY);
    else if (!said.includes("va/va.h")) throw new Error(`cc could not make the driver:\n${said}`);
    return success ? undefined : "libva's headers: apt install libva-dev";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "cc";
    throw error;
  } finally {
    await Deno.remove(unfinished).catch(() => {});
  }
}

async function isBuilt(): Promise<boolean> {
  const [built, source] = await Promise.all([LIBRARY, SOURCE].map((path) => Deno.stat(path).catch(() => undefined)));
  return built !== undefined && built.mtime! >= source!.mtime!;
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
