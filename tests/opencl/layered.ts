/**
 * Tests on PoCL under the layer of tests/layer, which are ignored, by name, where it cannot be had.
 *
 * @module
 */
import { buildLayer, layerEnv } from "../layer/mod.ts";
import { test } from "./help.ts";
import { hasDevice } from "./present.ts";
import { runText } from "./subprocess.ts";

const missing = hasDevice("Portable") ? await whatIsMissing() : "PoCL";

/** A loader that has layers ends a process that asks for a mode which the layer does not know, with its words. */
async function whatIsMissing(): Promise<string | undefined> {
  if (await buildLayer().then(() => false, () => true)) return "cc, OpenCL's headers";
  const { stderr } = await runText(`help.open("pocl");`, { env: { ...layerEnv("map"), SAMEPAGE_LAYER: "mirror" } });
  return stderr.includes("private_copy") ? undefined : "a loader that reads OPENCL_LAYERS";
}

/** A test whose processes are given `layerEnv(…)`; the layer is built. */
export function testLayered(name: string, run: () => Promise<void>): void {
  if (missing === undefined) test(name, ["pocl"], run);
  else Deno.test({ name: `${name} (not here: ${missing})`, ignore: true, fn() {} });
}
