/** `ffmpeg.decode(source, { into })`: files, decoded into memory of the program's. */
import { assert, assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
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
  type Tensor,
} from "@samepage/interop";
import { FFmpegContext, type FFmpegTensor, type FrameMemory } from "@samepage/interop/ffmpeg";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { assertAlive } from "../alive.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { HERE, open as openOpenCL } from "../opencl/help.ts";
import { clip, type ClipName, missing } from "./clips.ts";

function test(name: string, fn: (ffmpeg: FFmpegContext) => unknown, lacks = missing): void {
  Deno.test({
    name: `decode into: ${name}${lacks === undefined ? "" : ` (not here: ${lacks})`}`,
    ignore: lacks !== undefined,
    async fn() {
      const [alive, fds] = [ledger.alive, openFds()];
      {
        using ffmpeg = FFmpegContext.open();
        await fn(ffmpeg);
      }
      await assertAlive(alive, "alive after the test");
      assertOpenFds(fds);
    },
  });
}

const isOurs = (frame: Frame<HostTensor | FFmpegTensor>): frame is Frame<HostTensor> => frame.target === host;

/** The pixels of a frame, wherever it is. */
function pixelsOf(frame: Frame): Uint8Array[] {
  using graph = new MapperGraph([host, frame.target.context]);
  using mapped = frame.target === host ? undefined : graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
  return (mapped ?? frame as Frame<HostTensor>).planes.map((plane) => {
    const { layout: { shape: [rows, columns], strides: [stride, step] } } = plane;
    const bytes = plane.bytes({ access: "read" });
    return new Uint8Array(
      Array.from({ length: rows }, (_, y) => [...bytes.slice(y * stride, y * stride + columns * step)]).flat(),
    );
  });
}

for (const name of ["h264.mp4", "h264.ts", "small.mkv", "small.ts", "small.png"] as const satisfies ClipName[]) {
  for (const threads of [1, 4]) {
    test(`${name} with ${threads} threads is what it is without`, async (ffmpeg) => {
      const path = await clip(name);
      const expected: Uint8Array[][] = [];
      for await (using theirs of ffmpeg.decode(path, { threads })) expected.push(pixelsOf(theirs));
      let count = 0;
      for await (using frame of ffmpeg.decode(path, { threads, into: host })) {
        assert(isOurs(frame), `${frame}`);
        assertEquals(frame.route.bytesMoved, 0);
        assertEquals(pixelsOf(frame), expected[count++]);
      }
      assertEquals(count, expected.length);
    });
  }
}

test("frames say what FFmpeg knows of them, as without", async (ffmpeg) => {
  const path = await clip("h264.mp4");
  const infos: unknown[] = [];
  for await (using theirs of ffmpeg.decode(path)) infos.push(theirs.info);
  for await (using frame of ffmpeg.decode(path, { into: host })) assertEquals(frame.info, infos.shift());
});

test("sound and a missing buffer are FFmpeg's, and say so", async (ffmpeg) => {
  const path = await clip("h264.mp4");
  let asked = 0;
  const into: FrameMemory<HostTensor> = { allocate: (layout) => (asked++, host.allocate(layout)) };
  for await (using frame of ffmpeg.decode(path, { into, stream: "audio" })) assertEquals(frame.target, ffmpeg);
  assertEquals(asked, 0);
  await using kept = new AsyncDisposableStack();
  const targets = new Set<unknown>();
  for await (const frame of ffmpeg.decode(path, { into, slots: 8 })) targets.add(kept.use(frame).target);
  assertEquals([asked, targets], [8, new Set([host, ffmpeg])]);
});

test("a seek decodes into them, too", async (ffmpeg) => {
  const path = await clip("h264.mkv");
  let first: bigint | undefined;
  for await (using frame of ffmpeg.decode(path, { into: host, from: 1 })) {
    assert(isOurs(frame));
    first ??= frame.info.media!.pts;
  }
  assertEquals(first, 1000n);
});

test("frames outlive the loop and the context, and hold their memory", async (ffmpeg) => {
  const other = FFmpegContext.open();
  const frames: Frame<Tensor>[] = [];
  for await (const frame of other.decode(await clip("long.mp4"), { into: host, threads: 4 })) {
    if (frames.push(frame) === 3) break;
  }
  other[Symbol.dispose]();
  assert(frames.every((frame) => pixelsOf(frame)[0].some((byte) => byte !== 0)));
  assertEquals(ledger.alive["host.block"], 24);
  for (const frame of frames) frame[Symbol.dispose]();
  assertEquals(ledger.alive["host.block"], undefined);
  void ffmpeg;
});

