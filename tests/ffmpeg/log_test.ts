// FFmpeg's log as warnings, which its threads write to a ring of lines by machine code.

import { assert, assertEquals } from "@std/assert";
import { AV_LOG_ERROR, AV_LOG_INFO, AV_LOG_PANIC, AV_LOG_WARNING } from "../../ffi/avcodec59/constants.ts";
import { avutil } from "../../src/ffmpeg/library.ts";
import { reportLog, takeLog } from "../../src/ffmpeg/log.ts";
import { runModule } from "../process.ts";
import { warningsOf } from "../warnings.ts";
import { cText } from "./frames.ts";
import { test } from "./open.ts";

/** The one that samepage opens. */
const LIBAVUTIL = Deno.env.get("SAMEPAGE_LIB_FFMPEG") ?? "libavutil.so.57";

const say = (level: number, text: string) => spoken().av_log(0n, level, cText(`${text}\n`));

let opened: ReturnType<typeof open> | undefined;
const open = () =>
  Deno.dlopen(LIBAVUTIL, {
    av_log: { parameters: ["u64", "i32", "buffer"], result: "void" }, // a format without arguments
    later: { name: "av_log", parameters: ["u64", "i32", "buffer"], result: "void", nonblocking: true },
  }).symbols;
const spoken = () => opened ??= open();

async function reportedOf(say: () => void | Promise<void>): Promise<string[]> {
  takeLog();
  reportLog(); // what was said before
  return await warningsOf(async () => {
    await say();
    reportLog();
  });
}

test("what FFmpeg warns of becomes warnings, each once for a file", async () => {
  const warnings = await reportedOf(() => {
    for (let i = 0; i < 3; i++) say(AV_LOG_WARNING, "something is odd");
    say(AV_LOG_ERROR | 0x1200, "in colour");
    say(AV_LOG_PANIC, "and grave");
    say(AV_LOG_INFO, "by the way");
  });
  const expected = ["something is odd", "in colour", "and grave"].map((text) => `samepage: FFmpeg: ${text}`);
  assertEquals(warnings, expected);
  assertEquals(await reportedOf(() => say(AV_LOG_ERROR, "in colour")), [expected[1]]);
});

test("what a file has put into a line cannot break a terminal's", async () => {
  const warnings = await reportedOf(() => say(AV_LOG_ERROR, "title \x1b[31mred\r\nand more"));
  assertEquals(warnings, ["samepage: FFmpeg: title \\u001b[31mred\\u000d\\nand more"]);
});

test("a program that wants less of FFmpeg's log gets less", async () => {
  const { fns } = avutil();
  const level = fns.av_log_get_level();
  try {
    fns.av_log_set_level(AV_LOG_PANIC);
    assertEquals(await reportedOf(() => say(AV_LOG_ERROR, "an error")), []);
    fns.av_log_set_level(-8);
    assertEquals(await reportedOf(() => say(AV_LOG_ERROR, "an error")), []);
  } finally {
    fns.av_log_set_level(level);
  }
});

test("a long line is cut, and one of two parts is two lines", async () => {
  const warnings = await reportedOf(() => {
    say(AV_LOG_ERROR, "x".repeat(5000));
    spoken().av_log(0n, AV_LOG_ERROR, cText("one, "));
    say(AV_LOG_ERROR, "two");
  });
  assertEquals(warnings.map((text) => text.replace("samepage: FFmpeg: ", "")), [
    `${"x".repeat(200)}… (247 characters)`,
    "one,",
    "two",
  ]);
});

test("lines that were not read in time are lost, and not mixed up", async () => {
  const warnings = await reportedOf(() => {
    for (let i = 0; i < 300; i++) say(AV_LOG_ERROR, `line ${i}`);
  });
  assertEquals(warnings.length, 11);
  assertEquals(warnings[0], "samepage: FFmpeg: line 236"); // the first of the last 64
  assertEquals(warnings[10], "samepage: FFmpeg has said more, which is left out.");
});

test("many threads write at once, and no line is torn", async () => {
  const texts = Array.from({ length: 8 }, (_, i) => String.fromCharCode(97 + i).repeat(50 + 20 * i));
  const seen = new Set<string>();
  takeLog();
  const warnings = await warningsOf(async () => {
    for (let round = 0; round < 200; round++) {
      const all = texts.map((text) => spoken().later(0n, AV_LOG_ERROR, cText(`${text}\n`)));
      reportLog();
      await Promise.all(all);
      reportLog();
    }
  });
  for (const warning of warnings) seen.add(warning.replace("samepage: FFmpeg: ", ""));
  assertEquals([...seen].sort(), [...texts].sort());
});

test("nothing goes to stderr, and the process ends while FFmpeg's threads write", async () => {
  const text = `
    import { takeLog } from "./src/ffmpeg/log.ts";
    const { symbols: { av_log } } = Deno.dlopen("${LIBAVUTIL}", {
      av_log: { parameters: ["u64", "i32", "buffer"], result: "void", nonblocking: true },
    });
    takeLog();
    const line = new TextEncoder().encode("words\\n\\0");
    await av_log(0n, 16, line);
    for (let i = 0; i < 1000; i++) av_log(0n, 16, line);
    Deno.exit(0);
  `;
  const { code, signal, stdout, stderr } = await runModule(text);
  assertEquals([code, signal, stdout, stderr], [0, null, "", ""]);
});

test("where no machine code may run, files are decoded without a log, and into is refused", async () => {
  const text = `
    import { host } from "@samepage/interop";
    import { FFmpegContext } from "@samepage/interop/ffmpeg";
    import { setTap } from "./src/core/native/library.ts";
    setTap((api, functions) => {
      if (api === "libc") Object.defineProperty(functions, "memfd_create", { value: () => -1 });
      return functions;
    });
    using ffmpeg = FFmpegContext.open();
    for await (using frame of ffmpeg.decode("${PHOTO}")) console.log(frame.info.format);
    await ffmpeg.decode("${PHOTO}", { into: host }).info().catch(({ name, fn }) => console.log(name, fn));
  `;
  const { code, stdout, stderr } = await runModule(text);
  assertEquals([code, stdout, stderr], [0, "YUV444\nNativeCallError memfd_create\n", ""]);
});

const PHOTO = new URL("../../examples/edges/photo.jpg", import.meta.url).pathname;

test("an isolate that ends leaves the log where it is, and the next one takes it", async () => {
  const source = `
    import { takeLog } from "${new URL("../../src/ffmpeg/log.ts", import.meta.url)}";
    takeLog();
    self.postMessage("taken");
  `;
  const url = URL.createObjectURL(new Blob([source], { type: "application/typescript" }));
  const worker = new Worker(url, { type: "module" });
  await new Promise((resolve) => worker.onmessage = resolve);
  worker.terminate();
  for (let i = 0; i < 100; i++) say(AV_LOG_ERROR, "to whom");
  const warnings = await reportedOf(() => say(AV_LOG_ERROR, "mine again"));
  assert(warnings.includes("samepage: FFmpeg: mine again"));
  assertEquals(warnings.length, 1);
});
