import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  type Context,
  DisposedError,
  Frame,
  host,
  imageInfo,
  layout,
  Metadata,
  NativeCallError,
  Port,
  type Tensor,
} from "../../mod.ts";
import type { Memory, MemoryTarget } from "../../backend.ts";
import { O_CLOEXEC } from "../../ffi/libc/constants.ts";
import { connect, listen, MessageError } from "../../src/channel/mod.ts";
import { encoded, KINDS } from "../../src/channel/message.ts";
import { connectionOf } from "../../src/channel/peer.ts";
import type { MediaFacts } from "../../src/core/layout/frame_info.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { HostTensor } from "../../src/host/mod.ts";
import { until } from "../conformance/bytes.ts";
import { temporaryPath, withEnds, withNothingLeft } from "./help.ts";

function asHost(given: Tensor | Frame | undefined): HostTensor {
  assert(given instanceof HostTensor);
  return given;
}

Deno.test("channel: both sides see the same bytes of a tensor", () =>
  withEnds(async ({ one, other }) => {
    using sent = host.allocate({ shape: [480, 640, 4], dtype: "u8", sharable: true });
    sent.view()[7] = 1;
    await one.send(sent, { access: "read-write" });
    using received = asHost(await other.receive());
    assertEquals(received.layout, sent.layout);
    assertEquals(received.view()[7], 1);
    received.view()[8] = 2;
    assertEquals(sent.view()[8], 2);
  }));

Deno.test("channel: what was sent outlives its sender", () =>
  withEnds(async ({ one, other }) => {
    const sent = host.allocate({ shape: [100_000], dtype: "f32", sharable: true });
    sent.view().fill(0.5);
    await one.send(sent);
    sent[Symbol.dispose]();
    one[Symbol.dispose]();
    using received = asHost(await other.receive());
    assertEquals(received.view()[99_999], 0.5);
    assertEquals(await other.receive(), undefined);
  }));

Deno.test("channel: fds that come are not for the programs that this one starts", () =>
  withEnds(async ({ one, other }) => {
    using sent = host.allocate({ shape: [4096], dtype: "u8", sharable: true });
    await one.send(sent);
    sent[Symbol.dispose]();
    using _received = await other.receive();
    const flags = [...Deno.readDirSync("/proc/self/fd")].flatMap(({ name }) => {
      const path = `/proc/self/fd/${name}`;
      return readLink(path)?.includes("memfd:samepage") ? [Deno.readTextFileSync(path.replace("fd/", "fdinfo/"))] : [];
    }).map((info) => Number(`0o${/^flags:\s*(\d+)$/m.exec(info)![1]}`));
    assertEquals(flags.map((flags) => (flags & O_CLOEXEC) !== 0), [true]);
  }));

function readLink(path: string): string | undefined {
  try {
    return Deno.readLinkSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined; // the fd that reads the folder
    throw error;
  }
}

Deno.test("channel: a part of a tensor, with its own strides", () =>
  withEnds(async ({ one, other }) => {
    using whole = host.allocate({ shape: [16, 16], dtype: "u16", sharable: true });
    whole.view().forEach((_, i, all) => all[i] = i);
    const at = layout({ shape: [4, 4], dtype: "u16", strides: [32, 4], byteOffset: 2 * (16 * 3 + 5) });
    using part = whole.slice(at, { access: "read" });
    await one.send(part);
    using received = asHost(await other.receive());
    assertEquals(received.layout.strides, [32, 4]);
    assertEquals(received.view()[0], 16 * 3 + 5);
    assertEquals(received.view()[16], 16 * 4 + 5);
  }));

