// The demo as a user runs it: a process of its own, its words and its exit code.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join, toFileUrl } from "@std/path";
import { openclDevices } from "@samepage/interop/opencl";
import sharp from "sharp";
import { buildLayer, layerEnv } from "../layer/mod.ts";
import { noSmallDisk, onSmallDisk } from "../full_disk.ts";
import { exec, type Output, ROOT, temporaryFolder } from "../package/project.ts";

const STEPS = ["to the device", "grey", "blur", "gradient", "suppress", "hysteresis", "finish", "to the host", "all"];
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

/** What the demo printed under each heading; lines are indented by as much as a heading takes. */
function sections(stdout: string): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  let heading = "";
  for (const line of stdout.trimEnd().split("\n")) {
    heading = line.slice(0, 9).trim() || heading;
    (found[heading] ??= []).push(line.slice(9));
  }
  return found;
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
    const { photo, device, route, proof, copied, time, result, "in short": inShort, wrote } = sections(stdout);
    assertMatch(photo[0], /photo\.jpg, 1024 × 819, decoded by sharp .* ms$/);
    assertMatch(photo[1], /^libvips decodes .* no copy$/);
    assertStringIncludes(device[0], ", Portable Computing Language (");
    assertEquals(route.map((line) => line.split(/ +/)[0]), ["pixels", "edges", "changed"]);
    for (const line of route) assertMatch(line, /host→opencl: alias \(proven by aliasing both ways, .*\)$/);
    assertMatch(proof[0], /^before the first map/);
    assertMatch(copied[0], /^0 bytes between host and device .*counted; the driver moved 0$/);
    assertMatch(copied[1], /^\d{8} bytes in 5 runs by copying$/);
    assertMatch(time[0], /^ +mapping +copying$/);
    assertEquals(time.slice(1, 10).map((row) => row.slice(0, 16).trimEnd()), STEPS);
    for (const row of time.slice(1, 10)) assertMatch(row.slice(16), /^ +\d+\.\d\d ms +\d+\.\d\d ms$/);
    assertEquals(result, [
      "identical to the host's, 838656 pixels",
      "by copying: identical to the host's, 838656 pixels",
    ]);
    assertMatch(inShort[0], /^zero-copy: /);
    assertEquals(wrote, [out]);
    assertEquals(await sizeOf(out), [1024, 819, "png"]);
  },
);

testWith(noLayer, "demo: on a device with memory of its own it says migrate, the bytes, and no proof", async () => {
  const { code, stdout } = await demo([], { ...POCL, ...layerEnv("kernel") });
  assertEquals(code, 0, stdout);
  const { route, proof, copied, result } = sections(stdout);
  assertMatch(route[0], /^pixels +host→opencl: migrate, 3354624 bytes moved \(/);
  for (const line of route) assertStringIncludes(line, "host→opencl: migrate, ");
  assertMatch(copied[0], /^0 bytes between host and device .*counted; the driver moved \d{8}$/);
  assertEquals(result[0], "identical to the host's, 838656 pixels");
  assertMatch(sections(stdout)["in short"][0], /^not zero-copy on this device: /);
  assertEquals(proof, undefined);
});

const WITHOUT: readonly { what: string; env: Record<string, string>; words: string; missing?: string | undefined }[] = [
  { what: "the OpenCL library", env: { SAMEPAGE_LIB_OPENCL: "/nonexistent" }, words: "/nonexistent" },
  {
    what: "a driver",
    env: { OCL_ICD_VENDORS: "/nonexistent" },
    words: "OpenCL has no device. Install a driver",
    missing: noPoCL,
  },
];

testWith(noPoCL, "demo: a device that was asked for by name has to be there", async () => {
  const { code, stderr } = await demo([], { SAMEPAGE_OPENCL_DEVICE: "no such platform" });
  assertEquals(code, 1);
  assertMatch(stderr, /^No OpenCL device fits SAMEPAGE_OPENCL_DEVICE=no such platform\. Name part .* there is .*\n$/);
});

for (const { what, env, words, missing } of WITHOUT) {
  testWith(missing, `demo: without ${what} it runs on the host, and says what is missing`, async () => {
    await using folder = await temporaryFolder();
    const out = join(folder.path, "edges.png");
    const { code, stdout, stderr } = await demo(["--out", out], env);
    assertEquals([code, stderr], [0, ""], stdout);
    const { device, time, wrote } = sections(stdout);
    assertMatch(device[0], /^none\. .+\.$/);
    assertStringIncludes(device[0], words);
    assertMatch(time[0], /^[\d.]+ ms on the host, in TypeScript$/);
    assertEquals(wrote, [out]);
    assertEquals(await sizeOf(out), [1024, 819, "png"]);
  });
}

Deno.test("demo: a photograph of 24 megapixels takes less than 2 GB", async () => {
  await using folder = await temporaryFolder();
  const [photo, program] = [join(folder.path, "photo.jpg"), join(folder.path, "measure.ts")];
  await sharp(join(ROOT, "examples/edges/photo.jpg")).resize(6000, 4000, { fit: "fill" }).jpeg().toFile(photo);
  await Deno.writeTextFile(
    program,
    `await import(${JSON.stringify(toFileUrl(join(ROOT, "examples/edges/main.ts")).href)});
     console.log(Deno.readTextFileSync("/proc/self/status"));`,
  );
  const args = ["run", "-A", "--frozen", "--config", join(ROOT, "deno.json"), program, photo];
  const { code, stdout, stderr } = await exec(Deno.execPath(), [...args, "--out", join(folder.path, "edges.png")]);
  assertEquals([code, stderr], [0, ""], stdout);
  const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(stdout)?.[1]);
  assert(peak < 2e6, `${peak} kB of memory at the peak`);
});

Deno.test("demo: a file that is not a picture ends in a sentence", async () => {
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

Deno.test("demo: a FIFO as its output or its photo ends in a sentence, and is not waited for", async () => {
  await using folder = await temporaryFolder();
  const fifo = join(folder.path, "fifo");
  await exec("mkfifo", [fifo]);
  for (const args of [["--out", fifo], [fifo]]) {
    const run = ["--kill-after=1", "60", Deno.execPath(), "run", "-A", "examples/edges/main.ts", ...args];
    const { code, stderr } = await exec("timeout", run, { env: { SAMEPAGE_LIB_OPENCL: "/none" } });
    assertEquals(code, 1, "124: it was waited for");
    assertMatch(stderr, /^[^\n]+fifo cannot be (?:read|written): it is not a regular file\.\n$/);
  }
});

Deno.test({
  name: `demo: a full disk ends in a sentence${noSmallDisk === undefined ? "" : ` (skipped: needs ${noSmallDisk})`}`,
  ignore: noSmallDisk !== undefined,
  fn: () =>
    onSmallDisk(4 * 4096, async (folder) => {
      const out = join(folder, "edges.png");
      await Deno.writeTextFile(out, "old");
      const { code, stderr } = await demo(["--out", out], { SAMEPAGE_LIB_OPENCL: "/none" });
      assertEquals(code, 1);
      assertMatch(stderr, /^[^\n]+edges\.png cannot be written: No space left on device[^\n]+\n$/);
      assertEquals(await Deno.readTextFile(out), "old");
      assertEquals((await Array.fromAsync(Deno.readDir(folder))).length, 1);
    }),
});

Deno.test("demo: --help says how to use it, and does nothing", async () => {
  const { code, stdout, stderr } = await demo(["--help"]);
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /^Usage: deno task demo \[photo\] \[--out file\]$/m);
  assert(!stdout.includes("wrote"));
});
