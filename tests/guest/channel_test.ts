// DMA-BUFs through a channel: between two ends of this process, from another process, and from an enemy.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { Frame, host, imageInfo, InteropError, MapperGraph } from "../../mod.ts";
import { listen } from "../../src/channel/mod.ts";
import { dmabuf, DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { until } from "../conformance/bytes.ts";
import { temporaryPath, withEnds, withNothingLeft } from "../channel/help.ts";
import * as raw from "../channel/raw.ts";
import { makeMemfd, makeUdmabuf, VgemFence } from "./kernel.ts";
import { guestTest } from "./needs.ts";

const PAGE = 4096;
const contexts = [host, dmabuf];

guestTest("channel: a dma-buf arrives as one, and is known by its inode", () =>
  withEnds(async ({ one, other }) => {
    using graph = new MapperGraph(contexts);
    using sent = dmabuf.allocate({ shape: [100, 100], dtype: "u8" });
    await one.send(sent, { access: "read-write" });
    using received = await other.receive();
    assert(received instanceof DmaBufTensor);
    assertEquals(received.grant.allocation, sent.grant.allocation);
    {
      using writing = graph.map(sent, host);
      writing.view()[5] = 6;
    }
    using reading = graph.map(received, host, { access: "read" });
    assertEquals(reading.view({ access: "read" })[5], 6);
  }, { contexts }));

guestTest("channel: a frame in a dma-buf", () =>
  withEnds(async ({ one, other }) => {
    const info = imageInfo({ format: "NV12", width: 64, height: 48 });
    using sent = dmabuf.allocateFrame(info, { rowAlign: 256 });
    await one.send(sent);
    using received = await other.receive();
    assert(received instanceof Frame);
    assertEquals(received.info, info);
    assertEquals(received.planes.map(({ layout }) => layout), sent.planes.map(({ layout }) => layout));
    assertEquals([received.target, received.access], [dmabuf, "read"]);
  }, { contexts }));

guestTest("channel: a send waits for the fences of another driver", () =>
  withEnds(async ({ one, other }) => {
    using memfd = makeMemfd(PAGE);
    using buffer = makeUdmabuf(memfd, PAGE);
    using writer = new VgemFence(buffer, "write");
    using sent = dmabuf.attach(buffer.fd, { shape: [64], dtype: "u8" });
    let gone = false;
    const sending = one.send(sent).then(() => gone = true);
    assertEquals(await until(() => gone, 50), false);
    writer.signal();
    await sending;
    using _received = await other.receive();
  }, { contexts }), ["/dev/udmabuf", "/dev/dri/card0"]);

guestTest("channel: another process changes a dma-buf in place", () =>
  withNothingLeft(async () => {
    await using at = await temporaryPath();
    using server = listen(at.path, { contexts });
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "-q", "--allow-ffi", "tests/channel/child.ts", at.path, "increment"],
      stdout: "inherit",
      stderr: "inherit",
    }).spawn();
    {
      using peer = await server.accept();
      using graph = new MapperGraph(contexts);
      using shared = host.allocate({ shape: [PAGE], dtype: "u8", sharable: true });
      using sent = graph.map(shared, dmabuf); // the memfd's pages, as a dma-buf
      await peer.send(sent, { access: "read-write" });
      using back = await peer.receive();
      assertEquals(back?.target, dmabuf);
      sent[Symbol.dispose]();
      assertEquals(shared.view()[5], 1);
    }
    assertEquals((await child.status).code, 0);
  }));

/** What says of one fd that it is a dma-buf of a page, or of `byteLength`. */
function message(memory: string, byteLength = PAGE): Uint8Array {
  const planes = [{ dtype: "u8", shape: [byteLength], strides: [1], byteOffset: 0 }];
  const body = { memory, access: "read-write", sync: "done", objects: [{ offset: 0, byteLength }], planes };
  const text = new TextEncoder().encode(JSON.stringify(body));
  const header = new DataView(new ArrayBuffer(16));
  header.setUint32(0, 0x65676170, true);
  header.setUint16(4, 0x0101, true); // version and kind
  header.setUint16(6, 1, true);
  header.setUint32(8, text.length, true);
  return Uint8Array.of(...new Uint8Array(header.buffer), ...text);
}

const LIES: Readonly<Record<string, { readonly bytes: Uint8Array; readonly fd: () => number }>> = {
  "a memfd as a dma-buf": { bytes: message("dma-buf"), fd: () => raw.memfd(PAGE) },
  "a dma-buf as a memfd": { bytes: message("memfd"), fd: udmabuf },
  "a dma-buf of more bytes than it has": { bytes: message("dma-buf", PAGE + 1), fd: udmabuf },
  "a pipe as a dma-buf": {
    bytes: message("dma-buf"),
    fd: () => {
      const [read, write] = raw.pipe();
      raw.close(write);
      return read;
    },
  },
  "a regular file as a dma-buf": { bytes: message("dma-buf"), fd: () => raw.openFile("/etc/passwd", raw.OPEN.read) },
  "an fd that only names a file, as a dma-buf": {
    bytes: message("dma-buf"),
    fd: () => raw.openFile("/etc/passwd", raw.OPEN.path),
  },
};

function udmabuf(): number {
  using memfd = makeMemfd(PAGE);
  using buffer = makeUdmabuf(memfd, PAGE);
  return raw.duplicate(buffer.fd);
}

for (const [name, { bytes, fd }] of Object.entries(LIES)) {
  guestTest(`channel: refused: ${name}`, () =>
    withNothingLeft(async () => {
      await using at = await temporaryPath();
      using server = listen(at.path, { contexts });
      using enemy = new DisposableStack();
      const socket = enemy.adopt(raw.connectRaw(at.path), raw.close);
      const lie = enemy.adopt(fd(), raw.close);
      using peer = await server.accept();
      raw.sendRaw(socket, bytes, [lie]);
      const error = await assertRejects(() => peer.receive(), InteropError);
      assertEquals(error.name, "MessageError", `${error}`);
      assert(await until(() => raw.isClosed(socket)), "the connection is open");
    }));
}
