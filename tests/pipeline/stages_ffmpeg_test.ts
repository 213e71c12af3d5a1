// FFmpeg's stages: files in, files out.
import { assertEquals, assertRejects } from "@std/assert";
import { type Frame, host, type HostTensor, imageInfo } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { decode, encode, images, operation, pipeline, StageError, writeImages } from "@samepage/interop/pipeline";
import { clip } from "../ffmpeg/clips.ts";
import { test } from "../ffmpeg/open.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { inFolder } from "./folder.ts";

const names = (folder: string) => Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();

function testIn(name: string, run: (ffmpeg: FFmpegContext, folder: string) => Promise<void>): void {
  test(
    `pipeline: ${name}`,
    withEmptyLedger(() =>
      inFolder(async (folder) => {
        using ffmpeg = FFmpegContext.open();
        await run(ffmpeg, folder);
      })
    ),
  );
}

const invert = operation<HostTensor>(host, function invert(plane, to) {
  const bytes = to.bytes();
  for (let i = 0; i < bytes.length; i++) bytes[i] = 255 - bytes[i];
  assertEquals(plane === to, true);
});

testIn("decode() and encode() hand frames on without a copy, and the file has them all", async (ffmpeg, folder) => {
  const all = pipeline(
    ...[decode(ffmpeg, await clip("h264.mkv")), operation(host, copy, { gives: (info) => info })] as const,
    encode(ffmpeg, `${folder}/copy.mkv`, { codec: "ffv1" }),
  );
  const figures = await all.run();
  assertEquals([figures.frames, figures.bytesMoved, names(folder)], [50, 0, ["copy.mkv"]]);
  assertEquals(await sums(ffmpeg, `${folder}/copy.mkv`), await sums(ffmpeg, await clip("h264.mkv")));
});

testIn("a pipeline of decode() and encode() runs again", async (ffmpeg, folder) => {
  const twice = pipeline(decode(ffmpeg, await clip("small.mkv")), encode(ffmpeg, `${folder}/a.mkv`, { codec: "ffv1" }));
  assertEquals([(await twice.run()).frames, (await twice.run()).frames], [10, 10]);
});

testIn("encode() takes frames whose encoder keeps some of them", async (ffmpeg, folder) => {
  const source = decode(ffmpeg, await clip("small.mkv"));
  const options = { codec: "mpeg4", options: { bf: 2 } };
  const figures = await pipeline(
    ...[source, operation(host, copy, { gives: (info) => info })] as const,
    encode(ffmpeg, `${folder}/b.mkv`, options),
  ).run();
  assertEquals(figures.frames, 10);
});

testIn("an error leaves no file of encode()", async (ffmpeg, folder) => {
  let count = 0;
  const fails = operation<HostTensor>(host, function fails() {
    if (++count === 15) throw new Error("no more");
  }, { gives: (info) => info });
  const all = pipeline(decode(ffmpeg, await clip("small.mkv")), fails, encode(ffmpeg, `${folder}/c.mkv`));
  const error = await assertRejects(() => all.run(), StageError, "fails: no more");
  assertEquals([error.stage, names(folder)], ["fails", []]);
});

testIn("encode() without a frame fails, and leaves no file", async (ffmpeg, folder) => {
  const none = pipeline(images(ffmpeg, []), encode(ffmpeg, `${folder}/none.mkv`));
  await assertRejects(() => none.run(), StageError, "encode: ");
  assertEquals(names(folder), []);
});

testIn("decode() names itself where a file is not there", async (ffmpeg, folder) => {
  const error = await assertRejects(() => decode(ffmpeg, `${folder}/none.mp4`).pipeTo(encode(ffmpeg, "x.mkv")));
  assertEquals((error as StageError).stage, "decode");
});

testIn("writeImages() numbers its files, and images() reads them in the order of the list", async (ffmpeg, folder) => {
  const source = decode(ffmpeg, await clip("small.mkv"));
  const { frames } = await source.pipeThrough(invertOwn()).pipeTo(
    writeImages(ffmpeg, `${folder}/%03d.mkv`, { codec: "ffv1", concurrency: 2 }),
  );
  assertEquals([frames, names(folder).length, names(folder)[9]], [10, 10, "009.mkv"]);
  const read = pipeline(images(ffmpeg, names(folder).map((name) => `${folder}/${name}`)), invertOwn());
  const seen: (bigint | number | undefined)[] = [];
  for await (using frame of read) seen.push(sumOf(frame), frame.info.media?.pts);
  const expected = (await sums(ffmpeg, await clip("small.mkv"))).flatMap((sum) => [sum, undefined]);
  assertEquals(seen, expected);
});

testIn("images() gives pictures that an encoder takes", async (ffmpeg, folder) => {
  const photo = "examples/edges/photo.jpg";
  const { frames } = await images(ffmpeg, [photo, photo]).pipeTo(encode(ffmpeg, `${folder}/d.mkv`, { codec: "ffv1" }));
  assertEquals(frames, 2);
});

testIn("operation() works in place where it gives nothing", async (ffmpeg) => {
  const grey = async function* () {
    yield await Promise.resolve(host.allocateFrame(imageInfo({ format: "GRAY8", width: 4, height: 2 })));
  };
  for await (using frame of pipeline(grey(), invert)) assertEquals(sumOf(frame), 8 * 255);
  assertEquals(ffmpeg.on, undefined);
});

function invertOwn() {
  return operation<HostTensor>(host, (from, to) => {
    const [bytes, written] = [from.bytes({ access: "read" }), to.bytes()];
    const [rows, stride, toStride] = [from.layout.shape[0], from.layout.strides[0], to.layout.strides[0]];
    for (let y = 0; y < rows; y++) {
      for (let x = 0; x < from.layout.shape[1]; x++) written[y * toStride + x] = 255 - bytes[y * stride + x];
    }
  }, { name: "invert", gives: (info) => info });
}

function copy(from: HostTensor, to: HostTensor): void {
  const [bytes, written] = [from.bytes({ access: "read" }), to.bytes()];
  const { shape: [rows, width], strides: [stride] } = from.layout;
  for (let y = 0; y < rows; y++) {
    written.set(bytes.subarray(y * stride, y * stride + width), y * to.layout.strides[0]);
  }
}

/** The sum of the pixels of the first plane. */
function sumOf({ planes: [plane] }: Frame): number {
  const { shape: [rows, width], strides: [stride] } = plane.layout;
  const bytes = (plane as HostTensor).bytes({ access: "read" });
  let sum = 0;
  for (let y = 0; y < rows; y++) for (let x = 0; x < width; x++) sum += bytes[y * stride + x];
  return sum;
}

async function sums(ffmpeg: FFmpegContext, path: string): Promise<number[]> {
  const seen: number[] = [];
  const sum = operation<HostTensor>(host, copy, { name: "copy", gives: (info) => info });
  for await (using frame of decode(ffmpeg, path).pipeThrough(sum)) seen.push(sumOf(frame));
  return seen;
}
