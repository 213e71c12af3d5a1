// The demo as a user runs it: a process of its own, its words and its exit code.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { openclDevices } from "@samepage/interop/opencl";
import sharp from "sharp";
import { buildLayer, layerEnv } from "../layer/mod.ts";
import { exec, type Output, ROOT, temporaryFolder } from "../package/project.ts";

const POCL = { SAMEPAGE_OPENCL_DEVICE: "Portable" };

async function demo(args: string[], env: Record<string, string> = {}): Promise<Output> {
  return await exec(Deno.execPath(), ["run", "-A", "examples/edges/main.ts", ...args], { env });
}

/** What `probe` lacks here, in words for a test's name. */
async function lacks(what: string, probe: () => unknown): Promise<string | undefined> {
  return await Promise.resolve().then(probe).then((there) => there ? undefined : what, () => what);
}

const noPoCL = await lacks(
  "PoCL: apt install pocl-opencl-icd",
  () => openclDevices().some((device) => device.platform === "Portable Computing Language"),
);
const noLayer = noPoCL ?? await lacks("cc and opencl-headers, to build the layer", buildLayer);

function testWith(missing: string | undefined, name: string, fn: () => Promise<void>): void {
  Deno.test({ name: missing ? `${name} (skipped: needs ${missing})` : name, ignore: missing !== undefined, fn });
}

/** Asserts one sentence on standard error, the exit code 1, and nothing else. */
function assertRefused({ code, stdout, stderr }: Output, reason: string): void {
  assertStringIncludes(stderr, reason);
  assertMatch(stderr, /^[^\n]+\.\n$/);
  assertEquals([code, stdout], [1, ""]);
}

async function sizeOf(png: string): Promise<[number, number, string]> {
  const { width, height, format } = await sharp(await Deno.readFile(png)).metadata();
  return [width, height, format];
}

testWith(
  noPoCL,
  "demo: says the device, the routes, the proof, the bytes, the times, and that the pixels are equal",
  async () => {
    await using folder = await temporaryFolder();
    const out = join(folder.path, "made/edges.png");
    const { code, stdout, stderr } = await demo(["--out", out], POCL);
    assertEquals([code, stderr], [0, ""], stdout);
    assertMatch(stdout, /^photo    .*photo\.jpg, 1024 × 819, decoded by sharp .* ms\n {9}libvips decodes .* no copy$/m);
    assertMatch(stdout, /^device   .+, Portable Computing Language \(/m);
    assertMatch(stdout, /^route    pixels +host→opencl: alias \(proven by aliasing both ways, .*\)$/m);
    assertMatch(stdout, /^ {9}edges +host→opencl: alias \(proven by aliasing both ways, .*\)$/m);
    assertMatch(stdout, /^proof    before the first map/m);
    assertMatch(stdout, /^copied   0 bytes between host and device .*counted; 0 by the driver$/m);
    assertMatch(stdout, /^ {9}\d{8} bytes in 5 runs by copying$/m);
    assertMatch(stdout, /^time +mapping +copying$/m);
    for (
      const step of [
        "to the device",
        "grey",
        "blur",
        "gradient",
        "suppress",
        "hysteresis",
        "finish",
        "to the host",
        "all",
      ]
    ) {
      assertMatch(stdout, new RegExp(`^ {9}${step} +\\d+\\.\\d\\d ms +\\d+\\.\\d\\d ms$`, "m"));
    }
    assertMatch(stdout, /^result   identical to the host's, 838656 pixels\n {9}by copying: identical to the host's, /m);
    assert(stdout.endsWith(`wrote    ${out}\n`), stdout);
    assertEquals(await sizeOf(out), [1024, 819, "png"]);
  },
);

testWith(noLayer, "demo: on a device with memory of its own it says migrate, the bytes, and no proof", async () => {
  const { code, stdout } = await demo([], { ...POCL, ...layerEnv("kernel") });
  assertEquals(code, 0, stdout);
  assertMatch(stdout, /^route    pixels +host→opencl: migrate, 3354624 bytes moved \(/m);
  assertMatch(stdout, /^copied   0 bytes between host and device .*counted; \d{8} by the driver$/m);
  assertMatch(stdout, /^result   identical to the host's, 838656 pixels$/m);
  assert(!stdout.includes("alias (") && !stdout.includes("proof"), stdout);
});

const WITHOUT: readonly { what: string; env: Record<string, string>; words: string; missing?: string | undefined }[] = [
  { what: "the OpenCL library", env: { SAMEPAGE_LIB_OPENCL: "/nonexistent" }, words: "/nonexistent" },
  {
    what: "a driver",
    env: { OCL_ICD_VENDORS: "/nonexistent" },
    words: "OpenCL has no device. Install a driver",
    missing: noPoCL,
  },
  {
    what: "the device asked for",
    env: { SAMEPAGE_OPENCL_DEVICE: "no such platform" },
    words: "There is",
    missing: noPoCL,
  },
];

for (const { what, env, words, missing } of WITHOUT) {
  testWith(missing, `demo: without ${what} it runs on the host, and says what is missing`, async () => {
    await using folder = await temporaryFolder();
    const out = join(folder.path, "edges.png");
    const { code, stdout, stderr } = await demo(["--out", out], env);
    assertEquals([code, stderr], [0, ""], stdout);
    assertMatch(stdout, /^device   none\. .+\.$/m);
    assertStringIncludes(stdout, words);
    assertMatch(stdout, /^time     .* ms on the host, in TypeScript$/m);
    assertEquals(await sizeOf(out), [1024, 819, "png"]);
  });
}

Deno.test("demo: a file that is no picture ends in a sentence", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "picture");
  const photo = await Deno.readFile(join(ROOT, "examples/edges/photo.jpg"));
  const huge = await sharp({ create: { width: 20_000, height: 6_000, channels: 3, background: "white" } }).png()
    .toBuffer();
  const files: [string, Uint8Array][] = [
    ["is empty", new Uint8Array()],
    ["is neither a JPEG nor a PNG", new TextEncoder().encode("a text")],
    ["cannot be decoded", photo.subarray(0, 50_000)],
    ["claims 20000 × 6000 pixels", huge],
  ];
  for (const [reason, bytes] of files) {
    await Deno.writeFile(path, bytes);
    assertRefused(await demo([path]), reason);
  }
  assertRefused(await demo([join(folder.path, "none")]), "cannot be read");
});

Deno.test("demo: a command line that makes no sense ends in a sentence", async () => {
  assertRefused(await demo(["--fast"]), "--fast");
  assertRefused(await demo(["--out"]), "--out");
  assertRefused(await demo(["one.jpg", "two.jpg"]), "One photo at a time, not 2");
});

Deno.test("demo: a place that cannot be written to ends in a sentence", async () => {
  const { code, stderr } = await demo(["--out", join(ROOT, "deno.json/edges.png")], { SAMEPAGE_LIB_OPENCL: "/none" });
  assertEquals(code, 1);
  assertMatch(stderr, /^[^\n]+deno\.json\/edges\.png cannot be written: [^\n]+\.\n$/);
});

Deno.test("demo: --help says how to use it, and does nothing", async () => {
  const { code, stdout, stderr } = await demo(["--help"]);
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /^Usage: deno task demo \[photo\] \[--out file\]$/m);
  assert(!stdout.includes("wrote"));
});