for (const blocking of [true, false]) {
  test(`disposed (${blocking ? "at once" : "async"}) in the middle, with frames that live on`, async (ffmpeg) => {
    for (const turns of [1, 3, 10]) {
      const decoder = ffmpeg.decode(await clip("long.mp4"), { into: host, threads: 4 });
      const frames = decoder[Symbol.asyncIterator]();
      const { value: first } = await frames.next();
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setTimeout(resolve));
      if (blocking) decoder[Symbol.dispose]();
      else await decoder[Symbol.asyncDispose]();
      assertInstanceOf(await frames.next().catch((error) => error), DisposedError);
      using frame = first!;
      assert(pixelsOf(frame)[0].some((byte) => byte !== 0));
    }
  });
}

test("memory that ends in the middle takes the decoder along", async (ffmpeg) => {
  const blocks: HostTensor[] = [];
  const into: FrameMemory<HostTensor> = { allocate: (layout) => (blocks.push(host.allocate(layout)), blocks.at(-1)!) };
  const decoder = ffmpeg.decode(await clip("long.mp4"), { into, threads: 4 });
  await assertRejects(async () => {
    for await (using frame of decoder) {
      assert(isOurs(frame));
      await blocks[5][Symbol.asyncDispose]();
    }
  }, DisposedError);
  assertEquals(decoder.resource.state, "freed");
});

test("memory that FFmpeg writes to is refused to all other uses", async (ffmpeg) => {
  const blocks: HostTensor[] = [];
  const into: FrameMemory<HostTensor> = { allocate: (layout) => (blocks.push(host.allocate(layout)), blocks.at(-1)!) };
  for await (using frame of ffmpeg.decode(await clip("h264.mp4"), { into })) {
    assert(isOurs(frame));
    for (const block of blocks) assertThrows(() => block.bytes({ access: "read" }), AccessError, "lent");
  }
});

test("memory that the CPU cannot use at any time is refused", async (ffmpeg) => {
  using cl = openOpenCL("pocl");
  const path = await clip("small.png");
  for (const into of [cl, cl.svm] as FrameMemory[]) {
    const decoder = ffmpeg.decode(path, { into });
    await assertRejects(
      () => decoder.info(),
      ArgumentError,
      "the CPU cannot use it at any time",
    );
    await decoder[Symbol.asyncDispose]();
  }
}, missing ?? (HERE.includes("pocl") ? undefined : "PoCL"));

test("memory whose work only the program can end is refused, and given back after it", async (ffmpeg) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const into: FrameMemory<HostTensor> = {
    allocate(layout) {
      const tensor = host.allocate(layout);
      tensor.resource.usedBy(host.signal(promise));
      return tensor;
    },
  };
  const decoder = ffmpeg.decode(await clip("small.png"), { into });
  await assertRejects(() => decoder.info(), InteropError, "the work waits for a promise that is not settled");
  resolve();
  await promise;
  await decoder[Symbol.asyncDispose]();
});

test("memory that fails in the middle is given back, and the error is the program's", async (ffmpeg) => {
  let left = 3;
  const into: FrameMemory<HostTensor> = {
    allocate(layout) {
      if (left-- === 0) throw new RangeError("no more");
      return host.allocate(layout);
    },
  };
  const decoder = ffmpeg.decode(await clip("small.mp4"), { into });
  await assertRejects(() => decoder.info(), RangeError, "no more");
  await decoder[Symbol.asyncDispose]();
});

test("a frame is an OpenCL buffer at once, in memory that processes share", async (ffmpeg) => {
  using cl = openOpenCL("pocl");
  using graph = new MapperGraph([host, cl]);
  using program = cl.program(`kernel void dark(global uchar *x) { x[get_global_id(0)] = 16; }`);
  using dark = program.kernel("dark");
  const into: FrameMemory<HostTensor> = { allocate: (layout) => host.allocate({ ...layout, sharable: true }) };
  let written = 0;
  for await (using frame of ffmpeg.decode(await clip("h264.mp4"), { into, threads: 4 })) {
    using mapped = graph.map(frame, cl, { access: frame.access }) as Frame<OpenCLTensor>;
    assertEquals(mapped.route.bytesMoved, 0);
    if (frame.access !== "read") {
      dark.run({ items: [160] }, [mapped.planes[0]]);
      written++;
    }
  }
  assert(written > 0);
}, missing ?? (HERE.includes("pocl") ? undefined : "PoCL"));
