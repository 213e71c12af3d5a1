/** Bytes on their way back from a buffer or an image that lies over some of them, and are mapped as something else. */
import { assert, assertEquals } from "@std/assert";
import { AccessError, type Frame, host, imageInfo, InteropError, NoRouteError, type Tensor } from "@samepage/interop";
import { type OpenCLContext, OpenCLImage, type OpenCLTensor } from "@samepage/interop/opencl";
import { layerEnv } from "../layer/mod.ts";
import { assertBytes, type Bench, bench, gate, rejection, testEach, testFailing, thrown } from "./help.ts";
import { testLayered } from "./layered.ts";
import { linesOf } from "./subprocess.ts";

const SIZE = 4096;
const PICTURE = { shape: [32, 32, 4], dtype: "u8" } as const;

/** What is mapped first, and what is mapped then of the same memory. */
interface Pair extends Disposable {
  readonly first: readonly Tensor[];
  readonly then: Tensor | Frame;
  /** Where they go, if not to buffers. */
  readonly targets?: (cl: OpenCLContext) => readonly [first: Target, then: Target];
}

type Target = OpenCLContext | ReturnType<OpenCLContext["image"]>;

const PAIRS: { readonly [name: string]: () => Pair } = {
  "a plane, then the frame": () => planes(1),
  "each plane, then the frame": () => planes(2),
  "a peer's range, then a larger one"() {
    const block = host.allocate({ shape: [SIZE], dtype: "u8" });
    const peer = host.wrap(block.handle + 1000n, { shape: [2000], dtype: "u8" });
    return pair([peer], block, [peer, block]);
  },
  "a larger range, then a peer's that begins before it"() {
    const block = host.allocate({ shape: [SIZE], dtype: "u8" });
    const peers = [0n, 2000n].map((begin) => host.wrap(block.handle + begin, { shape: [2096], dtype: "u8" }));
    return pair([peers[1]], peers[0], [...peers, block]);
  },
  "a buffer, then an image": () => images((cl) => [cl, rgba(cl)]),
  "an image, then a buffer": () => images((cl) => [rgba(cl), cl]),
  "an image, then one of other pixels": () =>
    images((cl) => [rgba(cl), cl.image({ order: "BGRA", type: "UNORM_INT8" })]),
};

function planes(count: number): Pair {
  const frame = host.allocateFrame(imageInfo({ format: "NV12", width: 64, height: 40 }));
  return pair(frame.planes.slice(0, count), frame, [frame]);
}

function images(targets: Pair["targets"]): Pair {
  const picture = host.allocate(PICTURE);
  return { ...pair([picture], picture, [picture]), ...(targets === undefined ? {} : { targets }) };
}

function pair(first: readonly Tensor[], then: Tensor | Frame, own: readonly Disposable[]): Pair {
  return { first, then, [Symbol.dispose]: () => own.forEach((one) => one[Symbol.dispose]()) };
}

function rgba(cl: OpenCLContext): Target {
  return cl.image({ order: "RGBA", type: "UNSIGNED_INT8" });
}

/** Has the device write all bytes of a map. */
function fill({ cl }: Bench, mapped: Tensor, value: number): void {
  if (OpenCLImage.isImage(mapped)) cl.queue.write(mapped, new Uint8Array(mapped.layout.byteLength).fill(value));
  else cl.queue.fill(mapped as OpenCLTensor, value);
}

/** What the device sees of a map. */
function bytesOf({ cl }: Bench, mapped: Tensor): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(mapped.layout.byteLength);
  if (OpenCLImage.isImage(mapped)) cl.queue.read(mapped, bytes);
  else cl.queue.read(mapped as OpenCLTensor, bytes);
  return bytes;
}

