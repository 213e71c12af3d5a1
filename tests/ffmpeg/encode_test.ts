/** Frames, encoded into files, beside what comes back of those. */
import { assert, assertEquals, assertInstanceOf, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { toFileUrl } from "@std/path";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  Frame,
  host,
  type HostTensor,
  imageInfo,
  InteropError,
  ledger,
  MapperGraph,
  NativeCallError,
} from "@samepage/interop";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { type EncodeOptions, type Encoder, FFmpegContext, type FFmpegTensor } from "@samepage/interop/ffmpeg";
import { assertAlive } from "../alive.ts";
import { noSmallDisk, onSmallDisk } from "../full_disk.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { HERE, open as openOpenCL } from "../opencl/help.ts";
import { runModule } from "../process.ts";
import { avutil } from "../../src/ffmpeg/library.ts";
import { warningsOf } from "../warnings.ts";
import { bytesOf } from "./bytes.ts";
import { clip, decodedByProgram, missing } from "./clips.ts";

interface There {
  readonly ffmpeg: FFmpegContext;
  readonly graph: MapperGraph;
  /** An empty folder. */
  readonly folder: string;
}

function test(name: string, fn: (there: There) => unknown, lacking = missing): void {
  Deno.test({
    name: `encode: ${name}${lacking === undefined ? "" : ` (not here: ${lacking})`}`,
    ignore: lacking !== undefined,
    async fn() {
      const [alive, fds, folder] = [ledger.alive, openFds(), await Deno.makeTempDir()];
      try {
        using ffmpeg = FFmpegContext.open();
        using graph = new MapperGraph([host, ffmpeg]);
        await fn({ ffmpeg, graph, folder });
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
      await assertAlive(alive, "alive after the test");
      assertOpenFds(fds);
    },
  });
}

/** What is missing for an encoder that keeps a frame which a kernel reads: ffv1 of later releases keeps no frame. */
function lackingOfKept(): string | undefined {
  using ffmpeg = FFmpegContext.open();
  if (!ffmpeg.name.startsWith("FFmpeg 5.")) return "FFmpeg 5";
  return HERE.includes("pocl") ? undefined : "PoCL";
}

/** What comes of pixels that an encoder does not take: later releases list none where samepage looks, and FFmpeg refuses. */
function noFormat(words: string): [error: typeof InteropError, words: string] {
  const isListed = missing === undefined && avutil().structs.SupportedFormats !== undefined;
  return isListed ? [ArgumentError, words] : [NativeCallError, "avcodec_open2 failed"];
}

const names = (folder: string) => Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();

const I420 = imageInfo({ format: "I420", width: 160, height: 120 });

/** Writes pictures of the host's, each of one value. */
async function writeGray({ graph, ffmpeg }: There, out: Encoder, values: readonly number[], info = I420) {
  for (const value of values) {
    using picture = host.allocateFrame(info, { rowAlign: 64 });
    for (const plane of picture.planes) plane.bytes().fill(value);
    using mapped = graph.map(picture, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
    assertEquals(mapped.route!.bytesMoved, 0);
    await out.write(mapped);
  }
}

/** Decodes a clip into a file, and returns its frames' bytes. */
async function transcode(there: There, from: string, to: string, options: EncodeOptions): Promise<Uint8Array[]> {
  const frames: Uint8Array[] = [];
  await using out = there.ffmpeg.encode(to, options);
  const stream = options.codec?.startsWith("pcm") ? "audio" : "video";
  for await (using frame of there.ffmpeg.decode(from, { stream })) {
    frames.push(bytesOf(frame, there.graph));
    await out.write(frame);
  }
  await out.close();
  return frames;
}

async function decoded({ ffmpeg, graph }: There, path: string, stream: "video" | "audio" = "video") {
  const frames = [];
  for await (using frame of ffmpeg.decode(path, { stream })) {
    frames.push({ info: frame.info, bytes: bytesOf(frame, graph) });
  }
  return frames;
}

for (const [codec, name] of [["ffv1", "out.mkv"], ["rawvideo", "out.nut"]] as const) {
  test(`${codec} gives back the pixels that a decoder gave, bit by bit`, async (there) => {
    const path = `${there.folder}/${name}`;
    const frames = await transcode(there, await clip("h264.mp4"), path, { codec, frameRate: 25 });
    assertEquals(frames.length, 50);
    assertEquals((await decoded(there, path)).map(({ bytes }) => bytes), frames);
    assertEquals(names(there.folder), [name]);
  });
}

test("sound of a wave file gives back its samples", async (there) => {
  const [from, path] = [await clip("sound.wav"), `${there.folder}/out.wav`];
  await transcode(there, from, path, { codec: "pcm_s16le" });
  assertEquals(await decodedByProgram(path, "-f", "s16le"), await decodedByProgram(from, "-f", "s16le"));
});

test("sound in .m4a is written without a warning of the file's name", async (there) => {
  const path = `${there.folder}/out.m4a`;
  const warnings = await warningsOf(async () => {
    await using out = there.ffmpeg.encode(path);
    for await (using frame of there.ffmpeg.decode(await clip("h264.mp4"), { stream: "audio" })) await out.write(frame);
    await out.close();
  });
  assertEquals(warnings, []);
  assert((await decoded(there, path, "audio")).length > 80);
});

test("x264 in mp4: as many pictures, of the same times, for a file: URL", async (there) => {
  const [from, path] = [await clip("h264.mp4"), `${there.folder}/out.mp4`];
  const url = toFileUrl(path);
  await using out = there.ffmpeg.encode(url, {
    ...{ codec: "libx264", frameRate: [25, 1], bitRate: 400_000, threads: 1 },
    options: { preset: "ultrafast", movflags: "+faststart" },
  });
  for await (using frame of there.ffmpeg.decode(from)) await out.write(frame);
  await out.close();
  await out.close(); // a second close does nothing
  await using decoder = there.ffmpeg.decode(path);
  const { stream, duration } = await decoder.info();
  assertEquals([stream.codec, stream.width, stream.height, stream.frameRate], ["h264", 160, 120, [25, 1]]);
  assert(Math.abs(duration! - 2) < 0.05);
  const seconds = [];
  for await (using shown of decoder) {
    const { pts, timeBase } = shown.info.media!;
    seconds.push(Number(pts) * timeBase![0] / timeBase![1]);
  }
  assertEquals(seconds.map((at) => Math.round(at * 25)), Array.from({ length: 50 }, (_, i) => i));
});

test("the frame rate of a decoder's frames is the file's, without being asked for", async (there) => {
  const path = `${there.folder}/out.mp4`;
  await transcode(there, await clip("h264.ts"), path, { codec: "mpeg4" }); // counts up to 65535 a second, and .ts 90,000
  await using decoder = there.ffmpeg.decode(path);
  assertEquals((await decoder.info()).stream.frameRate, [25, 1]);
  for await (using frame of decoder) assertEquals(frame.info.media!.frameRate, [25, 1]);
});

test("frames half a unit beside the encoder's time keep their distance", async (there) => {
  const path = `${there.folder}/out.mkv`;
  await using out = there.ffmpeg.encode(path, { codec: "ffv1", frameRate: 30 });
  for (const pts of [17n, 50n, 83n, 117n, 150n]) { // milliseconds, from the middle of a 30th on
    await writeGray(there, out, [0], { ...I420, media: { pts, timeBase: [1, 1000] } });
  }
  await out.close();
  const seconds = (await decoded(there, path)).map(({ info: { media } }) => Number(media!.pts) / 1000);
  assertEquals(seconds.map((at) => Math.round(30 * (at - seconds[0]))), [0, 1, 2, 3, 4]);
});

test("pictures and sound in one file, whichever comes first", async (there) => {
  const from = await clip("h264.mp4");
  for (const first of ["video", "audio"] as const) {
    const path = `${there.folder}/${first}.mp4`;
    await using out = there.ffmpeg.encode(path, {
      ...{ codec: "libx264", frameRate: 25, options: { preset: "ultrafast" } },
      audio: { codec: "aac", bitRate: 64_000 },
    });
    for (const stream of first === "video" ? ["video", "audio"] as const : ["audio", "video"] as const) {
      for await (using frame of there.ffmpeg.decode(from, { stream })) await out.write(frame);
    }
    await out.close();
    await using decoder = there.ffmpeg.decode(path);
    const { streams } = await decoder.info();
    assertEquals(streams.map(({ codec }) => codec).sort(), ["aac", "h264"]);
    for (const { duration } of streams) assert(Math.abs(duration! - 2) < 0.1, `${duration} seconds`);
    assertEquals((await decoded(there, path)).length, 50);
  }
});

test("what a file's name stands for is encoded where no encoder is named", async (there) => {
  const wanted = { "a.png": "png", "a.jpg": "mjpeg", "a.webm": "vp9", "a.mp4": "h264", "a.gif": "gif" };
  const info = imageInfo({ format: "RGB", width: 32, height: 16 });
  for (const [name, codec] of Object.entries(wanted)) {
    const path = `${there.folder}/${name}`;
    await using out = there.ffmpeg.encode(path);
    const isPng = name === "a.png";
    if (name === "a.gif") {
      await assertRejects(() => writeGray(there, out, [9]), ...noFormat("gif takes rgb8, bgr8"));
      continue;
    }
    const colour = name === "a.jpg" ? { colour: { range: "full" as const } } : {};
    await writeGray(there, out, [130], isPng ? info : { ...I420, ...colour });
    await out.close();
    const [{ info: { format }, bytes }] = await decoded(there, path);
    assertEquals(format, isPng ? "RGB" : "I420");
    if (isPng) assert(bytes.every((byte) => byte === 130));
    await using decoder = there.ffmpeg.decode(path);
    assertEquals((await decoder.info()).stream.codec, codec);
  }
});

test("planes in memory of their own, and frames for reading alone", async (there) => {
  const { ffmpeg, graph, folder } = there;
  const planes = [[120, 160], [60, 80], [60, 80]].map((shape) => host.allocate({ shape, dtype: "u8" }));
  planes.forEach((plane, i) => plane.bytes().fill(10 + i));
  using picture = Frame.of(planes, I420);
  await using out = ffmpeg.encode(`${folder}/out.nut`, { codec: "rawvideo" });
  await using mapped = graph.map(picture, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
  await out.write(mapped);
  await out.write(mapped); // it comes 40 ms later
  await out.close();
  const [one, two] = await decoded(there, `${folder}/out.nut`);
  assertEquals(one.bytes, two.bytes);
  assertEquals(one.bytes, new Uint8Array(28_800).fill(10, 0, 19_200).fill(11, 19_200, 24_000).fill(12, 24_000));
});

test("a frame is written once the work on it is over", async (there) => {
  const { ffmpeg, graph, folder } = there;
  using picture = host.allocateFrame(I420);
  await using mapped = graph.map(picture, ffmpeg) as Frame<FFmpegTensor>;
  const { promise, resolve } = Promise.withResolvers<void>();
  mapped.planes[0].usedBy(host.signal(promise));
  await using out = ffmpeg.encode(`${folder}/out.nut`, { codec: "rawvideo" });
  let isWritten = false;
  const written = out.write(mapped).then(() => void (isWritten = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(isWritten, false);
  resolve();
  await written;
  await out.close();
});

test("a frame that is not like the first is refused, and the file goes on", async (there) => {
  const { ffmpeg, folder } = there;
  await using out = ffmpeg.encode(`${folder}/out.mkv`, { codec: "ffv1", frameRate: 25 });
  await writeGray(there, out, [1]);
  for (const [format, width] of [["I420", 162], ["YUV444", 160]] as const) {
    const error = await assertRejects(
      () => writeGray(there, out, [2], imageInfo({ format, width, height: 120 })),
      ArgumentError,
    );
    const words = `frame: expected I420 160 × 120, as the first frame was, got ${format} ${width} × 120.`;
    assert(error.message.startsWith(words), error.message);
  }
  await writeGray(there, out, [3]);
  await out.close();
  assertEquals((await decoded(there, `${folder}/out.mkv`)).map(({ bytes }) => bytes[0]), [1, 3]);
});

test("refused with the first frame: pixels that the encoder does not take", async (there) => {
  const out = there.ffmpeg.encode(`${there.folder}/a.avi`, { codec: "huffyuv" });
  await assertRejects(
    () => writeGray(there, out, [9]),
    ...noFormat("frame: huffyuv takes yuv422p, rgb24, bgra, and not yuv420p"),
  );
  await out[Symbol.asyncDispose]();
  assertEquals(names(there.folder), []);
});

test("a frame that is disposed before its turn fails its own write(), and the file goes on", async (there) => {
  const path = `${there.folder}/out.mkv`;
  await using out = there.ffmpeg.encode(path, { codec: "ffv1" });
  const [first, second, third] = await Array.fromAsync(there.ffmpeg.decode(await clip("small.mkv"))).then((all) => {
    for (const frame of all.splice(3)) frame[Symbol.dispose]();
    return all;
  });
  const writes = [first, second, third].map((frame) => out.write(frame));
  second[Symbol.dispose]();
  const [before, failed, after] = await Promise.allSettled(writes);
  assert(failed.status === "rejected" && failed.reason instanceof DisposedError);
  assertEquals([before.status, after.status], ["fulfilled", "fulfilled"]);
  for (const frame of [first, third]) frame[Symbol.dispose]();
  await out.close();
  assertEquals((await decoded(there, path)).length, 2);
});

test("frames have to come in order", async (there) => {
  const { ffmpeg, graph, folder } = there;
  await using out = ffmpeg.encode(`${folder}/out.mkv`, { codec: "ffv1", timeBase: [1, 1000] });
  const at = async (pts: bigint) => {
    using picture = host.allocateFrame({ ...I420, media: { pts, timeBase: [1, 30] } });
    using mapped = graph.map(picture, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
    await out.write(mapped);
  };
  await at(0n);
  await at(30n);
  const { message } = await assertRejects(() => at(30n), ArgumentError);
  assertMatch(message, /shown at 1000, and the one before at 1000, of 1\/1000 seconds/);
  await at(45n);
  await out.close();
  const shown = (await decoded(there, `${folder}/out.mkv`)).map(({ info }) => info.media!.pts);
  assertEquals(shown, [0n, 1000n, 1500n]);
});

test("refused: a codec's name, by the names of what encodes it", ({ ffmpeg, folder }) => {
  const { hint } = assertThrows(() => ffmpeg.encode(`${folder}/a.mkv`, { codec: "h264" }), ArgumentError);
  assertMatch(hint!, /^What encodes h264 here: (.*, )?libx264(,.*)?\.$/);
  assertEquals(names(folder), []);
});

const wrongs: readonly (readonly [name: string, path: string, options: EncodeOptions, words: RegExp])[] = [
  ["an encoder of sound", "a.mkv", { codec: "aac" }, /^codec: aac encodes no video/],
  ["a codec that the file cannot have", "a.mp4", { codec: "huffyuv" }, /^codec: /],
  ["sound alone in the file", "a.wav", {}, /^codec: FFmpeg has no encoder of video .*a\.wav/],
  ["a misspelt option", "a.mkv", { codec: "ffv1", options: { presset: 3 } }, /^options: .* an option presset/],
];

for (const [name, file, options, words] of wrongs) {
  test(`refused with the first frame: ${name}`, async (there) => {
    await using out = there.ffmpeg.encode(`${there.folder}/${file}`, options);
    const { message } = await assertRejects(() => writeGray(there, out, [1]), ArgumentError);
    assertMatch(message, words);
    await out[Symbol.asyncDispose]();
    assertEquals(names(there.folder), []);
  });
}

test("what ends in the middle leaves the folder as it was", async (there) => {
  const { ffmpeg, folder } = there;
  const path = `${folder}/out.mkv`;
  await Deno.writeTextFile(path, "old");
  {
    await using out = ffmpeg.encode(path, { codec: "ffv1", frameRate: 25 });
    await writeGray(there, out, [1, 2, 3]);
  }
  assertEquals([names(folder), await Deno.readTextFile(path)], [["out.mkv"], "old"]);
  const controller = new AbortController();
  const out = ffmpeg.encode(path, { codec: "ffv1", frameRate: 25, signal: controller.signal });
  await writeGray(there, out, [1]);
  const reason = new Error("enough");
  controller.abort(reason);
  assertEquals(await assertRejects(() => writeGray(there, out, [2])), reason);
  assertEquals(await assertRejects(() => out.close()), reason);
  await out[Symbol.asyncDispose]();
  assertEquals([names(folder), await Deno.readTextFile(path)], [["out.mkv"], "old"]);
  const none = ffmpeg.encode(path);
  await assertRejects(() => none.close(), InteropError, "no frame came");
  await assertRejects(() => writeGray(there, none, [1]), DisposedError, "was ended by a failure");
  const dark = ffmpeg.encode(`${folder}/dark.mp4`, { audio: {} });
  await writeGray(there, dark, [1]);
  await assertRejects(() => dark.close(), InteropError, "no frame of audio came");
  assertEquals([names(folder), await Deno.readTextFile(path)], [["out.mkv"], "old"]);
  const whole = ffmpeg.encode(path, { codec: "ffv1" });
  await writeGray(there, whole, [1]);
  await whole.close();
  await assertRejects(() => writeGray(there, whole, [1]), DisposedError, "FFmpeg encoder was closed");
  assertEquals((await decoded(there, path)).length, 1);
});

test("a signal that outlives its encoders keeps nothing of them", async (there) => {
  const { signal } = new AbortController();
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...given: Parameters<typeof add>) => (listeners++, add(...given));
  signal.removeEventListener = (...given: Parameters<typeof remove>) => (listeners--, remove(...given));
  await using out = there.ffmpeg.encode(`${there.folder}/out.mkv`, { codec: "ffv1", signal });
  assertEquals(listeners, 1);
  await writeGray(there, out, [1]);
  await out.close();
  assertEquals(listeners, 0);
});

test("a dispose while frames are being written ends after the one in flight", async (there) => {
  const { ffmpeg, folder } = there;
  const out = ffmpeg.encode(`${folder}/out.mkv`, { codec: "ffv1", frameRate: 25 });
  const written = Promise.allSettled([1, 2, 3, 4].map((value) => writeGray(there, out, [value])));
  await out[Symbol.asyncDispose]();
  const states = (await written).map(({ status }) => status);
  assertEquals(states.at(-1), "rejected");
  assertEquals(names(folder), []);
});

test("encode() with progress ends its line at close(), and where it is disposed before", async ({ folder }) => {
  const text = `
    import { FFmpegContext } from "@samepage/interop/ffmpeg";
    using ffmpeg = FFmpegContext.open();
    for (const progress of [true, { frames: 50 }, { frames: 100 }]) {
      await using out = ffmpeg.encode("${folder}/a.mkv", { codec: "ffv1", progress });
      for await (using frame of ffmpeg.decode("${await clip("h264.mkv")}")) await out.write(frame);
      if (progress.frames !== 100) await out.close();
    }
  `;
  const { code, stdout } = await runModule(text, { columns: 100 });
  assertEquals(code, 0, stdout);
  const ends = stdout.split("\r\n").map((line) => line.split("\r\x1b[K").at(-1)!);
  assertMatch(ends[0], /^50 frames, \d+\.\d a second$/);
  assertMatch(ends[1], /^█{20} 100 %, 50 frames, \d+\.\d a second, 0:00 left$/);
  assertMatch(ends[2], /^█{10}░{10} 50 %, 50 frames, \d+\.\d a second, 0:0\d left$/);
  assertEquals(ends.slice(3), [""]);
});

const COLLECTED = "out = undefined; for (let i = 0; i < 3000 && names() > 0; i++) await collected();";
const NOT_WRITTEN = /^samepage: \S+a\.mkv is not written: what writes it was never closed, nor disposed\.$/m;
for (
  const [what, end, warning] of [
    ["is collected", COLLECTED, /^samepage: FFmpeg encoder was never disposed/],
    ["is there as its program ends", "globalThis.kept = out;", NOT_WRITTEN],
    ["is there as its program exits", "Deno.exit();", NOT_WRITTEN],
  ] as const
) {
  test(`an encoder that is forgotten and ${what} leaves no file`, async ({ folder }) => {
    const text = `
      import { FFmpegContext } from "@samepage/interop/ffmpeg";
      const ffmpeg = FFmpegContext.open();
      const names = () => Array.from(Deno.readDirSync("${folder}")).length;
      const collected = () => (gc(), new Promise((resolve) => setTimeout(resolve, 10)));
      let out = ffmpeg.encode("${folder}/a.mkv", { codec: "ffv1" });
      for await (using frame of ffmpeg.decode("${await clip("h264.mkv")}")) await out.write(frame);
      console.log(names());
      ${end}
    `;
    const { stdout, stderr } = await runModule(text);
    assertEquals({ stdout, names: names(folder) }, { stdout: "1\n", names: [] });
    assertMatch(stderr, warning);
  });
}

test("a full disk is an error, and leaves no file", async (there) => {
  await onSmallDisk(256 * 1024, async (folder) => {
    await using out = there.ffmpeg.encode(`${folder}/out.nut`, { codec: "rawvideo", frameRate: 25 });
    const error = await assertRejects(async () => {
      await writeGray(there, out, Array.from({ length: 30 }, (_, i) => i));
      await out.close();
    });
    assertInstanceOf(error, NativeCallError);
    assertEquals(error.codeName, "ENOSPC");
    assertEquals(names(folder), []);
    await out[Symbol.asyncDispose]();
  });
}, missing ?? noSmallDisk);

test("a frame that an encoder keeps can be read and not written, by the host and by a kernel", async (there) => {
  const { ffmpeg, folder } = there;
  using cl = openOpenCL("pocl");
  using graph = new MapperGraph([host, ffmpeg, cl]);
  using picture = host.allocateFrame(I420, { rowAlign: 64 });
  using next = host.allocateFrame(I420, { rowAlign: 64 });
  const out = ffmpeg.encode(`${folder}/out.mkv`, { codec: "ffv1", frameRate: 25, threads: 1 });
  const write = async (picture: Frame<HostTensor>) => {
    using mapped = graph.map(picture, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
    await out.write(mapped);
    if (picture === next) return;
    assertThrows(() => graph.map(mapped, host, { access: "write" }), AccessError);
    assertThrows(() => graph.map(picture, cl), AccessError);
  }; // its end does not wait for the encoder
  await write(picture);
  assertEquals(out.kept, 1);
  for (const use of [() => graph.map(picture, cl), () => picture.planes[0].bytes({ access: "write" })]) {
    assertMatch(assertThrows(use, AccessError).hint!, /^An encoder keeps these bytes: write what follows, or close it/);
  }
  {
    await using read = graph.map(picture, cl, { access: "read" });
    assertEquals(read.route!.bytesMoved, 0);
  }
  await write(next); // ffv1 lets go of the one before
  assertEquals(out.kept, 1);
  await picture.finished();
  {
    await using written = graph.map(picture, cl) as Frame<OpenCLTensor>;
    cl.queue.fill(written.planes[0], 7);
  }
  const ended = next[Symbol.asyncDispose]();
  assertEquals(await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20, "kept"))]), "kept");
  await out.close();
  await ended;
  assertEquals(out.kept, 0);
}, missing ?? lackingOfKept());

test("write() lends its frame for reading from the call on", async (there) => {
  const { ffmpeg, graph, folder } = there;
  const gray = imageInfo({ format: "GRAY8", width: 64, height: 48 });
  await using out = ffmpeg.encode(`${folder}/out.mkv`, { codec: "ffv1", frameRate: 25 });
  await using picture = host.allocateFrame(gray, { rowAlign: 64 });
  await using mapped = graph.map(picture, ffmpeg) as Frame<FFmpegTensor>;
  const written = out.write(mapped);
  assertThrows(() => graph.map(mapped, host), AccessError, "lent");
  await written;
  await out.close();
});

test("frames that an encoder's threads work on are let go of without another call", async (there) => {
  const { ffmpeg, graph, folder } = there;
  const full = { ...imageInfo({ format: "I420", width: 1280, height: 720 }), colour: { range: "full" as const } };
  await using out = ffmpeg.encode(`${folder}/out.avi`, { codec: "mjpeg", frameRate: 25, threads: 4 });
  let most = 0;
  for (let i = 0; i < 8; i++) {
    await using picture = host.allocateFrame(full, { rowAlign: 64 });
    await using mapped = graph.map(picture, ffmpeg) as Frame<FFmpegTensor>;
    await out.write(mapped);
    most = Math.max(most, out.kept);
  }
  assert(most > 0, "nothing was kept");
  await out.close();
});

test("frames of a decoder may end while an encoder of several threads keeps them", async (there) => {
  const frames = await transcode(there, await clip("h264.mp4"), `${there.folder}/out.avi`, {
    ...{ codec: "mjpeg", frameRate: 25, threads: 4, options: { strict: "unofficial" } },
  });
  assertEquals((await decoded(there, `${there.folder}/out.avi`)).length, frames.length);
  const bFrames = { codec: "mpeg4", frameRate: 25, options: { bf: 2 } };
  await transcode(there, await clip("h264.mp4"), `${there.folder}/out.mkv`, bFrames);
  assertEquals((await decoded(there, `${there.folder}/out.mkv`)).length, frames.length);
});
