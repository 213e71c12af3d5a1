/** Files, decoded in place, beside what the `ffmpeg` program makes of them. */
import { assert, assertEquals, assertInstanceOf, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { toFileUrl } from "@std/path";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  type HostTensor,
  InteropError,
  ledger,
  MapperGraph,
  NativeCallError,
} from "@samepage/interop";
import { type DecodeOptions, FFmpegContext, type FileSource } from "@samepage/interop/ffmpeg";
import type { Address } from "../../ffi/address.ts";
import { avutil } from "../../src/ffmpeg/library.ts";
import { assertAlive } from "../alive.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { runModule } from "../process.ts";
import { warningsOf } from "../warnings.ts";
import { bytesOf, concat } from "./bytes.ts";
import { clip, decodedByProgram, missing } from "./clips.ts";

interface There {
  readonly ffmpeg: FFmpegContext;
  readonly graph: MapperGraph;
}

function test(name: string, fn: (there: There) => unknown): void {
  Deno.test({
    name: `decode: ${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      const [alive, fds] = [ledger.alive, openFds()];
      {
        using ffmpeg = FFmpegContext.open();
        using graph = new MapperGraph([host, ffmpeg]);
        await fn({ ffmpeg, graph });
      }
      await assertAlive(alive, "alive after the test");
      assertOpenFds(fds);
    },
  });
}

async function framesOf(
  { ffmpeg, graph }: There,
  source: FileSource,
  options?: DecodeOptions,
): Promise<{ pts: bigint; seconds: number; bytes: Uint8Array; width: number }[]> {
  const frames = [];
  for await (using frame of ffmpeg.decode(source, options)) {
    const { pts, timeBase } = frame.info.media!;
    const seconds = Number(pts) * timeBase![0] / timeBase![1];
    const width = "width" in frame.info ? frame.info.width : 0;
    frames.push({ pts: pts!, seconds, bytes: bytesOf(frame, graph), width });
  }
  return frames;
}

const SIZE = 160 * 120 * 3 / 2;

for (const name of ["h264.mp4", "h264.mkv", "h264.ts"] as const) {
  test(`${name}: the pictures of the ffmpeg program, in order`, async (there) => {
    const path = await clip(name);
    const wanted = await decodedByProgram(path, "-f", "rawvideo");
    const frames = await framesOf(there, path);
    assertEquals(frames.length, 50);
    frames.forEach(({ bytes }, i) => assertEquals(bytes, wanted.slice(i * SIZE, (i + 1) * SIZE), `frame ${i}`));
    frames.slice(1).forEach(({ seconds }, i) => assert(Math.abs(seconds - frames[i].seconds - 0.04) < 0.002));
  });

  test(`${name}: from a time on, exactly`, async (there) => {
    const path = await clip(name);
    const all = await framesOf(there, path);
    for (const index of [0, 1, 11, 12, 13, 31, 49]) {
      const from = all[index].seconds - all[0].seconds - 0.01;
      const frames = await framesOf(there, path, { from: Math.max(0, from) });
      assertEquals(frames.map(({ pts }) => pts), all.slice(index).map(({ pts }) => pts), `from frame ${index}`);
      assertEquals(frames[0].bytes, all[index].bytes);
    }
    assertEquals(await framesOf(there, path, { from: 3 }), []);
  });
}

test("decode() goes back in growing steps where a seek comes too late", async () => {
  const text = `
    import { FFmpegContext } from "@samepage/interop/ffmpeg";
    import { setTap } from "./src/core/native/library.ts";
    let seeks = 0;
    setTap((api, functions) => {
      if (api !== "ffmpeg_format") return functions;
      return { ...functions, avformat_seek_file: (...given) => (seeks++, functions.avformat_seek_file(...given)) };
    });
    using ffmpeg = FFmpegContext.open();
    let count = 0;
    for await (using frame of ffmpeg.decode("${await clip("one_key.ts")}", { from: 15.5 })) count++;
    console.log(count, seeks);
  `;
  const { stdout } = await runModule(text);
  assertEquals(stdout, "45 6\n"); // 1, 2, 4 and 8 seconds earlier, and before the start
});

test("decode() with progress ends its line after all frames, after an error, and after the loop's", async () => {
  const text = `
    import { FFmpegContext } from "@samepage/interop/ffmpeg";
    using ffmpeg = FFmpegContext.open();
    for (const from of [0, 1]) {
      for await (using frame of ffmpeg.decode("${await clip("h264.mp4")}", { progress: true, from }));
    }
    const bytes = Deno.readFileSync("${await clip("small.png")}");
    const damaged = ffmpeg.decode(bytes.subarray(0, bytes.length / 2), { progress: true });
    await (async () => { for await (using frame of damaged); })().catch(() => {});
    for await (using frame of ffmpeg.decode("${await clip("h264.ts")}", { progress: true, from: 1 })) break;
    const controller = new AbortController();
    const stopped = ffmpeg.decode("${await clip("h264.mkv")}", { progress: true, signal: controller.signal });
    const work = (async () => { for await (using frame of stopped) controller.abort(); })();
    await work.catch(({ name }) => console.log(name));
  `;
  const { code, stdout } = await runModule(text, { columns: 100 });
  assertEquals(code, 0, stdout);
  const ends = stdout.split("\r\n").map((line) => line.split("\r\x1b[K").at(-1)!);
  const [all, second, ...others] = ends.filter((line) => !line.startsWith("samepage: "));
  assertMatch(all, /^█{20} 100 %, 50 frames, \d+\.\d a second, 0:00 left$/);
  assertMatch(second, /^█{20} 100 %, 25 frames, /);
  assertMatch(others[0], /^█{0,8}░+ [1-4]?\d %, [1-9] frames, /, "after a break");
  assertMatch(others[1], /^(█|░){20} \d+ %, [1-9] frames, /, "after an abort");
  assertEquals(others.slice(2), ["AbortError", ""]);
});

test("a path, a file: URL and bytes are the same", async (there) => {
  const path = await clip("h264.mp4");
  const frames = await framesOf(there, path);
  for (const source of [toFileUrl(path), toFileUrl(path).href, await Deno.readFile(path)]) {
    assertEquals(await framesOf(there, source), frames);
  }
});

test("sound is the program's, and has no facts of pictures", async (there) => {
  const path = await clip("sound.wav");
  const wanted = await decodedByProgram(path, "-f", "s16le");
  const frames = await framesOf(there, path, { stream: "audio" });
  const bytes = concat(frames.map(({ bytes }) => bytes));
  assert(bytes.length === wanted.length && bytes.every((byte, i) => byte === wanted[i]));
  for await (using frame of there.ffmpeg.decode(path, { stream: 0 })) {
    assertEquals(Object.keys(frame.info.media!).sort(), ["duration", "keyFrame", "pts", "timeBase"]);
  }
});

test("info() describes the streams", async ({ ffmpeg }) => {
  await using decoder = ffmpeg.decode(await clip("h264.mp4"), { stream: "audio" });
  const { streams: [video, audio], stream, duration, format } = await decoder.info();
  assertMatch(format, /mp4/);
  assert(Math.abs(duration! - 2) < 0.1);
  assertEquals([video.type, video.codec, video.width, video.height, video.format], [
    ...["video", "h264", 160, 120, "yuv420p"],
  ]);
  assertEquals([video.frameRate, video.sampleAspect], [[25, 1], [1, 1]]);
  assertEquals([audio.type, audio.codec, audio.sampleRate, audio.channels, audio.format], [
    ...["audio", "aac", 44100, 1, "f32"],
  ]);
  assertEquals(stream, audio);
});

test("DL Streamer 3: frames are FFmpeg's own memory, and outlive the loop and the decoder", async ({ ffmpeg, graph }) => {
  const path = await clip("h264.mp4");
  const wanted = await decodedByProgram(path, "-f", "rawvideo");
  const kept: Frame[] = [];
  for await (const frame of ffmpeg.decode(path)) kept.push(frame);
  assertEquals(new Set(kept.map(({ handle }) => handle)).size, 50);
  kept.forEach((frame, i) => assertEquals(bytesOf(frame, graph), wanted.slice(i * SIZE, (i + 1) * SIZE)));
  assertEquals(ffmpeg.bytesCopied, 0);
  for (const frame of kept) frame[Symbol.dispose]();
});

test("a frame that only the program refers to can be written", async ({ ffmpeg, graph }) => {
  for await (using frame of ffmpeg.decode(await clip("sound.wav"), { stream: "audio" })) {
    assertEquals(frame.access, "read-write");
    {
      using mapped = graph.map(frame, host, { access: "read-write" }) as Frame<HostTensor>;
      mapped.planes[0].bytes().fill(1);
    }
    using mapped = graph.map(frame, host, { access: "read" });
    const { hint } = assertThrows(() => mapped.assertUsable("write"), AccessError);
    assertEquals(hint, 'Ask for it when it is made: { access: "read-write" }.', "the decoder reads it no more");
  }
});

test("a frame that the decoder goes on to read can be read only", async ({ ffmpeg, graph }) => {
  let count = 0;
  for await (using frame of ffmpeg.decode(await clip("h264.mp4"), { threads: 1 })) {
    if (avutil().fns.av_frame_is_writable(frame.handle as Address) !== 0) continue;
    assertEquals(frame.access, "read");
    assertThrows(
      () => graph.map(frame, host, { access: "write" }),
      AccessError,
      "The decoder makes later frames of it",
    );
    count++;
  }
  assert(count > 0);
});

test("packets without bytes, for pictures that are the ones before, are neither an end nor an error", async (there) => {
  const path = await clip("theora.ogv");
  const wanted = await decodedByProgram(path, "-fps_mode", "passthrough", "-f", "rawvideo");
  assertEquals(concat((await framesOf(there, path)).map(({ bytes }) => bytes)), wanted);
});

test("a pixel's shape that the file alone knows", async ({ ffmpeg }) => {
  for await (using frame of ffmpeg.decode(await clip("wide.mov"))) {
    assertEquals(frame.info.media!.sampleAspect, [4, 3]);
  }
});

test("a signal that outlives its decoders keeps nothing of them", async ({ ffmpeg }) => {
  const { signal } = new AbortController();
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...given: Parameters<typeof add>) => (listeners++, add(...given));
  signal.removeEventListener = (...given: Parameters<typeof remove>) => (listeners--, remove(...given));
  const decoder = ffmpeg.decode(await clip("picture.png"), { signal });
  assertEquals(listeners, 1);
  for await (using _ of decoder) { /* its only one */ }
  assertEquals(listeners, 0);
});

test("a loop that breaks ends the decoder", async ({ ffmpeg }) => {
  const decoder = ffmpeg.decode(await clip("long.mp4"));
  let count = 0;
  for await (using _ of decoder) if (++count === 3) break;
  assertThrows(() => decoder[Symbol.asyncIterator](), InteropError, "taken by another loop");
  assertEquals(decoder.resource.state, "freed");
});

test("a loop that throws ends the decoder", async ({ ffmpeg }) => {
  const decoder = ffmpeg.decode(await clip("long.mp4"));
  await assertRejects(
    async () => {
      for await (using _ of decoder) throw new Error("the program's");
    },
    Error,
    "the program's",
  );
  assertEquals(decoder.resource.state, "freed");
});

for (const blocking of [true, false]) {
  test(`disposed (${blocking ? "at once" : "async"}) while a read is in flight`, async ({ ffmpeg }) => {
    for (const turns of [0, 0, 0, 0, 1, 1, 1, 2, 2, 5, 20]) {
      const decoder = ffmpeg.decode(await clip("long.mp4"));
      const frames = decoder[Symbol.asyncIterator]();
      const first = frames.next().then(({ value }) => value, (error) => error);
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setTimeout(resolve));
      if (blocking) decoder[Symbol.dispose]();
      else await decoder[Symbol.asyncDispose]();
      const settled = await first;
      if (settled instanceof Error) assertInstanceOf(settled, DisposedError);
      else settled[Symbol.dispose]();
      await frames.next().catch((error) => assertInstanceOf(error, DisposedError));
      await decoder[Symbol.asyncDispose]();
      assertEquals(decoder.resource.state, "freed");
    }
  });
}

test("disposed in the loop", async ({ ffmpeg }) => {
  const decoder = ffmpeg.decode(await clip("long.mp4"));
  await assertRejects(async () => {
    for await (using _ of decoder) decoder[Symbol.dispose]();
  }, DisposedError);
});

test("a context that ends before its decoder", async ({ graph: _ }) => {
  const ffmpeg = FFmpegContext.open();
  const frames = ffmpeg.decode(await clip("long.mp4"))[Symbol.asyncIterator]();
  const { value: frame } = await frames.next();
  await ffmpeg[Symbol.asyncDispose]();
  assertEquals((frame as Frame).planes[0].resource.isLive, false);
  await assertRejects(() => frames.next(), DisposedError);
});

test("an aborted signal ends a decoder without a call to it", async ({ ffmpeg }) => {
  const controller = new AbortController();
  const decoder = ffmpeg.decode(await clip("h264.mp4"), { signal: controller.signal });
  await decoder.info();
  controller.abort();
  assertThrows(() => decoder.usable(), DisposedError);
  await decoder[Symbol.asyncDispose]();
});

for (const [name, what] of [["raw.mkv", "demuxer"], ["long.mp4", "parser"]] as const) {
  test(`a read that an aborted signal has stopped in the middle says nothing of its packet: ${what}`, async ({ ffmpeg }) => {
    const path = await clip(name);
    const warnings = await warningsOf(async () => {
      for (let i = 0; i < 60; i++) {
        const controller = new AbortController();
        let count = 0;
        for await (using _ of ffmpeg.decode(path, { signal: controller.signal, threads: 1 })) {
          if (++count < 3) continue; // what came before was read to find out what the file is
          for (const until = performance.now() + (i % 20) / 20; performance.now() < until;);
          controller.abort();
          break;
        }
      }
    });
    assertEquals(warnings, []);
  });
}

test("an aborted signal ends the loop with its reason", async ({ ffmpeg }) => {
  const path = await clip("long.mp4");
  const reason = new Error("enough");
  const before = ffmpeg.decode(path, { signal: AbortSignal.abort(reason) });
  assertEquals(await before.info().catch((error) => error), reason);
  before[Symbol.dispose]();
  const controller = new AbortController();
  let count = 0;
  const thrown = await assertRejects(async () => {
    for await (using _ of ffmpeg.decode(path, { signal: controller.signal })) {
      if (++count === 5) controller.abort(reason);
    }
  });
  assertEquals([thrown, count], [reason, 5]);
});

async function ofBytes({ ffmpeg }: There, bytes: Uint8Array, options?: DecodeOptions) {
  let [count, error]: [number, unknown] = [0, undefined];
  const decoder = ffmpeg.decode(bytes, options);
  try {
    for await (using _ of decoder) count++;
  } catch (caught) {
    assertInstanceOf(caught, InteropError);
    error = caught;
  }
  return { count, error, damaged: decoder.damaged };
}

test("a file that is cut in half", async (there) => {
  const half = async (name: Parameters<typeof clip>[0]) => {
    const bytes = await Deno.readFile(await clip(name));
    return await ofBytes(there, bytes.subarray(0, bytes.length / 2));
  };
  for (const name of ["h264.mp4", "h264.mkv", "h264.ts"] as const) {
    const { count, error, damaged } = await half(name);
    assertEquals([error, damaged > 0], [undefined, name === "h264.mp4"]);
    assert(count > 5 && count < 45, `${count} frames of ${name}`);
  }
  const { error } = await half("small.mp4"); // what says where its frames are comes last
  assertInstanceOf(error, NativeCallError);
  assertEquals([error.fn, error.codeName], ["avformat_open_input", "AVERROR_INVALIDDATA"]);
});

test("a file without frames, and one without bytes", async (there) => {
  const sound = await Deno.readFile(await clip("sound.wav"));
  const header = sound.slice(0, 44);
  new DataView(header.buffer).setUint32(40, 0, true);
  assertEquals(await ofBytes(there, header, { stream: "audio" }), { count: 0, error: undefined, damaged: 0 });
  const { error } = await ofBytes(there, new Uint8Array());
  assertInstanceOf(error, NativeCallError);
  assertEquals([error.fn, error.codeName], ["avformat_open_input", "AVERROR_INVALIDDATA"]);
});

test("a size that changes in the middle", async (there) => {
  const [small, larger] = await Promise.all(
    [clip("h264.ts"), clip("larger.ts")].map(async (p) => Deno.readFile(await p)),
  );
  const both = new Uint8Array(small.length + larger.length);
  both.set(small);
  both.set(larger, small.length);
  const widths = (await framesOf(there, both)).map(({ width }) => width);
  assertEquals(widths.length, 75);
  assertEquals([...new Set(widths)], [160, 320]);
});

test("a codec that FFmpeg does not know", async (there) => {
  const bytes = await Deno.readFile(await clip("h264.mkv"));
  const at = new TextDecoder("latin1").decode(bytes).indexOf("V_MPEG4");
  bytes.set(new TextEncoder().encode("V_NONES"), at);
  const { error } = await ofBytes(there, bytes);
  assertInstanceOf(error, InteropError);
  assertMatch(error.message, /no decoder for none/);
});

test("a stream that is not there", async (there) => {
  const bytes = await Deno.readFile(await clip("sound.wav"));
  for (const stream of ["video", 1] as const) {
    const { error } = await ofBytes(there, bytes, { stream });
    assertInstanceOf(error, ArgumentError);
    assertMatch(error.message, /has no (video|stream 1 of video or audio)\. It has 0: audio \(pcm_s16le\)\./);
  }
});

for (
  const [name, why] of [
    ["palette.png", "its format is pal8: .*\\."],
    [
      "upwards.avi",
      "linesize\\[0\\] of its AVFrame is -192: its rows go upwards in memory, and a layout's go downwards\\.",
    ],
  ] as const
) {
  test(`${name}: frames that cannot be used in place are refused, with what to do`, async (there) => {
    const { count, error } = await ofBytes(there, await Deno.readFile(await clip(name)));
    assertInstanceOf(error, ArgumentError);
    assertMatch(error.message, new RegExp(`^source: frame 0 cannot be used in place: ${why} Convert it first, .*$`));
    assertEquals(count, 0);
  });
}

test("damage in the middle costs some frames", async (there) => {
  const bytes = await Deno.readFile(await clip("h264.ts"));
  for (let i = 0; i < 40; i++) bytes[Math.floor(bytes.length / 3) + 97 * i] ^= 0x55;
  const { count, error } = await ofBytes(there, bytes);
  assertEquals(error, undefined);
  assert(count > 20 && count <= 51, `${count} frames`);
});

test("packets of which a part is missing are counted, also where FFmpeg decodes them", async (there) => {
  const bytes = await Deno.readFile(await clip("h264.ts"));
  const [packet, middle] = [188, Math.floor(bytes.length / 188 / 2)];
  const without = concat([bytes.subarray(0, middle * packet), bytes.subarray((middle + 1) * packet)]);
  const { error, damaged } = await ofBytes(there, without);
  assertEquals([error, damaged > 0], [undefined, true]);
});

test("a playlist opens no other file, by whatever name", async (there) => {
  const path = await clip("h264.ts");
  const relative = path.slice(Deno.cwd().length + 1);
  const texts = [
    `ffconcat version 1.0\nfile ${relative}\n`,
    `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n${path}\n#EXT-X-ENDLIST\n`,
  ];
  for (const text of texts) {
    const { count, error } = await ofBytes(there, new TextEncoder().encode(text));
    assertEquals(count, 0);
    assertInstanceOf(error, NativeCallError);
  }
});