Deno.test("channel: a frame, and what is known of it", () =>
  withEnds(async ({ one, other }) => {
    const metadata = new Metadata({
      timestamp: { pts: -5n, duration: 40_000_000n },
      source: { stream: "Tür", sequence: 7 },
      inferenceResult: { modelName: "yolo", data: Uint8Array.of(0, 255, 3), dims: [1, 3] },
      modelInfo: { inputShapes: [[1, 3, 640, 640], []] },
      "my own": { int: 5n, flag: true, ["__proto__"]: "no prototype", list: [1n, "one", [0.5, ["deep"]]] },
    });
    metadata.add("detection", { xMin: 0, yMin: 0.25, xMax: 0.5, yMax: 1, labelId: -1, label: "cat" });
    metadata.add("detection", { xMin: 0.5, yMin: 0, xMax: 1, yMax: 1, confidence: 1e-9 });
    const colour = { matrix: "bt709", range: "full" } as const;
    const info = imageInfo({ format: "NV12", width: 64, height: 48, modifier: 0n, colour });
    using sent = host.allocateFrame(info, { sharable: true, rowAlign: 128, metadata });
    sent.planes[1].bytes()[3] = 99;
    await one.send(sent);
    using received = await other.receive();
    assert(received instanceof Frame);
    assertEquals(received.info, info);
    assertEquals([...received.metadata.entries()], [...metadata.entries()]);
    assertEquals(received.planes.map(({ layout }) => layout), sent.planes.map(({ layout }) => layout));
    assertEquals(asHost(received.planes[1]).bytes()[3], 99);
  }));

Deno.test("channel: a frame whose planes lie in memory of their own", () =>
  withEnds(async ({ one, other }) => {
    const planes = [host, host].map((context) => context.allocate({ shape: [1024], dtype: "f32", sharable: true }));
    planes[1].view()[1023] = 3;
    const audio = { type: "audio", format: "f32", sampleRate: 48_000, channels: 2, samples: 1024, layout: "planar" };
    using sent = Frame.of(planes, audio as Frame["info"]);
    await one.send(sent);
    using received = await other.receive();
    assert(received instanceof Frame);
    assertEquals(received.info, sent.info);
    assertEquals(asHost(received.planes[1]).view()[1023], 3);
  }));

Deno.test("channel: the receiver's access is what the sender grants", () =>
  withEnds(async ({ one, other }) => {
    using sent = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    await one.send(sent);
    using received = asHost(await other.receive());
    assertEquals(received.access, "read");
    using reading = sent.borrow("read");
    const error = await assertRejects(() => one.send(reading, { access: "write" }), AccessError);
    assertEquals(error.argument, "access");
  }));

Deno.test("channel: memory that has no fd is refused, and so is what is lent", () =>
  withEnds(async ({ one }) => {
    using plain = host.allocate({ shape: [64], dtype: "u8" });
    const error = await assertRejects(() => one.send(plain), ArgumentError);
    assertEquals(error.argument, "frame");
    assertMatch(error.message, /sharable: true/);
    using shared = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    using _lent = shared.borrow("read-write");
    await assertRejects(() => one.send(shared), AccessError);
  }));

Deno.test("channel: a send waits for the work on its tensor", () =>
  withEnds(async ({ one, other }) => {
    using sent = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    const { promise, resolve } = Promise.withResolvers<void>();
    sent.usedBy(host.signal(promise));
    let gone = false;
    const sending = one.send(sent).then(() => gone = true);
    assertEquals(await until(() => gone, 20), false);
    resolve();
    await sending;
    using _received = await other.receive();
  }));

Deno.test("channel: a send waits for bytes on their way back", () =>
  withEnds(async ({ one, other }) => {
    using sent = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    const { promise, resolve } = Promise.withResolvers<void>();
    sent.borrow("read-write").disposeAfter(host.signal(promise));
    const gone = one.send(sent).then(() => "sent");
    const abort = new AbortController();
    const aborted = one.send(sent, { signal: abort.signal });
    abort.abort("no");
    assertEquals((await Promise.allSettled([aborted]))[0], { status: "rejected", reason: "no" });
    assertEquals(await Promise.race([gone, until(() => false, 20)]), false);
    resolve();
    assertEquals(await gone, "sent");
    using _received = await other.receive();
  }));

Deno.test("peer.receive() leaves the connection open if it is aborted with NaN, which equals nothing", () =>
  withEnds(async ({ one, other }) => {
    const abort = new AbortController();
    const aborted = other.receive({ signal: abort.signal });
    abort.abort(NaN);
    assertEquals((await Promise.allSettled([aborted]))[0], { status: "rejected", reason: NaN });
    using sent = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    await one.send(sent);
    using received = await other.receive();
    assertEquals(received?.byteLength, 64);
  }));

