/** FFmpeg decodes into dma-bufs: in the guest, which has udmabuf. */
import { assertEquals } from "@std/assert";
import { host, ledger, MapperGraph } from "../../mod.ts";
import { dmabuf } from "../../src/dmabuf/mod.ts";
import { assertAlive } from "../alive.ts";
import { missing } from "../ffmpeg/clips.ts";
import { decodeInto, luma } from "../ffmpeg/decode_into.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { Fd } from "./kernel.ts";
import { guestTest } from "./needs.ts";

guestTest("ffmpeg: decoding into dma-bufs: each plane is one, by an fd of its own", async () => {
  assertEquals(missing, undefined);
  dmabuf.allocate({ shape: [1], dtype: "u8" })[Symbol.dispose](); // what is opened once, and kept
  const [{ alive }, fds] = [ledger, openFds()];
  {
    using graph = new MapperGraph([host, dmabuf]);
    await decodeInto(dmabuf, (frame) => {
      const [plane] = frame.planes;
      const { byteOffset, byteLength } = plane.layout;
      using buffer = new Fd(plane.exportFd()); // another process would map it: here, all of it is lent to FFmpeg
      using shown = buffer.map(byteOffset + byteLength);
      assertEquals(shown.bytes.slice(byteOffset), luma(graph, frame));
    });
  }
  await assertAlive(alive, "alive after the test");
  assertOpenFds(fds);
});
