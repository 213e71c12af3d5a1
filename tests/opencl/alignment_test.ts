// Every kind of map at every address modulo 64, and in all formats. A driver that meets memory which is not aligned as it
// thinks may end the process: so each kind has one of its own, and a crash is a failed row with the format and the address.

import { assert, assertEquals } from "@std/assert";
import { deno, LIMIT } from "../process.ts";
import { present } from "../opencv/help.ts";
import { layerEnv } from "../layer/mod.ts";
import { testEach } from "./help.ts";
import { testLayered } from "./layered.ts";
import { LACKS, onDevices } from "./on_devices.ts";
import { linesOf } from "./subprocess.ts";

const MAIN = new URL("alignment/main.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

/** How often a kind begins again behind the row that ended the process. */
const MAX_CRASHES = 5;

/** What one process came to. */
interface Sweep {
  /** How many rows were tried, or undefined where the process ended before the last. */
  readonly rows: number | undefined;
  /** The row that it was at last, and its number. */
  readonly last: string;
  readonly at: number;
  /** The rows that failed. */
  readonly wrong: readonly string[];
  /** How the process ended. */
  readonly how: string;
}

async function sweep(kind: string, platform: string, first: number): Promise<Sweep> {
  const args = ["run", "-q", "-A", "--no-check", "--config", CONFIG, MAIN, kind, platform, String(first)];
  const { code, signal, late, stdout, stderr } = await deno(args);
  const lines = stdout.trim().split("\n").map((line) => line.split("\t"));
  const [, at = "0", last = "the beginning"] = lines.findLast(([word]) => word === "at") ?? [];
  const end = code === 0 ? lines.find(([word]) => word === "end") : undefined;
  return {
    rows: end === undefined ? undefined : Number(end[1]),
    at: Number(at),
    last,
    wrong: lines.filter(([word]) => word === "wrong").map(([, , what]) => what),
    how: late ? `took more than ${LIMIT} s` : signal ?? `code ${code}: ${stderr.trim()}`,
  };
}

/** Tries all rows of a kind. @returns how many there are */
async function assertAligned(kind: string, platform: string): Promise<number> {
  const failed: string[] = [];
  let first = 0;
  for (let crashes = 0; crashes < MAX_CRASHES; crashes++) {
    const { rows, at, last, wrong, how } = await sweep(kind, platform, first);
    failed.push(...wrong);
    if (rows !== undefined) {
      assertEquals(failed.slice(0, 20), [], `${failed.length} of ${rows} rows failed, the first of them`);
      return rows;
    }
    failed.push(`${last}: the process ended (${how})`);
    if (at <= first) break;
    first = at;
  }
  throw new Error(`the sweep was given up:\n${failed.slice(-20).join("\n")}`);
}

testEach("buffers of host memory at every address: kernels load vectors where they may", async (platform) => {
  assert(await assertAligned("buffers", platform) > 0);
});

onDevices("host memory as shared memory at every address", LACKS.fine, async (_open, { platform }) => {
  assert(await assertAligned("shared", platform) > 0);
});

testEach("images of host memory at every address, in every format: in place, or copied", async (platform) => {
  assert(await assertAligned("images", platform) > 0);
});

testEach("images at every address, in every format: a proof runs where pixels keep to their size", async (platform) => {
  assert(await assertAligned("imageProofs", platform) > 0);
});

testEach("images over buffers of host memory at every address, in every format, or none at all", async (platform) => {
  assert(await assertAligned("imagesOverBuffers", platform) > 0);
});

const UMATS = "UMats of host memory at every address: OpenCV's kernels give what they give at a page";
const MATS = "Mats of host memory at every address";
const MOVED = "a region of a photograph as a UMat on a device that moves bytes: refused, and a slice of a UMat does it";

/** The region from the host, and by the route that the refusal names. */
const REGION = `
import { region } from "@samepage/interop";
import { OpenCVContext } from "@samepage/interop/opencv";
using cl = help.open("pocl");
using cv = OpenCVContext.open();
using graph = new MapperGraph([host, cl, cv]);
using photo = host.allocate({ shape: [480, 640], dtype: "u8" });
photo.view().fill(150);
const at = region(photo.layout, [10, 10], [64, 64]);
{
  using part = photo.slice(at);
  console.log(graph.explain(part, cl).steps[0].transfer);
  const { open, refused } = graph.explain(part, cv.umat);
  console.log(!open && refused.some(({ remedy }) => remedy?.includes("slice the UMat")) ? "refused" : "open");
}
{
  using umat = graph.map(photo, cv.umat);
  console.log(umat.route.steps[1].transfer);
  using part = umat.slice(at);
  cv.threshold(part, part, 100, 200, "binary");
}
console.log(photo.view()[10 * 640 + 10]);
`;

if (present) {
  testEach(UMATS, async (platform) => assert(await assertAligned("umats", platform) > 0));
  Deno.test(MATS, async () => assert(await assertAligned("mats", "none") > 0));
  testLayered(MOVED, async () => {
    assertEquals(await linesOf(REGION, { env: layerEnv("map") }), ["migrate", "refused", "alias", "200"]);
  });
} else {
  for (const name of [UMATS, MATS, MOVED]) Deno.test({ name: `${name} (not here: OpenCV)`, ignore: true, fn() {} });
}