Deno.test("channel: what failed on bytes that have come back is thrown by the send, once", () =>
  withEnds(async ({ one, other }) => {
    using sent = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    const { promise, reject } = Promise.withResolvers<void>();
    sent.borrow("read-write").disposeAfter(host.signal(promise));
    const refused = assertRejects(() => one.send(sent), Error, "the work failed");
    reject(new Error("the work failed"));
    await refused;
    await one.send(sent);
    using _received = await other.receive();
  }));

Deno.test("channel: a send that waits for work keeps its place", () =>
  withEnds(async ({ one, other }) => {
    using busy = host.allocate({ shape: [1], dtype: "u8", sharable: true });
    using idle = host.allocate({ shape: [2], dtype: "u8", sharable: true });
    const { promise, resolve } = Promise.withResolvers<void>();
    busy.usedBy(host.signal(promise));
    const lent = idle.borrow("read-write");
    const sendings = [one.send(busy), one.send(idle), one.send(lent, { access: "read-write" })];
    const refused = assertRejects(() => sendings[1], AccessError);
    assertEquals(await until(() => false, 10), false);
    resolve();
    await refused;
    using first = await other.receive();
    using second = await other.receive();
    assertEquals([first, second].map((each) => asHost(each).layout.shape), [[1], [2]]);
    await Promise.all([sendings[0], sendings[2]]);
    lent[Symbol.dispose]();
  }));

Deno.test("channel: a dispose ends a send that waits for work", () =>
  withEnds(async ({ one }) => {
    const busy = host.allocate({ shape: [1], dtype: "u8", sharable: true });
    const { promise, resolve } = Promise.withResolvers<void>();
    busy.usedBy(host.signal(promise));
    const sending = assertRejects(() => one.send(busy), DisposedError);
    one[Symbol.dispose]();
    await sending;
    resolve();
    await busy[Symbol.asyncDispose]();
  }));

Deno.test("channel: a picture without a fourcc is refused before it is sent", () =>
  withEnds(async ({ one }) => {
    const planes = [{ dtype: "u8", elements: 1, step: 1, rows: 1 }] as const;
    const info = { type: "picture", format: "bayer_rggb8", width: 7, height: 5, planes } as const;
    using sent = host.allocateFrame(info, { sharable: true });
    await assertRejects(() => one.send(sent), ArgumentError, "bayer_rggb8");
  }));

Deno.test("peer.send() passes on what codecs know of a frame", () =>
  withEnds(async ({ one, other }) => {
    const media: MediaFacts = {
      ...{ pts: -(2n ** 62n), duration: 40n, keyFrame: true, discontinuous: false },
      ...{ timeBase: [1, 1000] as const, frameRate: [25, 1] as const, sampleAspect: [4, 3] as const },
      ...{ matrix: "smpte170m", transfer: "smpte2084", chromaLocation: "left" },
    };
    const info = { ...imageInfo({ format: "GRAY8", width: 8, height: 8 }), media };
    using sent = host.allocateFrame(info, { sharable: true });
    await one.send(sent);
    using received = await other.receive() as Frame;
    assertEquals(received.info, sent.info);
    assertEquals(received.info.media, media);
    using sound = host.allocateFrame({
      ...{ type: "audio", format: "i16", sampleRate: 48_000, channels: 2, samples: 64, layout: "planar" },
      media: { pts: 7n },
    }, { sharable: true });
    await one.send(sound);
    using heard = await other.receive() as Frame;
    assertEquals(heard.info.media, { pts: 7n });
  }));

Deno.test("peer.send() keeps a zero's sign in metadata", () =>
  withEnds(async ({ one, other }) => {
    using sent = host.allocateFrame(imageInfo({ format: "GRAY8", width: 8, height: 8 }), { sharable: true });
    sent.metadata.set("affineTransform", { matrix: [1, -0, 0, -0, 1, 0] });
    sent.metadata.set("tilt", { degrees: -0 });
    await one.send(sent);
    using received = await other.receive<Frame>();
    const { matrix } = received!.metadata.get("affineTransform")!;
    assertEquals(matrix.map((each) => Object.is(each, -0)), [false, true, false, true, false, false]);
    assert(Object.is(received!.metadata.get("tilt")!.degrees, -0));
  }));

