// OpenVINO with a GPU of the tests.

import { basename, dirname, fromFileUrl } from "@std/path";
import { LIBRARY } from "./open.ts";

let library: string | undefined;

/** The library of gpu.c, compiled once. */
export function simulated(): string {
  if (library !== undefined) return library;
  const [source, folder] = ["gpu.c", "../../out/"].map((path) => fromFileUrl(new URL(path, import.meta.url)));
  const [libs, path] = [dirname(LIBRARY!), `${folder}libopenvino_gpu.so`];
  Deno.mkdirSync(folder, { recursive: true });
  const link = [`-L${libs}`, `-Wl,-rpath,${libs}`, `-l:${basename(LIBRARY!)}`];
  const args = ["-shared", "-fPIC", "-o", path, "-isystem", `${dirname(libs)}/include`, source, ...link];
  const { success, stderr } = new Deno.Command("cc", { args }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return library = path;
}
