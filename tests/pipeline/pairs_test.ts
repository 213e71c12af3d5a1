// Two rules at a time: what each of them does alone is tested elsewhere.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { AccessError, Frame, host, type HostTensor, imageInfo } from "@samepage/interop";
import { FrameRing } from "@samepage/interop/channel";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { OpenCLContext } from "@samepage/interop/opencl";
import {
  copy,
  crop,
  encode,
  Flow,
  fromRing,
  kernel,
  pipeline,
  Sink,
  Source,
  StageError,
  tee,
  toRing,
  Transform,
} from "@samepage/interop/pipeline";
import { test as withFFmpeg } from "../ffmpeg/open.ts";
import { HERE } from "../opencl/help.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { inFolder } from "./folder.ts";
import { warningsOf } from "../warnings.ts";
import { doubling, noted, numbered, numberedFrame, test, valueOf } from "./help.ts";

const lacking = HERE.includes("pocl") ? undefined : "PoCL";

function withOpenCL(name: string, run: (cl: OpenCLContext) => Promise<void>): void {
  Deno.test({
    name: `pipeline: ${name}${lacking === undefined ? "" : ` (not here: ${lacking})`}`,
    ignore: lacking !== undefined,
    fn: withEmptyLedger(async () => {
      using cl = OpenCLContext.open();
      await run(cl);
    }),
  });
}

const TWICE = `kernel void twice(global const uchar *from, int stride, global uchar *to, int toStride) {
  to[get_global_id(1) * toStride + get_global_id(0)] = 2 * from[get_global_id(1) * stride + get_global_id(0)];
}`;

const [WIDTH, HEIGHT] = [64, 16];

/** Frames whose planes are blocks of their own. */
const ofBlocks = (count: number) =>
  new Source({
    name: "of blocks",
    async *frames() {
      for (let i = 1; i <= count; i++) {
        const sizes = [[HEIGHT, WIDTH], [HEIGHT / 2, WIDTH / 2], [HEIGHT / 2, WIDTH / 2]];
        const planes = sizes.map((shape) => host.allocate({ shape, dtype: "u8", rowAlign: 64 }));
        planes.forEach((plane, p) => plane.bytes().fill(10 * p + i));
        yield await Promise.resolve(Frame.of(planes, imageInfo({ format: "I420", width: WIDTH, height: HEIGHT })));
      }
    },
  });

/** A sink that notes the first byte of each plane. */
function planesOf(seen: number[][]): Sink<HostTensor> {
  return new Sink<HostTensor>({
    name: "planes",
    takes: { memory: host },
    write: ({ planes }) => void seen.push(planes.map((plane) => plane.bytes({ access: "read" })[0] as number)),
  });
}

withOpenCL("frames of several blocks go to the host and to kernels behind tee()", async (cl) => {
  using program = cl.program(TWICE);
  using twice = program.kernel("twice");
  const [left, right]: number[][][] = [[], []];
  const branches = [[kernel(twice, { gives: (info) => info }), planesOf(left)], [copy(), planesOf(right)]];
  const { stages } = await pipeline(ofBlocks(5), tee(...branches)).run();
  assertEquals(left, right.map((values) => values.map((value) => 2 * value)));
  assertEquals(right[4], [5, 15, 25]);
  const moved = stages.filter(({ bytesMoved }) => bytesMoved > 0);
  assertEquals(moved.map(({ stage, frames }) => `${stage} ${frames}`), ["copy 5"]);
});

withOpenCL("a stage that disposes a frame of its own memory is named, and not the next one there", async (cl) => {
  const disposes = new Transform({ name: "wrong", takes: { memory: cl }, process: (frame) => frame[Symbol.dispose]() });
  const next = new Transform({ name: "next", takes: { memory: cl }, process: () => {} });
  const error = await assertRejects(() => pipeline(numbered(2), disposes, next, noted().sink).run(), StageError);
  assertEquals([error.stage, error.message.includes("it disposed opencl")], ["wrong", true], `${error}`);
});

test("frames of several blocks end with a stage that fails behind tee()", async () => {
  const fails = new Sink({ name: "fails", write: () => Promise.reject(new Error("planned")) });
  await assertRejects(() => pipeline(ofBlocks(5), tee([planesOf([])], [fails])).run(), StageError, "planned");
});

