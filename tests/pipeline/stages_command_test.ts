// The command: what it makes, and its sentences for what is wrong.
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { decode } from "@samepage/interop/pipeline";
import { clip, missing } from "../ffmpeg/clips.ts";
import { unary } from "../inference/onnx.ts";
import { DETECTOR, LIBRARY } from "../onnxruntime/open.ts";
import { HERE } from "../opencl/help.ts";
import { deno } from "../process.ts";
import { inFolder } from "./folder.ts";

const lacking = missing ?? (HERE.includes("pocl") ? undefined : "PoCL");
const EDGES = "examples/video-edges/edges.cl";

function test(name: string, isThere: boolean, run: (folder: string) => Promise<void>): void {
  const ignore = lacking !== undefined || !isThere;
  Deno.test({
    name: `pipeline: ${name}${ignore ? ` (not here: ${lacking ?? "deno task setup inference"})` : ""}`,
    ignore,
    fn: () => inFolder(run),
  });
}

const env: Record<string, string> = LIBRARY === undefined ? {} : { SAMEPAGE_LIB_ONNXRUNTIME: LIBRARY };

async function command(...args: string[]) {
  return await deno(["run", "-A", "--no-check", "src/pipeline/mod.ts", ...args], { limit: 60, env });
}

test("the command filters a clip, and says what it did", true, async (folder) => {
  const out = `${folder}/out.mkv`;
  const { code, stdout, stderr } = await command("run", await clip("h264.mkv"), `--filter=${EDGES}`, `--out=${out}`);
  assertEquals(code, 0, stderr);
  assertMatch(stdout, /^edges +50 frames/m);
  assertMatch(stdout, /^50 frames, .* 0 bytes moved$/m);
  using ffmpeg = FFmpegContext.open();
  let count = 0;
  for await (using _ of decode(ffmpeg, out)) count++;
  assertEquals(count, 50);
});

test(
  "the command filters, detects and encodes in one, with all of its options",
  LIBRARY !== undefined,
  async (folder) => {
    const [filter, out] = [`${folder}/two.cl`, `${folder}/out.mkv`];
    Deno.writeTextFileSync(filter, `${Deno.readTextFileSync(EDGES)}kernel void other(global uchar *plane) {}`);
    const options = [`--filter=${filter}`, "--kernel=edges", `--detect=${DETECTOR}`, `--out=${out}`];
    const how = ["--codec=ffv1", "--frames=6", "--json"];
    const { code, stdout, stderr } = await command("run", await clip("larger.ts"), ...options, ...how);
    assertEquals(code, 0, stderr);
    const { frames, bytesMoved, stages } = JSON.parse(stdout);
    assertEquals([frames, bytesMoved], [25, 0]);
    assertEquals(stages.map(({ stage }: { stage: string }) => stage), [
      "decode",
      "edges",
      "detect",
      "outline",
      "encode",
    ]);
    using ffmpeg = FFmpegContext.open();
    await using decoder = ffmpeg.decode(out);
    assertEquals((await decoder.info()).stream.codec, "ffv1");
  },
);

test("the command filters in place, and lists its options", true, async (folder) => {
  const filter = `${folder}/place.cl`;
  Deno.writeTextFileSync(filter, "kernel void place(global uchar *plane, int stride) { plane[get_global_id(0)] = 0; }");
  const { code, stdout, stderr } = await command("run", await clip("small.mkv"), `--filter=${filter}`);
  assertEquals(code, 0, stderr);
  assertMatch(stdout, /^copy +10 frames[^]*^place +10 frames/m);
  const help = await command("--help");
  const named = [...help.stdout.matchAll(/^ {2}--([a-z]+)/gm)].map(([, name]) => name);
  assertEquals([help.code, named], [0, ["filter", "kernel", "detect", "out", "codec", "frames", "explain", "json"]]);
});

test("the command detects objects, and explains itself", LIBRARY !== undefined, async () => {
  const source = await clip("h264.mkv");
  const explained = await command("run", source, `--detect=${DETECTOR}`, "--explain");
  assertEquals(explained.code, 0, explained.stderr);
  for (const stage of ["decode: I420 160 × 120", "detect: ", "copy: ", "outline: "]) {
    assertStringIncludes(explained.stdout, stage);
  }
  const { code, stdout, stderr } = await command("run", source, `--detect=${DETECTOR}`, "--json");
  assertEquals([code, JSON.parse(stdout).frames], [0, 50], stderr);
});

test("the command has a sentence for each mistake", LIBRARY !== undefined, async (folder) => {
  const source = await clip("small.mkv");
  Deno.writeTextFileSync(`${folder}/none.cl`, "int nothing(void) { return 0; }");
  Deno.writeTextFileSync(`${folder}/two.cl`, "kernel void a(global uchar *x) {} kernel void b(global uchar *x) {}");
  Deno.writeFileSync(`${folder}/sigmoid.onnx`, unary("Sigmoid", "f32", [1, 4]));
  const mistakes: readonly (readonly [args: string[], code: number, says: RegExp])[] = [
    [["run"], 2, /^Expected run and one clip\. --help shows the usage\.$/m],
    [["play", source], 2, /^Expected run and one clip\. --help shows the usage\.$/m],
    [["run", source, "--filtre=x.cl"], 2, /^Expected an option as --help shows it, got --filtre=x\.cl\.$/m],
    [["run", source, "--out"], 2, /^Expected an option as --help shows it, got --out\.$/m],
    [["run", source, "--frames=none"], 2, /--frames: expected a number/],
    [["run", source, "--codec=mpeg4"], 2, /^--codec does nothing without --out\.$/m],
    [["run", `${folder}/none.mp4`], 1, /none\.mp4: there is no such file\.$/m],
    [["run", source, `--filter=${folder}/none.cl`], 1, /none\.cl has no kernel\.$/m],
    [
      ["run", source, `--filter=${folder}/two.cl`],
      1,
      /two\.cl has several kernels: say which with --kernel=a, or --kernel=b/,
    ],
    [["run", source, `--filter=${folder}/two.cl`, "--kernel=c"], 1, /there is no kernel "c"/],
    [["run", source, `--detect=${folder}/none.cl`], 1, /none\.cl: expected an \.onnx file/],
    [["run", source, `--detect=${folder}/sigmoid.onnx`], 1, /expected a model that makes a map of probabilities/],
    [["run", folder], 1, /is not a file\.$/m],
  ];
  const outcomes: Awaited<ReturnType<typeof command>>[] = [];
  for (const [args] of mistakes) outcomes.push(await command(...args));
  mistakes.forEach(([args, code, says], i) => {
    assertEquals(outcomes[i].code, code, args.join(" "));
    assertMatch(outcomes[i].stderr, says);
    assertEquals(/^ +at /m.test(outcomes[i].stderr), false, outcomes[i].stderr); // a sentence, and no stack
  });
});
