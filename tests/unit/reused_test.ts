// Frames that are lent for one turn after the other.

import { markAsUntransferable } from "node:worker_threads";
import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, host, imageInfo } from "@samepage/interop";
import { ReusedFrame } from "../../src/core/tensors/reused.ts";
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
