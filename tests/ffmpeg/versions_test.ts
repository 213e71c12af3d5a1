// Later FFmpegs than the installed one: the same tests in processes of their own, and libraries that do not belong together.

import { basename, dirname, join } from "@std/path";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { FFMPEG_8, ffmpegEnv, hasWheels } from "../../tasks/setup/wheels.ts";
import * as v57 from "../../ffi/avutil57/constants.ts";
import * as v59 from "../../ffi/avutil59/constants.ts";
import * as v60 from "../../ffi/avutil60/constants.ts";
import * as v61 from "../../ffi/avutil61/constants.ts";

const isHere = await hasWheels(FFMPEG_8);
const FILES = [
  ...["attach_test.ts", "lent_test.ts", "formats_test.ts", "side_data_test.ts", "decode_test.ts"],
  ...["encode_test.ts", "into_test.ts", "pool_test.ts", "log_test.ts", "nvdec_test.ts"],
];

/** Runs Deno here, with variables. Returns what it prints. */
async function printed(args: string[], env: Record<string, string>): Promise<string> {
  const cwd = new URL("../..", import.meta.url);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, env: { ...env, NO_COLOR: "1" }, cwd })
    .output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: isHere ? name : `${name} (not here: ${FFMPEG_8.folder})`, ignore: !isHere, fn });
}

for (const file of FILES) {
  test(`FFmpeg 8: ${file}`, async () => {
    const args = ["test", "-A", "--no-check", "--v8-flags=--expose-gc", `tests/ffmpeg/${file}`];
    const said = await printed(args, ffmpegEnv());
    const isWhole = !/not here: (?!FFmpeg 5)/.test(said); // one test needs FFmpeg 5
    assert(/\| [1-9]\d* passed \| 0 failed/.test(said) && isWhole, said);
  });
}

const OPENS = `import { coding } from "./src/ffmpeg/library.ts";
try { console.log(coding().codec.avcodec_version() >>> 16); } catch (error) { console.log(error.fn, error.message); }`;

/** What comes of opening these files, by the names of their libraries. */
async function opening(files: Record<string, string>): Promise<string> {
  return (await printed(["eval", OPENS], files)).trim();
}

test("FFmpeg 8: its three libraries open together", async () => {
  assertEquals(await opening(ffmpegEnv()), "62");
});

test("refused: a libavcodec of another release", async () => {
  const said = await opening({ SAMEPAGE_LIB_FFMPEG_CODEC: ffmpegEnv().SAMEPAGE_LIB_FFMPEG_CODEC });
  assertMatch(said, /^avcodec_version libavcodec has version 62, and 59 belongs to the libavutil that is open\./);
});

/** Each library in a file of its own, beside the one that the others need: which check finds that, and its words. */
const COPIED = [
  ["SAMEPAGE_LIB_FFMPEG", "av_version_info libavcodec uses another libavutil than the one that is open."],
  ["SAMEPAGE_LIB_FFMPEG_CODEC", "avcodec_configuration libavformat uses another libavcodec than the one that is open."],
] as const;

for (const [variable, words] of COPIED) {
  test(`refused: a library of the same version that is another file: ${variable}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      const file = ffmpegEnv()[variable];
      for (const { name } of Deno.readDirSync(dirname(file))) {
        await Deno.symlink(join(dirname(file), name), join(folder, name));
      }
      // Under its own name, the loader would take it for the one that the others need.
      const other = basename(file).replace("-", "_");
      const bytes = await Deno.readFile(file);
      renamed(bytes, basename(file), other);
      await Deno.writeFile(join(folder, other), bytes);
      const said = await opening({ ...ffmpegEnv(), [variable]: join(folder, other) });
      assert(said.startsWith(words), said);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

/** Puts a text in place of each that is as long. */
function renamed(bytes: Uint8Array, from: string, to: string): void {
  const [old, now] = [from, to].map((text) => new TextEncoder().encode(text));
  for (let at = bytes.indexOf(old[0]); at >= 0; at = bytes.indexOf(old[0], at + 1)) {
    if (old.every((byte, i) => bytes[at + i] === byte)) bytes.set(now, at);
  }
}

Deno.test("FFmpeg's constants, of which one set is used for all versions, are the same in each", () => {
  for (const later of [v59, v60, v61]) {
    const same = Object.fromEntries(Object.keys(v57).map((name) => [name, later[name as keyof typeof later]]));
    assertEquals(same, { ...v57 });
  }
});
