// CUDA's memory over UCX: pinned memory in place; a device's in place where UCX has a transport for it, and elsewhere by a
// copy that is asked for and counted.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ArgumentError, DisposedError, host, imageInfo, MapperGraph, NoRouteError, type Tensor } from "../../mod.ts";
import type { CudaContext, CudaTensor } from "../../src/cuda/mod.ts";
import { fromRing, pipeline, Sink, toRing, Transform } from "../../src/pipeline/mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { gpuTest, withCuda } from "../cuda/help.ts";
import { numbered } from "../pipeline/help.ts";
import { Child } from "./child.ts";
import {
  assertPattern,
  bytesOf,
  CUDA_TRANSPORTS,
  KINDS,
  missingCuda,
  pattern,
  read,
  type Where,
  write,
} from "./cuda_help.ts";
import { missing } from "./help.ts";
import { freshPath, unix, until } from "./ring_help.ts";

const BYTES = { shape: [100_000], dtype: "u8" } as const;

/** Has what is shared read as by another process, and asserts that it is seven throughout. */
async function assertSevens(ucx: UcxContext, shared: Tensor): Promise<void> {
  await using share = ucx.share([shared]);
  await using remote = ucx.connect(share.ticket);
  await using here = host.allocate(BYTES);
  await remote.tensors[0].get(here);
  assert(here.view().every((value) => value === 7));
}

function ucxGpuTest(name: string, use: (ucx: UcxContext, cuda: CudaContext, graph: MapperGraph) => unknown): void {
  const run = async (cuda: CudaContext) => {
    await using ucx = UcxContext.open({ transports: ["tcp"] });
    using graph = new MapperGraph([host, cuda]);
    await use(ucx, cuda, graph);
  };
  gpuTest(name, () => withCuda(run), 1, missing);
}

ucxGpuTest("pinned memory is shared over UCX in place", async (ucx, cuda, graph) => {
  using pinned = cuda.pinned.allocate(BYTES);
  {
    using seen = graph.map(pinned, host);
    seen.bytes().fill(7);
  }
  await assertSevens(ucx, pinned);
});

ucxGpuTest("a device's memory goes over UCX by a copy that is asked for and counted", async (ucx, cuda, graph) => {
  using there = cuda.allocate(BYTES);
  cuda.stream.write(there, new Uint8Array(100_000).fill(7));
  const { argument, hint } = assertThrows(() => ucx.share([there]), ArgumentError, "without a transport");
  assertEquals([argument, hint?.includes("libuct_cuda")], ["tensors[0]", true]);
  assertThrows(() => graph.map(there, host, { access: "read" }), NoRouteError);
  const before = cuda.bytesCopied;
  await using seen = graph.map(there, host, { access: "read", copy: "allow" });
  assertEquals([seen.route.steps[0].transfer, cuda.bytesCopied - before], ["copy", 100_000]);
  await assertSevens(ucx, seen);
});

const LENGTHS = [1, 64, 20_000, 3_000_001]; // short, in one piece, and more than that