test("a FIFO is refused at once, and a file that a link leads to is read", async ({ ffmpeg }) => {
  const folder = await Deno.makeTempDir();
  try {
    const { success } = await new Deno.Command("mkfifo", { args: [`${folder}/fifo.mp4`] }).output();
    assert(success);
    assertThrows(() => ffmpeg.decode(`${folder}/fifo.mp4`), ArgumentError, "is not a regular file");
    assertThrows(() => ffmpeg.decode(folder), ArgumentError, "source: ");
    await Deno.symlink(await clip("picture.png"), `${folder}/link`);
    let count = 0;
    for await (using _ of ffmpeg.decode(`${folder}/link`)) count++;
    assertEquals(count, 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test("DL Streamer 11: a plane does not outlive its frame, nor a map of it", async ({ ffmpeg, graph }) => {
  for await (const frame of ffmpeg.decode(await clip("picture.png"))) {
    const [plane] = frame.planes;
    const mapped = graph.map(plane, host, { access: "read" }) as HostTensor;
    const view = mapped.view();
    frame[Symbol.dispose]();
    assertEquals(view.length, 0);
    assertThrows(() => graph.map(plane, host), DisposedError);
    assertThrows(() => mapped.view(), DisposedError);
  }
});

test("DL Streamer 15: several decoders at the same time", async (there) => {
  const path = await clip("h264.mp4");
  const [first, ...others] = await Promise.all([1, 2, 3, 4].map((threads) => framesOf(there, path, { threads })));
  for (const frames of others) assertEquals(frames, first);
});

test("a Worker that is terminated while it opens, reads and decodes", async () => {
  const url = new URL("workers/decode.ts", import.meta.url).href;
  const text = `
    for (let i = 0; i < 12; i++) {
      const worker = new Worker(${JSON.stringify(url)}, { type: "module" });
      const begun = new Promise((resolve) => worker.onmessage = resolve);
      worker.postMessage(${JSON.stringify(await clip("long.mp4"))});
      await begun;
      await new Promise((resolve) => setTimeout(resolve, 7 * i));
      worker.terminate();
    }
    console.log("all");`;
  const { code, signal, late, stdout, stderr } = await runModule(text);
  assertEquals({ code, signal, late, stdout, stderr }, {
    ...{ code: 0, signal: null, late: false, stdout: "all\n", stderr: "" },
  });
});

test("a decoder that is forgotten is ended, with a warning", async () => {
  const text = `
    import { ledger } from "@samepage/interop";
    import { FFmpegContext } from "@samepage/interop/ffmpeg";
    using ffmpeg = FFmpegContext.open();
    await (async () => {
      const decoder = ffmpeg.decode(${JSON.stringify(await clip("sound.wav"))}, { stream: "audio" });
      await decoder.info();
    })();
    for (let i = 0; i < 3000 && ledger.alive["ffmpeg.file"] !== undefined; i++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    console.log(String(ledger));`;
  const { stdout, stderr } = await runModule(text);
  assertEquals(stdout, "ledger: nothing is alive\n");
  assertMatch(stderr, /^samepage: FFmpeg decoder was never disposed/);
});