for (const [name, make] of Object.entries(PAIRS)) {
  for (const access of ["read", "read-write"] as const) {
    testEach(`returning: ${name}, for "${access}"`, async (platform) => {
      using b = bench(platform);
      using made = make();
      const { first, then, targets } = made;
      const [from, to] = targets?.(b.cl) ?? [b.cl, b.cl];
      for (const tensor of first) b.graph.map(tensor, from)[Symbol.dispose]();
      {
        using event = gate();
        for (const [i, tensor] of first.entries()) {
          const mapped = b.graph.map(tensor, from, { access }) as Tensor;
          if (access !== "read") fill(b, mapped, i + 1);
          mapped.disposeAfter(event.fence);
        }
        const route = b.graph.explain(then, to, { access });
        assert(route.open, NoRouteError.name);
        assertEquals(route.steps.map(({ hostWait }) => hostWait), [true]);
        thrown(AccessError, () => b.graph.map(then as Tensor, to, { access }));
        await event.complete();
      }
      await using mapped = b.graph.map(then as Tensor, to, { access });
      const parts = (mapped as Tensor | Frame as Frame).planes ?? [mapped];
      for (const [i, part] of parts.entries()) {
        const bytes = bytesOf(b, part);
        const begin = then.grants[0].start + part.grant.start - parts[0].grant.start;
        const written = first.map(({ grant }) => grant);
        const expected = bytes.map((_, at) => {
          const n = written.findIndex(({ start, end }) => start <= begin + at && begin + at < end);
          return access === "read" || n < 0 ? 0 : n + 1;
        });
        assertBytes(bytes, expected, `part ${i}`);
      }
    });
  }
}

testEach(
  "the same image again while its bytes are on their way back: what is written last comes back",
  async (platform) => {
    using b = bench(platform);
    for (const access of ["write", "read-write"] as const) {
      for (let lap = 0; lap < 10; lap++) {
        using picture = host.allocate(PICTURE);
        const ends = [1, 2].map((value) => {
          const mapped = b.graph.map(picture, rgba(b.cl), { access }) as Tensor;
          fill(b, mapped, value);
          return mapped[Symbol.asyncDispose]();
        });
        await Promise.all(ends);
        assertBytes(picture.bytes(), new Uint8Array(SIZE).fill(2), access);
      }
    }
  },
);

testFailing("a way back behind a promise that rejects says so, and nothing else", async (platform) => {
  await using b = bench(platform);
  const source = host.allocate({ shape: [64], dtype: "u8" });
  const mapped = b.graph.map(source, b.cl);
  using event = gate();
  mapped.usedBy(event.fence);
  const ended = rejection(InteropError, mapped[Symbol.asyncDispose]());
  await event.fail(new InteropError("the test failed it"));
  const { message } = await ended;
  assert(message.includes("the test failed it") && !message.includes("Unmap"), message);
  source[Symbol.dispose]();
});

testLayered("what a device had written to a copy of its own comes back, though the way back fails", async () => {
  const lines = await linesOf(
    `
    const { cl, graph, kernels, [Symbol.dispose]: end } = help.bench("pocl");
    const source = host.allocate({ shape: [64], dtype: "u8" });
    const mapped = graph.map(source, cl);
    kernels.add.run({ items: [64] }, [mapped, 5]);
    cl.queue.finish();
    const event = help.gate();
    mapped.usedBy(event.fence);
    const ended = mapped[Symbol.asyncDispose]().catch(() => console.log("it failed"));
    await event.fail();
    await ended;
    console.log(source.view()[63]);
    source[Symbol.dispose]();
    end();
    console.log(JSON.stringify(ledger.alive));
  `,
    { env: layerEnv("map") },
  );
  assertEquals(lines, ["it failed", "5", "{}"]);
});

testLayered(
  "a device's copy is not used again where the host may have written since, behind a map that is over",
  async () => {
    const lines = await linesOf(
      `
    using one = help.open("pocl");
    using other = help.open("pocl");
    using graph = new MapperGraph([host, one, other]);
    using source = host.allocate({ shape: [64], dtype: "u8" });
    const event = help.gate();
    const first = graph.map(source, one, { access: "read", after: event.fence });
    first.disposeAfter(one.queue.fence());
    await event.complete();
    graph.map(source, other)[Symbol.dispose](); // it stands for the first, which is over, and has not ended
    source.view()[0] = 14;
    {
      using again = graph.map(source, one, { access: "read" });
      using seen = graph.map(again, host, { access: "read" });
      console.log(seen.view({ access: "read" })[0]);
    }
    console.log(source.view()[0]);
  `,
      { env: layerEnv("map") },
    );
    assertEquals(lines, ["14", "14"]);
  },
);