for (const transports of CUDA_TRANSPORTS) {
  const by = transports.join(", ");
  const test = (name: string, use: (ucx: UcxContext, cuda: CudaContext) => unknown) =>
    gpuTest(
      `UCX, ${by}: ${name}`,
      () =>
        withCuda(async (cuda) => {
          await using ucx = UcxContext.open({ transports });
          await use(ucx, cuda);
        }),
      1,
      missingCuda,
    );

  test("a device's memory of another process is read and written", async (ucx, cuda) => {
    for (const length of LENGTHS) {
      await using owner = new Child("cuda_side.ts", ["share", transports.join(), `${length}`, "device"]);
      await using remote = ucx.connect(Uint8Array.fromBase64(await owner.line()));
      const [there] = remote.tensors;
      await using here = cuda.allocate({ shape: [length], dtype: "u8" });
      await using seen = host.allocate({ shape: [length], dtype: "u8" });
      cuda.stream.fill(here, 1);
      there.get(here);
      assertPattern(bytesOf(here, cuda)); // CUDA's stream waits for UCX
      await there.get(seen);
      assertPattern(seen.bytes());
      cuda.stream.fill(here, 201);
      await there.put(here); // UCX waits for CUDA's stream
      assertEquals(await owner.ask("look"), "201");
      seen.bytes().set(pattern(length));
      await there.put(seen);
      cuda.stream.fill(here, 1);
      await there.get(here);
      assertPattern(bytesOf(here, cuda));
    }
  });

  for (const kind of Object.keys(KINDS)) {
    test(`${kind} memory of another process is read and written`, async (ucx, cuda) => {
      await using owner = new Child("cuda_side.ts", ["share", transports.join(), "100001", kind]);
      await using remote = ucx.connect(Uint8Array.fromBase64(await owner.line()));
      const [there] = remote.tensors;
      await using here = KINDS[kind](cuda, { shape: [100_001], dtype: "u8" });
      await there.get(here);
      assertPattern(bytesOf(here, cuda));
      cuda.stream.fill(here, 201);
      await there.put(here);
      assertEquals(await owner.ask("look"), "201");
    });
  }

  test("a writer goes on where a reader is killed, and 40 readers cost no memory of the GPU", async (ucx, cuda) => {
    const info = imageInfo({ format: "RGBA", width: 1920, height: 1080 });
    const rings = ucx.rings(unix());
    const path = freshPath();
    await using ring = rings.create(path, { frames: Array.from({ length: 3 }, () => cuda.allocateFrame(info)) });
    const publishing = (async () => {
      for (let i = 1; ring.resource.isLive; i++) {
        const frame = await ring.next();
        cuda.stream.fill(frame.planes[0], i & 0xff);
        await ring.publish(frame);
        if (ring.readers === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    for (const where of ["cuda", "host"]) {
      await using reader = new Child("cuda_side.ts", ["read", transports.join(), path, where, "64", "0"]);
      await until(() => ring.readers === 1, "the reader is there");
      await new Promise((resolve) => setTimeout(resolve, 100));
      reader.signal("SIGKILL");
      await until(() => ring.readers === 0, "the reader has gone");
    }
    const free: number[] = [];
    for (let i = 0; i < 40; i++) {
      await using reader = await rings.open(path, { contexts: [cuda] });
      for (let j = 0; j < 3; j++) (await reader.next())?.[Symbol.dispose]();
      free.push(cuda.memory().free);
    }
    await ring[Symbol.asyncDispose]();
    await assertRejects(() => publishing, DisposedError);
    assert(free[5] - free[39] < 32 << 20, `${free[5] - free[39]} bytes of the GPU's memory are gone`);
  });

  for (const [from, to] of [["cuda", "cuda"], ["cuda", "host"], ["host", "cuda"]] as const) {
    for (const width of [64, 1920]) {
      test(`a ring's frames of ${width} columns go from ${from} to ${to}`, async (ucx) => {
        await assertRing(ucx, transports, from, to, width);
      });
    }
  }

  test("a pipeline that is cut in two passes a GPU's frames on", async (ucx, cuda) => {
    const rings = ucx.rings(unix());
    const path = freshPath();
    const seen: number[] = [];
    const sink = new Sink<CudaTensor>({
      name: "sink",
      takes: { memory: cuda },
      write: ({ planes: [plane] }) => void seen.push(bytesOf(plane, cuda)[0]),
    });
    const copying = new Transform<CudaTensor>({
      name: "copying",
      takes: { memory: cuda },
      gives: (info) => info,
      process: ({ planes: [from] }, { planes: [to] }) => cuda.stream.copy(from, to),
    });
    const [sent, got] = await Promise.all([
      pipeline(numbered(30), copying, toRing(rings, path, { join: true, memory: cuda }), { copy: "allow" }).run(),
      pipeline(fromRing(rings, path, { wait: true, contexts: [cuda] }), sink).run(),
    ]);
    assertEquals(seen, Array.from({ length: 30 }, (_, i) => i + 1));
    assertEquals([sent.frames, got.frames], [30, 30]);
  });

  test("a share, a connection and a ring end with the device's context, and leave nothing", async (ucx, cuda) => {
    const info = imageInfo({ format: "RGBA", width: 640, height: 480 });
    const there = cuda.allocate(BYTES);
    const share = ucx.share([there]);
    const rings = ucx.rings(unix());
    const path = freshPath();
    const ring = rings.create(path, { frames: [cuda.allocateFrame(info), cuda.allocateFrame(info)] });
    const reader = await rings.open(path, { contexts: [cuda] });
    await until(() => ring.readers === 1, "the reader is there");
    await cuda[Symbol.asyncDispose]();
    assertEquals([share, ring].map(({ resource }) => resource.isLive), [false, false]);
    await assertRejects(() => reader.next(), DisposedError);
    assertEquals(reader.resource.isLive, false);
  });
}

/** A ring between this process and another: each is the writer in turn. */
async function assertRing(ucx: UcxContext, transports: readonly string[], from: Where, to: Where, width: number) {
  const info = imageInfo({ format: "NV12", width, height: 64 });
  const rings = ucx.rings(unix());
  const path = freshPath();
  const side = (what: string, where: Where) => [what, transports.join(), path, where, `${width}`, "40"];
  {
    await using reader = new Child("cuda_side.ts", side("read", to));
    await write(rings, path, from, info, 40);
    assertEquals(await reader.line(), "40 frames");
  }
  await using _ = new Child("cuda_side.ts", side("write", from));
  await until(() => exists(path), "the writer listens");
  assertEquals(await read(rings, path, to), "40 frames");
}

function exists(path: string): boolean {
  try {
    return Deno.lstatSync(path).isSocket === true;
  } catch {
    return false;
  }
}
