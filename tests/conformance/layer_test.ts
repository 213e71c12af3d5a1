/** The suite on a device that does not alias host memory: PoCL under the layer of tests/layer, in each of its disguises. */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { openclDevices } from "../../src/opencl/mod.ts";
import { buildLayer, LAYER_MODES, layerEnv, type LayerMode } from "../layer/mod.ts";
import type { Row } from "./rows.ts";

const MAIN = fromFileUrl(new URL("main.ts", import.meta.url));
const missing = await whatIsMissing();

async function whatIsMissing(): Promise<string | undefined> {
  try {
    if (!openclDevices().some((device) => device.platform === "Portable Computing Language")) return "PoCL";
  } catch {
    return "libOpenCL.so.1";
  }
  return await buildLayer().then(() => undefined, () => "cc and OpenCL's headers");
}

async function rowsUnder(mode: LayerMode, only: string, cases: readonly string[]): Promise<Row[]> {
  const args = ["run", "-A", "--no-check", MAIN, "--json", `--only=${only}`, ...cases, "--expect=migrate"];
  // The layer needs PoCL's native kernels, so rusticl gets no device.
  const env = layerEnv(mode);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, env }).output();
  try {
    return JSON.parse(new TextDecoder().decode(stdout));
  } catch {
    throw new Error(`the suite printed no rows:\n${new TextDecoder().decode(stderr)}`);
  }
}

/** What is run: the edges that each have a proof, and in which disguises. */
const SUITES: { readonly [only: string]: { readonly edges: readonly string[]; readonly modes: readonly LayerMode[] } } =
  {
    opencl: { edges: ["host→opencl", "opencl→host"], modes: LAYER_MODES },
    image: { edges: ["host→opencl.image", "opencl.image→host"], modes: LAYER_MODES },
    svm: { edges: ["opencl.svm→host", "opencl.svm→opencl"], modes: ["map"] }, // its own bytes move in none
  };

function test(name: string, mode: LayerMode, only: string, cases: readonly string[] = []): void {
  const full = `conformance: a device that moves bytes, in disguise "${mode}", ${name} (${only})`;
  Deno.test({
    name: missing === undefined ? full : `${full} (not here: ${missing})`,
    ignore: missing !== undefined,
    async fn() {
      const rows = await rowsUnder(mode, only, cases);
      const failed = rows.filter((row) => row.result === "fail");
      assertEquals(failed.map((row) => `${row.edge} ${row.case}: ${row.reason}`), []);
      for (const edge of SUITES[only].edges) {
        const aliasing = rows.filter((row) => row.edge === edge && row.case.startsWith("aliasing-"));
        assert(aliasing.length >= 2 && aliasing.every((row) => row.result === "pass"), `${edge} has no proof`);
      }
    },
  });
}

for (const [only, { modes }] of Object.entries(SUITES)) {
  for (const mode of modes) test("migrates", mode, only, ["--case=aliasing-"]);
}
test("keeps every rule", "map", "opencl");