test("a slot that a promise holds is not written again before that settles", async () => {
  const reads: Promise<number>[] = [];
  const lends = new Sink<HostTensor>({
    name: "lends",
    takes: { memory: host },
    write: ({ planes: [plane] }) => {
      const read = plane.lend(async (view) => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        return view[0] as number;
      }, { access: "read" });
      reads.push(read); // it is not awaited here
    },
  });
  await pipeline(numbered(9), doubling(), lends, { frames: 2 }).run();
  assertEquals(await Promise.all(reads), Array.from({ length: 9 }, (_, i) => 2 * (i + 1)));
});

test("a stage that goes on while it has lent its frame is not read half done", async () => {
  const lends = new Transform<HostTensor>({
    ...{ name: "lends", takes: { memory: host } },
    process: ({ planes: [plane] }) => {
      plane.lend(() => new Promise((resolve) => setTimeout(resolve, 2)));
    },
  });
  const error = await assertRejects(() => pipeline(numbered(3), lends, noted().sink).run(), StageError);
  assert(error.cause instanceof AccessError, `${error}`);
});

withOpenCL("a part of a part of frames with gaps between their rows goes through a kernel", async (cl) => {
  using program = cl.program(TWICE);
  using twice = program.kernel("twice");
  const source = new Source({
    name: "gradient",
    async *frames() {
      for (let i = 0; i < 3; i++) {
        const frame = host.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }), {
          rowAlign: 256,
        });
        for (const plane of frame.planes) {
          const [bytes, stride] = [plane.bytes(), plane.layout.strides[0]];
          for (let y = 0; y < plane.layout.shape[0]; y++) {
            for (let x = 0; x < WIDTH; x++) bytes[y * stride + x] = 4 * y + x + i;
          }
        }
        yield await Promise.resolve(frame);
      }
    },
  });
  const parts = [crop({ x: 8, y: 4, width: 32, height: 8 }), crop({ x: 2, y: 2, width: 16, height: 4 })];
  const args = (from: { layout: { strides: readonly number[] } }, to: { layout: { strides: readonly number[] } }) =>
    [from, from.layout.strides[0], to, to.layout.strides[0]] as never[];
  // A pixel of chroma has two bytes.
  const range = (to: { layout: { shape: readonly number[] } }) => {
    const [rows, columns, channels = 1] = to.layout.shape;
    return { items: [columns * channels, rows] };
  };
  const seen: number[][] = [];
  const stages = [...parts, kernel(twice, { gives: (info) => info, arguments: args, range }), planesOf(seen)];
  const { bytesMoved } = await pipeline(source, ...stages).run();
  // Luma from 10, 6; chroma from the pixel 5, 3.
  assertEquals(seen, [0, 1, 2].map((i) => [2 * (24 + 10 + i), 2 * (12 + 10 + i)]));
  assertEquals(bytesMoved, 0);
});

withOpenCL("copy() takes a part to a kernel while another branch of tee() has the whole", async (cl) => {
  using program = cl.program(TWICE);
  using twice = program.kernel("twice");
  const [part, whole]: number[][][] = [[], []];
  const doubled = () => kernel(twice, { gives: (info) => info });
  const source = numbered(9, "I420", { width: WIDTH, height: HEIGHT });
  const branches = [
    [crop({ x: 4, y: 2, width: 16, height: 8 }), copy(), doubled(), planesOf(part)],
    [kernel(twice, { name: "whole", gives: (info) => info }), planesOf(whole)],
  ];
  await pipeline(source, tee(...branches)).run();
  assertEquals(part, whole);
  assertEquals(part, Array.from({ length: 9 }, (_, i) => Array(3).fill(2 * (i + 1))));
});

