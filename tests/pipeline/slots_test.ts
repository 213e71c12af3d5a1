// The frames that a stage fills by turns.

import { assertEquals, assertRejects } from "@std/assert";
import { AccessError, type Frame, host, type HostTensor, imageInfo, ledger } from "@samepage/interop";
import { Slots } from "../../src/pipeline/slots.ts";

const INFO = imageInfo({ format: "GRAY8", width: 8, height: 8 });

Deno.test("Slots.next() that fails, because a program uses the memory, keeps the frame", async () => {
  const { alive } = ledger;
  const frame = host.allocateFrame(INFO) as Frame<HostTensor>;
  const peer = host.wrap(frame.planes[0].address, { shape: [64], dtype: "u8" });
  const slots = new Slots([frame], "a stage");
  const { signal } = new AbortController();
  const next = () => slots.next(signal, INFO, frame.metadata);
  {
    using _used = peer.borrow("read-write");
    await assertRejects(next, AccessError, "are lent to slice");
  }
  (await next())[Symbol.dispose]();
  peer[Symbol.dispose]();
  await slots[Symbol.asyncDispose]();
  assertEquals(ledger.alive, alive);
});
