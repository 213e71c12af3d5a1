// Machines on a network with latency and loss, which also loses all for a while without a word.

import { assertEquals } from "@std/assert";
import { Child } from "../ucx/child.ts";
import { DEVICE, read, roughTest, sideOn } from "../ucx/network.ts";

const LENGTH = 300_001;

roughTest("get() and put() reach another machine, with latency and loss", 2, async (network) => {
  await using owner = new Child("owner.ts", ["tcp", `${LENGTH}`, DEVICE], network.on(0));
  const ticket = await owner.line();
  await using reader = new Child("reader.ts", [ticket, DEVICE, "60000"], network.on(1));
  assertEquals(await reader.ask("get"), "right");
  assertEquals([await reader.ask("put 201"), await owner.ask("look")], ["put", "201"]);
  await network.cut(1);
  const put = reader.ask("put 202");
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  await network.mend(1);
  assertEquals([await put, await owner.ask("look")], ["put", "202"]);
});

roughTest(
  "a ring: two readers on two machines, with latency and loss, of which one is cut off for 5 s",
  3,
  async (network) => {
    const timeout = 60_000; // in a guest, programs begin slowly
    await using writer = sideOn(network, 0, timeout);
    assertEquals(await writer.line(), "ready");
    await using first = sideOn(network, 1, timeout);
    await using second = sideOn(network, 2, timeout);
    assertEquals([await first.line(), await second.line()], ["ready", "ready"]);
    while (await writer.ask("readers") !== "2");
    for (const i of [1, 2]) {
      assertEquals(await writer.ask(`publish ${i}`), `${i}`);
      assertEquals(await read(first), `${i}`);
    }
    assertEquals(await writer.ask("room"), "TimeoutError"); // the second one has read nothing
    assertEquals([await read(second), await read(second)], ["1", "2"]);
    await network.cut(2);
    assertEquals(await writer.ask("publish 3"), "3");
    const third = read(second);
    assertEquals(await read(first), "3");
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await network.mend(2);
    assertEquals(await third, "3"); // as if nothing had been
    for (const i of [4, 5]) {
      assertEquals(await writer.ask(`publish ${i}`), `${i}`);
      assertEquals([await read(first), await read(second)], [`${i}`, `${i}`]);
    }
    assertEquals([await writer.ask("flush"), await writer.ask("readers")], ["flushed", "2"]);
  },
);
