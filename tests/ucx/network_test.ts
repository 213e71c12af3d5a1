// Two machines: one reads, and writes, the other's memory.

import { assertEquals } from "@std/assert";
import { Child } from "./child.ts";
import { DEVICE, networkTest } from "./network.ts";

const LENGTH = 1_000_001;

networkTest(
  "get() goes on after a network that was down for a moment, and fails where it stays down",
  2,
  async (network) => {
    await using owner = new Child("owner.ts", ["tcp", `${LENGTH}`, DEVICE], network.on(0));
    const ticket = await owner.line();
    const connect = (timeout: number) => new Child("reader.ts", [ticket, DEVICE, `${timeout}`], network.on(1));
    await using patient = connect(30_000);
    await using other = connect(3_000);
    assertEquals([await patient.ask("get"), await other.ask("get")], ["right", "right"]);
    await network.set(0, "down");
    const back = new Promise((resolve) => setTimeout(resolve, 300)).then(() => network.set(0, "up"));
    assertEquals(await patient.ask("get"), "right");
    await back;
    await network.set(0, "down");
    assertEquals(await other.ask("get"), "UCS_ERR_TIMED_OUT");
  },
);
