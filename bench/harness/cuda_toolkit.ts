import { dirname, fromFileUrl, join } from "@std/path";

/** Where toolkits are: what CUDA_HOME says, the usual place, and what `deno task setup test` has unpacked. */
const TOOLKITS = [
  Deno.env.get("CUDA_HOME"),
  "/usr/local/cuda",
  fromFileUrl(new URL("../../.cuda/nvidia/cu13", import.meta.url)),
].filter((folder) => folder !== undefined);

/** Their folders of libraries. */
const FOLDERS = ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"];

/** In the order in which samepage opens them: both sides are to use the same. */
const LIBRARIES = ["libcudart.so.13", "libcudart.so.12"];

/** How the C compiler finds CUDA's headers and libcudart; undefined where one of them is missing. */
export async function cudaOptions(): Promise<string[] | undefined> {
  const include = await firstOf(TOOLKITS.map((folder) => join(folder, "include")), "cuda_runtime_api.h");
  const library = await libcudart();
  if (include === undefined || library === undefined) return undefined;
  return [`-I${include}`, library, `-Wl,-rpath,${dirname(library)}`];
}

/** The library's path: the one that the loader knows, else a toolkit's. */
async function libcudart(): Promise<string | undefined> {
  const known = await loaderKnows();
  for (const name of LIBRARIES) {
    const path = new RegExp(`^\\s*${name.replaceAll(".", "\\.")} .*=> (.+)$`, "m").exec(known)?.[1];
    if (path !== undefined) return path;
    const folder = await firstOf(TOOLKITS.flatMap((toolkit) => FOLDERS.map((lib) => join(toolkit, lib))), name);
    if (folder !== undefined) return join(folder, name);
  }
  return undefined;
}

/** All libraries that the loader finds by their names; nothing where it cannot be asked. */
async function loaderKnows(): Promise<string> {
  try {
    const { stdout } = await new Deno.Command("/sbin/ldconfig", { args: ["-p"], stderr: "null" }).output();
    return new TextDecoder().decode(stdout);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/** The first folder that has a file. */
async function firstOf(folders: readonly string[], file: string): Promise<string | undefined> {
  for (const folder of folders) {
    if (await Deno.stat(join(folder, file)).then(() => true, () => false)) return folder;
  }
  return undefined;
}
