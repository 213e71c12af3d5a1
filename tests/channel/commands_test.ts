// The commands by which a driver hands memory over, and takes it: they are work like any other.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { ledger } from "@samepage/interop";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { allocateFrame } from "../../src/core/tensors/over.ts";
import { until } from "../conformance/bytes.ts";
import { Device } from "./device.ts";
import { withEnds } from "./help.ts";

const NV12 = imageInfo({ format: "NV12", width: 64, height: 64 });

Deno.test("channel: the command that hands memory over is work on all planes, and is waited for before they are freed", async () => {
  const device = new Device();
  await withEnds(async ({ one }) => {
    const frame = allocateFrame(device, NV12);
    const sending = one.send(frame);
    await until(() => device.line.lane.submitted === 1);
    assertEquals(frame.planes.map(({ resource }) => resource.busy), [true, true]);
    const ending = frame[Symbol.asyncDispose]();
    assertEquals(device.freed, []);
    device.line.lane.run();
    await Promise.all([sending, ending]);
    assertEquals(device.freed, ["allocated"]);
  });
});

Deno.test("channel: the command that takes memory is work on it; another hands it back, before it is given up", async () => {
  const device = new Device();
  const { lane } = device.line;
  await withEnds(async ({ one, other }) => {
    using frame = allocateFrame(device, NV12);
    const sending = one.send(frame);
    await until(() => lane.submitted === 1);
    lane.run();
    await sending;
    const received = await other.receive();
    assertEquals([lane.submitted, lane.over, received!.resource.busy], [2, 1, true]);
    const ending = received![Symbol.asyncDispose]();
    await until(() => (lane.step(), device.freed.length > 0));
    await ending;
    assertEquals([lane.submitted, lane.over, device.freed], [3, 3, ["imported"]]);
    assertEquals(device.driver.blocks, 0);
  }, { contexts: [device] });
});

Deno.test("channel: what no tensor can be made of is given back", async () => {
  const device = new Device();
  const before = ledger.alive;
  await withEnds(async ({ one, other }) => {
    using frame = allocateFrame(device, NV12);
    const sending = one.send(frame);
    await until(() => device.line.lane.submitted === 1);
    device.line.lane.run();
    await sending;
    device.broken = new Error("no tensor");
    assert(await assertRejects(() => other.receive()) === device.broken);
    assertEquals(device.freed, ["imported"]);
  }, { contexts: [device] });
  assertEquals(ledger.alive, before);
});
