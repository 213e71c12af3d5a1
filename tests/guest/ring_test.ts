// A ring of dma-bufs, between two processes.

import { assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, ledger, MapperGraph } from "../../mod.ts";
import { FrameRing } from "../../src/channel/mod.ts";
import { dmabuf } from "../../src/dmabuf/mod.ts";
import { Child, freshPath, INFO } from "../channel/ring_help.ts";
import { guestTest } from "./needs.ts";

const MODULE = (path: string) => new URL(`../../${path}`, import.meta.url).href;

/** Maps each frame to the host, says what it sees and how it came there, and keeps the third. */
const READER = `
  import { host, MapperGraph } from "${MODULE("mod.ts")}";
  import { FrameRing } from "${MODULE("src/channel/mod.ts")}";
  import { dmabuf } from "${MODULE("src/dmabuf/mod.ts")}";
  using graph = new MapperGraph([host, dmabuf]);
  const ring = await FrameRing.open(path, { contexts: [dmabuf] });
  console.log("joined");
  for await (const frame of ring) {
    {
      await using seen = graph.map(frame, host, { access: "read" });
      console.log(frame.target.kind, frame.access, seen.route.bytesMoved, valueOf(seen));
    }
    if (ring.sequence === 3) await new Promise((resolve) => setTimeout(resolve, 60_000));
  }
`;

guestTest("a ring of dma-bufs: another process sees each frame, and dies with one in its hands", async () => {
  const { alive } = ledger;
  {
    const path = freshPath();
    using graph = new MapperGraph([host, dmabuf]);
    const frames = [1, 2].map(() => dmabuf.allocateFrame(INFO));
    await using ring = FrameRing.create(path, { frames });
    await using reader = new Child(path, READER);
    assertEquals(await reader.line(), "joined");
    const signal = AbortSignal.timeout(60_000);
    const publish = async (value: number) => {
      const frame = await ring.next({ signal });
      {
        await using there = graph.map(frame, host) as Frame<HostTensor>;
        for (const plane of there.planes) plane.bytes().fill(value);
      }
      await ring.publish(frame);
    };
    for (let value = 1; value <= 3; value++) {
      await publish(value);
      assertEquals(await reader.line(), `dmabuf read 0 ${value}`);
    }
    await reader.kill();
    for (let value = 4; value <= 8; value++) await publish(value);
    await ring.flush({ signal });
    assertEquals(ring.readers, 0);
  }
  assertEquals(ledger.alive, alive);
});
