// Memory that other code made, in maps, slices, lends and messages: its bytes against a model, and when its owner is called.

import { assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { AccessError, DisposedError, host, type HostTensor, MapperGraph, region } from "@samepage/interop";
import { OpenCVContext, type OpenCVUMat } from "@samepage/interop/opencv";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { withEnds } from "../channel/help.ts";
import * as memfds from "../channel/raw.ts";
import { assertBytes, bench, filled, LONG, random, testEach } from "../opencl/help.ts";
import { bufferOf, release } from "../opencl/raw.ts";
import { present as hasOpenCV } from "../opencv/help.ts";

const [HEIGHT, WIDTH] = [64, 64];
const LENGTH = HEIGHT * WIDTH;
const PICTURE = { shape: [HEIGHT, WIDTH], dtype: "u8" } as const;
const BYTES = { shape: [LENGTH], dtype: "u8" } as const;

/** A memfd of other code's, with random bytes, and the bytes that it had when its owner was called. */
class Memfd implements Disposable {
  readonly fd = memfds.memfd(LENGTH);
  readonly model = random(LENGTH);
  readonly ended: Uint8Array[] = [];
  readonly #file: Deno.FsFile;

  constructor() {
    this.#file = Deno.openSync(`/proc/self/fd/${this.fd}`, { read: true, write: true });
    this.#file.writeSync(this.model);
  }

  readonly owner = (): void => void this.ended.push(this.bytes);

  get bytes(): Uint8Array {
    const bytes = new Uint8Array(LENGTH);
    this.#file.seekSync(0, Deno.SeekMode.Start);
    assertEquals(this.#file.readSync(bytes), LENGTH);
    return bytes;
  }

  [Symbol.dispose](): void {
    this.#file.close();
    memfds.close(this.fd);
  }
}

testEach("attached memory whose map is at work: its owner is called once the bytes are back", async (platform) => {
  await using b = bench(platform);
  for (const how of ["dispose", "disposeAsync", "disposeAfter"] as const) {
    using memory = new Memfd();
    const tensor = host.attach(memory.fd, BYTES, { owner: memory.owner });
    const mapped = b.graph.map(tensor, b.cl);
    b.kernels.slow.run({ items: [LENGTH] }, [mapped, 3, LONG]);
    b.kernels.add.run({ items: [LENGTH] }, [mapped, 4]);
    if (how === "dispose") tensor[Symbol.dispose]();
    else if (how === "disposeAsync") {
      const ended = tensor[Symbol.asyncDispose]();
      assertThrows(() => mapped.handle, DisposedError);
      await ended;
    } else {
      tensor.disposeAfter(b.cl.queue.fence());
      while (memory.ended.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assertEquals(memory.ended.length, 1);
    assertBytes(memory.ended[0], memory.model.map((byte) => byte + 7), how);
  }
});

testEach(
  "an attached cl_mem that the host maps: its owner is called after the map and the peers",
  (platform) => {
    using b = bench(platform);
    const theirs = bufferOf(b.cl);
    let released = 0;
    const owner = () => void released++;
    const tensor = b.cl.attach(theirs, BYTES, { owner });
    release(theirs); // the tensor has retained it
    const peer = b.cl.attach(theirs, { ...BYTES, shape: [16] }, { access: "read" });
    b.kernels.fill.run({ items: [LENGTH] }, [tensor, 9]);
    const mapped = b.graph.map(tensor, host);
    const view = mapped.bytes();
    assertBytes(view, filled(LENGTH, 9));
    view.fill(5);
    assertThrows(() => peer.handle, AccessError);
    tensor[Symbol.dispose]();
    assertEquals([view.length, released], [0, 0]); // the peer shows its bytes
    const seen = new Uint8Array(16);
    b.cl.queue.read(peer, seen);
    assertBytes(seen, new Uint8Array(16).fill(5));
    peer[Symbol.dispose]();
    assertEquals(released, 1);
  },
);

Deno.test("attached memory that is lent to a promise: its owner is called when that settles", async () => {
  using memory = new Memfd();
  const tensor = host.attach(memory.fd, BYTES, { owner: memory.owner });
  const { promise, resolve } = Promise.withResolvers<void>();
  const lent = tensor.lend(async (view) => {
    await promise;
    (view as Uint8Array).fill(8);
  });
  tensor[Symbol.dispose]();
  assertEquals(memory.ended, []);
  resolve();
  await lent;
  await tensor[Symbol.asyncDispose]();
  assertEquals(memory.ended.length, 1);
  assertBytes(memory.ended[0], memory.model.fill(8));
});

testEach("slices of memory that is attached twice go to OpenCL and to UMats, and no other byte changes", (platform) => {
  using b = bench(platform);
  using memory = new Memfd();
  const { model } = memory;
  const cv = hasOpenCV ? OpenCVContext.open() : undefined;
  using graph = new MapperGraph(cv === undefined ? [host, b.cl] : [host, b.cl, cv]);
  const [one, two] = [1, 2].map(() => host.attach(memory.fd, PICTURE, { owner: memory.owner }));
  assertStrictEquals(one.grant.allocation, two.grant.allocation);
  for (let i = 0; i < 20; i++) {
    const pick = (most: number) => Math.floor(Math.random() * most);
    const [top, left] = [pick(HEIGHT), pick(WIDTH)];
    const [height, width] = [1 + pick(HEIGHT - top), 1 + pick(WIDTH - left)];
    const [source, other] = i % 2 === 0 ? [one, two] : [two, one];
    using slice = source.slice(region(source.layout, [top, left], [height, width])) as HostTensor<"u8">;
    const where = `${height} × ${width} at ${top}, ${left}`;
    {
      using mapped = graph.map(slice, b.cl, { copy: "allow" }) as OpenCLTensor;
      assertThrows(() => other.handle, AccessError, undefined, where);
      const { layout } = mapped;
      for (let row = 0; row < height; row++) {
        const base = BigInt(layout.byteOffset + row * layout.strides[0]);
        b.kernels.addAt.run({ items: [width] }, [mapped, base, 1 + i]);
      }
    }
    const expect = (change: (byte: number) => number) => {
      for (let row = top; row < top + height; row++) {
        for (let at = left; at < left + width; at++) model[row * WIDTH + at] = change(model[row * WIDTH + at]);
      }
    };
    expect((byte) => byte + 1 + i);
    assertBytes(memory.bytes, model, where);
    if (cv === undefined || platform !== "pocl") continue;
    using umat = graph.map(slice, cv.umat, { copy: "allow" }) as OpenCVUMat;
    cv.bitwise_not(umat, umat);
    umat[Symbol.dispose]();
    expect((byte) => 255 - byte);
    assertBytes(memory.bytes, model, `a UMat of ${where}`);
  }
  one[Symbol.dispose]();
  assertEquals(memory.ended.length, 0);
  two[Symbol.dispose]();
  assertEquals(memory.ended.length, 2);
  for (const bytes of memory.ended) assertBytes(bytes, model);
  cv?.[Symbol.dispose]();
});

Deno.test("attached memory that is sent and received, in one process: a peer, which outlives the owner", async () => {
  using memory = new Memfd();
  await withEnds(async ({ one, other }) => {
    const tensor = host.attach(memory.fd, BYTES, { owner: memory.owner });
    const part = tensor.slice(region(tensor.layout, [0], [8]));
    await assertRejects(() => one.send(tensor, { access: "read-write" }), AccessError, "are lent to");
    part[Symbol.dispose]();
    await one.send(tensor, { access: "read-write" });
    using received = await other.receive() as HostTensor<"u8">;
    const again = host.attach(memory.fd, BYTES);
    for (const peer of [received, again]) assertStrictEquals(peer.grant.allocation, tensor.grant.allocation);
    {
      using _lent = received.borrow("read-write");
      for (const peer of [tensor, again]) assertThrows(() => peer.handle, AccessError);
    }
    received.view().fill(6);
    tensor[Symbol.dispose]();
    assertEquals(memory.ended, []); // it is attached once more
    again[Symbol.dispose]();
    assertEquals(memory.ended, [new Uint8Array(LENGTH).fill(6)]);
    received.view().fill(7); // its mapping is its own
    assertEquals(memory.bytes, new Uint8Array(LENGTH).fill(7));
  });
});
