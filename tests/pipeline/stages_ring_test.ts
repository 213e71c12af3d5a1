// Pipelines that are cut in two by a ring: how both halves end.
import { assertEquals, assertRejects } from "@std/assert";
import { type Frame, host, type HostTensor, imageInfo } from "@samepage/interop";
import { FrameRing, type RingWriter } from "@samepage/interop/channel";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { copy, decode, encode, fromRing, pipeline, Sink, StageError, toRing } from "@samepage/interop/pipeline";
import { test as withFFmpeg } from "../ffmpeg/open.ts";
import { deno } from "../process.ts";
import { inFolder } from "./folder.ts";
import { noted, numbered, numberedFrame, test, valueOf } from "./help.ts";

const COUNT = 20;
const size = { width: 64, height: 48 };
const writing = (path: string, count = COUNT) =>
  pipeline(numbered(count, "I420", size), copy(), toRing(FrameRing, path, { join: true })).run();

/** The values of a file's frames. */
async function valuesOf(ffmpeg: FFmpegContext, file: string): Promise<number[]> {
  const { sink, seen } = noted();
  await pipeline(decode(ffmpeg, file), sink).run();
  return seen.map(({ value }) => value);
}

const expected = Array.from({ length: COUNT }, (_, i) => i + 1);

withFFmpeg(
  "pipeline: toRing() ends while an encoder keeps the last frame of fromRing()",
  () =>
    inFolder(async (folder) => {
      using ffmpeg = FFmpegContext.open();
      const [path, file] = [`${folder}/ring`, `${folder}/copy.mkv`];
      const reading = pipeline(fromRing(FrameRing, path, { wait: true }), encode(ffmpeg, file, { codec: "ffv1" }));
      const [written, read] = await Promise.all([writing(path), reading.run()]);
      assertEquals([written.frames, read.frames, read.bytesMoved], [COUNT, COUNT, 0]);
      assertEquals(await valuesOf(ffmpeg, file), expected);
    }),
);

withFFmpeg(
  "pipeline: toRing() ends while an encoder in another process keeps the last frame",
  () =>
    inFolder(async (folder) => {
      using ffmpeg = FFmpegContext.open();
      const [path, file] = [`${folder}/ring`, `${folder}/copy.mkv`];
      const program = new URL("encoding.ts", import.meta.url).pathname;
      const [written, { code, stdout, stderr }] = await Promise.all([
        writing(path),
        deno(["run", "-A", "--no-check", program, path, file], { limit: 60 }),
      ]);
      assertEquals([written.frames, code, stdout, stderr], [COUNT, 0, `${COUNT}\n`, ""]);
      assertEquals(await valuesOf(ffmpeg, file), expected);
    }),
);

test("frames of fromRing() live on where the ring has ended before them", () =>
  inFolder(async (folder) => {
    const path = `${folder}/ring`;
    let hasEnded = false;
    const { sink, seen } = noted();
    const late = new Sink({
      name: "late",
      write: async (frame) => {
        while (!hasEnded) await new Promise((resolve) => setTimeout(resolve, 1));
        await sink.init.write(frame as never, undefined as never);
      },
    });
    const reading = pipeline(fromRing(FrameRing, path, { wait: true }), late).run();
    await writing(path, 4);
    hasEnded = true;
    assertEquals((await reading).frames, 4);
    assertEquals(seen.map(({ value }) => value), [1, 2, 3, 4]);
  }));

test("frames of fromRing() that a program has taken out live on when its loop has ended", () =>
  inFolder(async (folder) => {
    const path = `${folder}/ring`;
    const written = writing(path, 3);
    const kept = await Array.fromAsync(pipeline(fromRing(FrameRing, path, { wait: true })));
    await written;
    assertEquals(kept.map(valueOf), [1, 2, 3]);
    for (const frame of kept) frame[Symbol.dispose]();
  }));

test("toRing() refuses frames of another size than its first, by its name", () =>
  inFolder(async (folder) => {
    const source = async function* () {
      for (const width of [8, 8, 16]) yield await Promise.resolve(numberedFrame(1, "GRAY8", { width, height: 4 }));
    };
    const whole = pipeline(source(), copy(), toRing(FrameRing, `${folder}/ring`));
    const error = await assertRejects(
      () => whole.run(),
      StageError,
      "to ring: it takes GRAY8 8 × 4, got GRAY8 16 × 4.",
    );
    assertEquals(error.stage, "to ring");
  }));

test("fromRing({ reconnect }) waits for the next writer where one ends while it lets the reader in", () =>
  inFolder(async (folder) => {
    const path = `${folder}/ring`;
    const frames = [1, 2].map(() => host.allocateFrame(imageInfo({ format: "I420", ...size }), { sharable: true }));
    const met = Promise.withResolvers<void>();
    const dies: RingWriter<Frame<HostTensor>> = FrameRing.create(path, {
      frames,
      allow: () => {
        dies[Symbol.dispose]();
        met.resolve();
        return true;
      },
    });
    const controller = new AbortController();
    const { sink, seen } = noted();
    const { signal } = controller;
    const reading = pipeline(fromRing(FrameRing, path, { reconnect: true }), sink, { signal }).run();
    await met.promise;
    await writing(path, 3);
    while (seen.length < 3) await new Promise((resolve) => setTimeout(resolve, 1)); // it may still have them
    controller.abort(new Error("enough"));
    await assertRejects(() => reading, Error, "enough");
    assertEquals(seen.map(({ value }) => value), [1, 2, 3]);
  }));

test("fromRing({ wait }) ends where it is turned away again and again", () =>
  inFolder(async (folder) => {
    const path = `${folder}/ring`;
    const frames = [1, 2].map(() => host.allocateFrame(imageInfo({ format: "I420", ...size }), { sharable: true }));
    using _ring = FrameRing.create(path, { frames, allow: () => false });
    const reading = pipeline(fromRing(FrameRing, path, { wait: true }), noted().sink).run();
    const error = await assertRejects(() => reading, StageError, "ECONNRESET");
    assertEquals([error.stage, error.hint?.includes("does not let this process in")], ["from ring", true]);
  }));
