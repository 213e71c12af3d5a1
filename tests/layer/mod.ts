/**
 * An OpenCL layer that makes PoCL, which aliases host memory, look like a device that does not: for tests that a proof
 * of aliasing can say no. The top of private_copy.c says what it does.
 *
 * @example
 * ```ts ignore
 * await buildLayer();
 * const command = new Deno.Command(Deno.execPath(), { args: ["run", "-A", "prove.ts"], env: layerEnv("finish") });
 * ```
 *
 * @module
 */
import { fromFileUrl } from "@std/path";

/**
 * How well the device hides that its memory is its own; each mode more than the one before.
 *
 * - `map`: bytes move by map and unmap alone.
 * - `finish`: results also reach the host after `clFinish` and `clWaitForEvents`.
 * - `enqueue`: each `clEnqueueNDRangeKernel` also brings results so far, and sends what the host wrote.
 * - `kernel`: as `finish`, and each kernel has that done in its queue before and after it, so results appear by
 *   themselves.
 */
export type LayerMode = "map" | "finish" | "enqueue" | "kernel";

/** Every mode, the weakest disguise first. */
export const LAYER_MODES: readonly LayerMode[] = ["map", "finish", "enqueue", "kernel"];

const SOURCES = fromFileUrl(new URL(".", import.meta.url));
const BUILT = fromFileUrl(new URL("../../out/layer/", import.meta.url)); // git ignores it
const LIBRARY = `${BUILT}private_copy.so`;

/**
 * Compiles C files of this folder with `cc`, into out/layer/, unless what is there is younger than the folder's files.
 *
 * @param output The name of the file to make; it appears whole, so that several processes may make it at once.
 * @param args The arguments of `cc` beside `-O1 -Wall -Werror -o`, the sources included.
 * @returns The path of the file.
 * @throws {Error} with the compiler's words, if it refuses.
 * @throws {Deno.errors.NotFound} if there is no `cc`.
 */
export async function compile(output: string, args: string[]): Promise<string> {
  if (await isBuilt(output)) return BUILT + output;
  await Deno.mkdir(BUILT, { recursive: true });
  const unfinished = await Deno.makeTempFile({ dir: BUILT });
  try {
    const all = ["-O1", "-Wall", "-Werror", "-o", unfinished, ...args];
    const { success, stderr } = await new Deno.Command("cc", { args: all, cwd: SOURCES }).output();
    if (!success) throw new Error(`cc could not make ${output}:\n${new TextDecoder().decode(stderr)}`);
    await Deno.rename(unfinished, BUILT + output);
  } catch (error) {
    await Deno.remove(unfinished);
    throw error;
  }
  return BUILT + output;
}

async function isBuilt(output: string): Promise<boolean> {
  const built = await Deno.stat(BUILT + output).catch(() => undefined);
  const files = await Array.fromAsync(Deno.readDir(SOURCES), ({ name }) => Deno.stat(SOURCES + name));
  return built !== undefined && files.every(({ mtime }) => built.mtime! > mtime!);
}

/**
 * Compiles the layer.
 *
 * @returns The path of the shared library.
 * @throws {Error} with the compiler's words, if it refuses.
 * @throws {Deno.errors.NotFound} if there is no `cc`.
 */
export async function buildLayer(): Promise<string> {
  return await compile("private_copy.so", ["-shared", "-fPIC", "private_copy.c", "images.c", "bytes.c"]);
}

/**
 * Compiles the layer that refuses boxes whose last gap lies beyond the buffer, as NVIDIA's driver does.
 *
 * @returns The environment of a process that is to see it.
 */
export async function strictBoxesEnv(): Promise<Record<string, string>> {
  return { OPENCL_LAYERS: await compile("strict_boxes.so", ["-shared", "-fPIC", "strict_boxes.c"]) };
}

/**
 * The environment of a process that is to see the disguised device. It must be there when the process starts: the
 * loader reads it at its first call, from C. rusticl has no device there: the layer stands for PoCL, and rusticl 22.3 refuses its
 * maps (CL_INVALID_OPERATION).
 *
 * @throws {Deno.errors.NotFound} if {@linkcode buildLayer} has not been called: the loader would say nothing.
 */
export function layerEnv(mode: LayerMode): Record<string, string> {
  Deno.statSync(LIBRARY);
  return { OPENCL_LAYERS: LIBRARY, SAMEPAGE_LAYER: mode, RUSTICL_ENABLE: "" };
}