Deno.test("channel: a side that does not read holds the other back, in order", () =>
  withEnds(async ({ one, other }) => {
    const count = 1000;
    using sent = host.allocateFrame(imageInfo({ format: "GRAY8", width: 8, height: 8 }), { sharable: true });
    let accepted = 0;
    const sendings = Array.from({ length: count }, async (_, sequence) => {
      sent.metadata.set("source", { sequence });
      await one.send(sent);
      accepted++;
    });
    assert(await until(() => accepted > 10), `${accepted} messages`);
    assertEquals(await until(() => accepted === count, 50), false, "1000 messages were taken by nobody");
    for (let i = 0; i < count; i++) {
      using received = await other.receive();
      assertEquals((received as Frame).metadata.get("source")?.sequence, i);
    }
    await Promise.all(sendings);
  }));

Deno.test("channel: an aborted wait ends, and nothing else does", () =>
  withEnds(async ({ server, one, other }) => {
    const aborted = () => ({ signal: AbortSignal.timeout(5) });
    const isTimeout = (error: unknown) => assertEquals((error as DOMException).name, "TimeoutError");
    isTimeout(await assertRejects(() => other.receive(aborted())));
    isTimeout(await assertRejects(() => server.accept(aborted())));
    using sent = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    let count = 0;
    const filled = await assertRejects(async () => {
      for (;; count++) await one.send(sent, aborted());
    });
    isTimeout(filled);
    const [first, second] = [AbortSignal.timeout(20), AbortSignal.timeout(5)];
    const sendings = [one.send(sent, { signal: first }), one.send(sent, { signal: second })];
    for (const { reason } of await Promise.allSettled(sendings) as PromiseRejectedResult[]) isTimeout(reason);
    for (let i = 0; i < count; i++) (await other.receive())![Symbol.dispose]();
    await one.send(sent);
    using _received = await other.receive();
    const never = new AbortController();
    never.abort("no");
    assertEquals(await one.send(sent, { signal: never.signal }).catch((reason) => reason), "no");
  }));

Deno.test("channel: a dispose ends the loops over it", () =>
  withEnds(async ({ server, one, other }) => {
    const loops = [Array.fromAsync(server), Array.fromAsync(one), Array.fromAsync(other)];
    const waiting = assertRejects(() => other.receive(), DisposedError);
    await until(() => false, 5);
    await other[Symbol.asyncDispose]();
    server[Symbol.dispose]();
    await waiting;
    assertEquals(await Promise.all(loops), [[], [], []]);
    await assertRejects(() => other.receive(), DisposedError);
    using sent = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    const error = await assertRejects(() => one.send(sent), NativeCallError);
    assertEquals([error.api, error.fn, error.codeName], ["channel", "sendmsg", "EPIPE"]);
    one[Symbol.dispose]();
    await assertRejects(() => one.send(sent), DisposedError);
    await assertRejects(() => server.accept(), DisposedError);
  }));

Deno.test("channel: peers of one server, each on its own", () =>
  withNothingLeft(async () => {
    await using at = await temporaryPath();
    using server = listen(at.path, { contexts: [host] });
    using all = new DisposableStack();
    const clients = [0, 1, 2].map(() => all.use(connect(at.path)));
    using sent = host.allocate({ shape: [1], dtype: "u32", sharable: true });
    for (const client of clients) await client.send(sent);
    let peers = 0;
    for await (using peer of server) {
      assertEquals(peer.credentials.pid, Deno.pid);
      assertEquals(peer.credentials.uid, Deno.uid());
      using _received = await peer.receive();
      if (++peers === clients.length) break;
    }
  }));

/** Another kind of memory, which lies on the host's: what it exports and imports is said by the test. */
function kindOf(name: string, offers: Pick<Memory, "exports" | "imports">): MemoryTarget<HostTensor> & Context {
  const ports: Memory<HostTensor> = {
    ...offers,
    export: (tensor, _, byteLength, access) => {
      const { port } = host.ports.export!(tensor, "memfd", byteLength, access, false);
      return { port: new Port(offers.exports[0].kind, { fd: port.takeFd(), offset: port.offset }) };
    },
    import: (port, access) => {
      const { offset, byteLength } = port;
      return host.ports.import!(new Port("memfd", { fd: port.takeFd(), offset, byteLength }), access);
    },
    tensor: (init) => new HostTensor(init),
  };
  const context = { api: name, name, id: {}, kind: name, ports, resource: undefined, [Symbol.dispose]: () => {} };
  const target: MemoryTarget<HostTensor> & Context = {
    ...context,
    get context() {
      return target;
    },
    get targets() {
      return [target];
    },
    is: (value): value is HostTensor => value.target === target,
  };
  return target;
}