withFFmpeg(
  "pipeline: a ring waits for the frames that an encoder keeps, and gets each of them back",
  () =>
    inFolder(async (folder) => {
      using ffmpeg = FFmpegContext.open();
      const [path, file] = [`${folder}/ring`, `${folder}/out.mkv`];
      const [count, slots] = [30, 2];
      await using encoder = ffmpeg.encode(file, { codec: "ffv1", threads: 1 }); // keeps each until the next;
      const kept: number[] = [];
      const encodes = new Sink({
        name: "encodes",
        takes: { memory: ffmpeg },
        write: async (frame) => {
          await encoder.write(frame);
          kept.push(encoder.kept);
        },
        close: () => encoder.close(),
      });
      const source = numbered(count, "I420", { width: WIDTH, height: HEIGHT });
      const [written, read] = await Promise.all([
        pipeline(source, copy(), toRing(FrameRing, path, { join: true, frames: slots })).run(),
        pipeline(fromRing(FrameRing, path, { wait: true }), encodes, { frames: slots }).run(),
      ]);
      assertEquals([written.frames, read.frames, read.bytesMoved], [count, count, 0]);
      assertEquals(kept, Array(count).fill(1));
      // The reader always keeps one of the two slots, and the writer waits for it.
      assert(written.stages.find(({ stage }) => stage === "copy")!.waited > 0, `${written}`);
      assertEquals(encoder.kept, 0);
    }),
);

test("what a stage behind tee() keeps for the next frame comes out at the end", async () => {
  const inPairs = new Flow({
    name: "in pairs",
    async *flow(frames) {
      let first: Frame | undefined;
      for await (const frame of frames) {
        if (first !== undefined) {
          yield frame;
          yield first;
        }
        first = first === undefined ? frame : undefined;
      }
      if (first !== undefined) yield first;
    },
  });
  const [{ sink, seen }, other] = [noted(), noted()];
  await pipeline(numbered(5), tee([inPairs, sink], [other.sink])).run();
  assertEquals(seen.map(({ value }) => value), [2, 1, 4, 3, 5]);
});

withFFmpeg(
  "pipeline: frames that an encoder behind tee() keeps do not hold the end up",
  () =>
    inFolder(async (folder) => {
      using ffmpeg = FFmpegContext.open();
      const source = numbered(5, "I420", { width: WIDTH, height: HEIGHT });
      const branches = ["one", "two"].map((name) => [
        encode(ffmpeg, `${folder}/${name}.mkv`, { codec: "ffv1", threads: 1 }),
      ]);
      assertEquals((await pipeline(source, tee(...branches), { frames: 5 }).run()).frames, 5);
    }),
);

test("a part of a ring's frame ends with it, also where the ring has ended", () =>
  inFolder(async (folder) => {
    const path = `${folder}/ring`;
    const part = crop({ x: 2, y: 1, width: 4, height: 2 });
    const reading = Array.fromAsync(pipeline(fromRing(FrameRing, path, { wait: true }), part));
    await pipeline(numbered(3), copy(), toRing(FrameRing, path, { join: true })).run();
    const parts = await reading;
    assertEquals(parts.map(valueOf), [1, 2, 3]);
    for (const frame of parts) frame[Symbol.dispose]();
  }));

test("a part and what it is of are one frame in flight, and none that was forgotten", async () => {
  const warnings = await warningsOf(async () => {
    let [now, most] = [0, 0];
    const source = new Source({
      name: "slow",
      async *frames() {
        for (let i = 1; i <= 12; i++) {
          await new Promise((resolve) => setTimeout(resolve, 2));
          most = Math.max(most, ++now);
          yield numberedFrame(i);
        }
      },
    });
    const slow = new Sink({
      name: "sink",
      write: async () => {
        await new Promise((resolve) => setTimeout(resolve, 8));
        now--;
      },
    });
    const [part, whole] = [crop({ x: 2, y: 1, width: 4, height: 2 }), crop({ x: 0, y: 0, width: 4, height: 2 })];
    await pipeline(source, part, whole, slow, { frames: 4 }).run();
    assertEquals(most, 4);
  });
  assertEquals(warnings, []);
});

test("a source that gives a frame twice is named", async () => {
  const frame = numberedFrame(1);
  const twice = new Source({
    name: "twice",
    async *frames() {
      for (let i = 0; i < 2; i++) yield await Promise.resolve(frame);
    },
  });
  const slow = new Sink({ name: "slow", write: () => new Promise((resolve) => setTimeout(resolve, 5)) });
  await assertRejects(() => pipeline(twice, slow).run(), StageError, "twice: ");
});
