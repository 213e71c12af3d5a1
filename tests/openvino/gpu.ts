// OpenVINO with a GPU of the tests.

import { LIBRARY } from "./open.ts";

const [source, folder] = ["gpu.c", "../../out/"].map((path) => new URL(path, import.meta.url).pathname);

/** Where the library of gpu.c is, once it was compiled. */
export const SIMULATED = `${folder}libopenvino_gpu.so`;

let isCompiled = false;

/** That library, compiled once. */
export function simulated(): string {
  if (isCompiled) return SIMULATED;
  const [, libs, name] = /^(.*)\/([^/]*)$/.exec(LIBRARY!)!;
  Deno.mkdirSync(folder, { recursive: true });
  const link = [`-L${libs}`, `-Wl,-rpath,${libs}`, `-l:${name}`];
  const args = ["-shared", "-fPIC", "-o", SIMULATED, "-isystem", `${libs}/../include`, source, ...link];
  const { success, stderr } = new Deno.Command("cc", { args }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  isCompiled = true;
  return SIMULATED;
}

/** What that library was asked for. */
export function asked() {
  const { symbols } = Deno.dlopen(simulated(), {
    ...{ cl_context: { type: "u64" }, cl_mem: { type: "u64" }, va_display: { type: "u64" } },
    ...{ contexts_alive: { type: "i32" }, surfaces_taken: { type: "i32" }, surfaces_expected: { type: "i32" } },
  });
  return symbols;
}
