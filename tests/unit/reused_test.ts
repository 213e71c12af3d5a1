// Frames that are lent for one turn after the other.

import { markAsUntransferable } from "node:worker_threads";
import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, Frame, host, imageInfo } from "@samepage/interop";
import { ReusedFrame } from "../../src/core/tensors/reused.ts";
import { collect } from "../gc.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

Deno.test(
  "ReusedFrame.lend() that fails leaves nothing lent",
  withEmptyLedger(async () => {
    const whole = host.allocateFrame(imageInfo({ format: "NV12", width: 4, height: 4 }));
    const peer = host.wrap(whole.planes[0].described.range.address!, { shape: [4], dtype: "u8" });
    const frame = new ReusedFrame(whole, "a frame");
    const giveBack = frame.takeOver("a ring");
    const [grant] = whole.resource.grants;
    let turns = 0;
    const warnings = await warningsOf(() => {
      markAsUntransferable(peer.view().buffer);
      assertThrows(() => frame.lend("read-write", () => turns++), AccessError, "cannot be taken away");
      assertEquals([turns, grant.state], [0, "live"]);
      assertThrows(() => peer[Symbol.dispose](), AccessError, "cannot be taken away");
    });
    assertEquals(warnings.length, 1);
    giveBack();
    whole[Symbol.dispose]();
  }, { quarantined: 64 }),
);

Deno.test(
  "the garbage collector ends a turn that the program forgets, however the turns before it ended",
  withEmptyLedger(async () => {
    const whole = host.allocate({ shape: [64], dtype: "u8" });
    const reused = new ReusedFrame(whole, "a slot");
    const kept: unknown[] = []; // a disposed turn does not stand for the next one
    let ended = 0;
    const warnings = await warningsOf(async () => {
      for (let round = 1; round <= 3; round++) {
        for (let i = 0; i < 3; i++) {
          const turn = reused.lend("read", () => ended++);
          kept.push(turn);
          turn[Symbol.dispose]();
        }
        (() => void reused.lend("read", () => ended++))();
        await collect();
        assertEquals(ended, 4 * round);
      }
    });
    assertEquals(warnings.map((text) => text.includes("a slot was never disposed")), [true, true, true]);
    assertEquals(kept.length, 9);
    whole[Symbol.dispose]();
  }),
);

Deno.test(
  "a turn in use outlives its object, and what an earlier turn leaves behind does not end a later one",
  withEmptyLedger(async () => {
    const info = imageInfo({ format: "GRAY8", width: 64, height: 1 });
    const whole = host.allocate({ shape: [1, 64], dtype: "u8" });
    const reused = new ReusedFrame(whole, "a slot");
    const ends: string[] = [];
    const warnings = await warningsOf(async () => {
      (() => reused.lend("read", () => ends.push("by its resource")).resource.dispose())();
      const frame = (() => Frame.of([reused.lend("read", () => ends.push("with a frame"))], info))();
      await collect();
      assertEquals(ends, ["by its resource"]);
      frame[Symbol.dispose]();
      const last = reused.lend("read", () => ends.push("last"));
      await collect();
      assertEquals(ends, ["by its resource", "with a frame"]);
      last[Symbol.dispose]();
    });
    assertEquals([warnings, ends.length], [[], 3]);
    const named = await warningsOf(async () => {
      (() => void Frame.of([reused.lend("read", () => ends.push("with a frame"))], info))();
      await collect();
    });
    assertEquals(named.map((text) => /^samepage: (.*) was never disposed/.exec(text)?.[1]), [
      "host frame GRAY8 64 × 1",
    ]);
    assertEquals(ends.length, 4);
    whole[Symbol.dispose]();
  }),
);