Deno.test("channel: memory goes by the best kind of port, to the first context that imports it", async () => {
  const buffers = kindOf("buffers", {
    exports: [{ kind: "dma-buf" }],
    imports: [{ kind: "memfd" }, { kind: "dma-buf" }],
  });
  const copies = kindOf("copies", {
    exports: [{ kind: "memfd", transfer: "copy" }],
    imports: [{ kind: "memfd", transfer: "copy" }, { kind: "memfd", device: { uuid: "0" } }],
  });
  await withEnds(async ({ one, other }) => {
    using fds = new DisposableStack();
    using first = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    await one.send(first);
    using received = await other.receive();
    assertEquals(received?.target, buffers);
    const refused = await assertRejects(() => one.send(received!), ArgumentError);
    assertMatch(refused.message, /expected a dma-buf/); // it would go as one, and is a memfd
    const [object, plane] = [{ offset: 0, byteLength: 64 }, { dtype: "u8", shape: [64], strides: [1], byteOffset: 0 }];
    const body = { memory: "dma-buf", access: "read", sync: "done", objects: [object], planes: [plane] };
    await connectionOf(one).send(encoded(KINDS.memory, 1, body), [fds.adopt(first.exportFd(), closeFd)]);
    const error = await assertRejects(() => other.receive(), MessageError);
    assertMatch(error.message, /expected a dma-buf/);
  }, { contexts: [copies, buffers, host] });
  await withEnds(async ({ one, other }) => {
    using first = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    await one.send(first);
    using received = await other.receive();
    assertEquals(received?.target, host);
    using resource = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    const { layout, resource: held, rawHandle: handle } = resource;
    using copied = new HostTensor({ target: copies, handle, layout, resource: held });
    const error = await assertRejects(() => one.send(copied), ArgumentError);
    assertMatch(error.message, /copies exports nothing that another process could open/);
  }, { contexts: [copies, host] });
});

Deno.test("peer.send() asks what an offer takes", async () => {
  const words = kindOf("words", {
    exports: [{ kind: "memfd", takes: { dtypes: ["u32"] } }],
    imports: [{ kind: "memfd" }],
  });
  await withEnds(async ({ one, other }) => {
    using bytes = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    await one.send(bytes);
    using received = await other.receive();
    assertEquals(received?.target, words);
    await assertRejects(() => one.send(received!), ArgumentError, "its elements are u8; those of this target are u32");
  }, { contexts: [words] });
});

Deno.test("channel: a port that a context cannot take goes to the next, and alone it says why", async () => {
  const refused = new AccessError("it can only be read.", { api: "buffers", hint: "Use it elsewhere." });
  const buffers = kindOf("buffers", {
    exports: [{ kind: "memfd" }],
    imports: [{
      kind: "memfd",
      refusePort: ({ fd, byteLength }) => fd >= 0 && byteLength === 64 ? refused : undefined,
    }],
  });
  for (const [shape, target] of [[64, host], [65, buffers]] as const) {
    await withEnds(async ({ one, other }) => {
      using sent = host.allocate({ shape: [shape], dtype: "u8", sharable: true });
      await one.send(sent);
      using received = await other.receive();
      assertEquals(received?.target, target);
    }, { contexts: [buffers, host] });
  }
  await withEnds(async ({ one, other }) => {
    using sent = host.allocate({ shape: [64], dtype: "u8", sharable: true });
    await one.send(sent);
    const error = await assertRejects(() => other.receive(), MessageError);
    assertEquals([error.argument, error.cause], ["memory", refused]);
    assertMatch(error.message, /it can only be read\. Use it elsewhere\./);
  }, { contexts: [buffers] });
});
