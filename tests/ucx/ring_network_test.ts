// Rings between machines: some of them cannot be reached for a while, or end.

import { assert, assertEquals } from "@std/assert";
import type { Child } from "./child.ts";
import { type Network, networkTest, read, sideOn } from "./network.ts";

networkTest("ring: two machines, and a network that is away for 5 s and then for good", 2, async (network) => {
  await using writer = sideOn(network, 0, 12_000);
  assertEquals(await writer.line(), "ready");
  await using reader = sideOn(network, 1, 12_000);
  assertEquals(await reader.line(), "ready");
  while (await writer.ask("readers") !== "1");
  for (let i = 1; i <= 5; i++) {
    await writer.ask(`publish ${i}`);
    assertEquals(await read(reader), `${i}`);
  }
  await network.set(0, "down");
  assertEquals(await writer.ask("publish 6"), "6");
  const next = read(reader);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  await network.set(0, "up");
  assertEquals(await next, "6");
  await network.set(0, "down");
  assertEquals(await writer.ask("publish 7"), "7");
  assertEquals(await reader.ask("next"), "UCS_ERR_TIMED_OUT");
  assertEquals(await writer.ask("flush"), "flushed"); // its frame is back
  assertEquals(await writer.ask("readers"), "0");
});

/** How a machine's reader goes in the middle of a frame. */
const ENDS = {
  "is killed": (_: Network, reader: Child) => Promise.resolve(reader.signal("SIGKILL")),
  "hangs": (_: Network, reader: Child) => Promise.resolve(reader.signal("SIGSTOP")),
  "cannot be reached": (network: Network) => network.set(2, "down"),
} as const;

/** A reader that was on its way to a frame has it whole, or learns that it is out; a killed one says nothing. */
function assertMiddle(said: string, newest: number): void {
  assert(["gone", "UCS_ERR_TIMED_OUT", "the end"].includes(said) || Number(said) <= newest, said);
}

for (const [what, end] of Object.entries(ENDS)) {
  networkTest(`ring: of two readers on two machines one is slow, and then ${what}`, 3, async (network) => {
    await using writer = sideOn(network, 0, 2_000);
    assertEquals(await writer.line(), "ready");
    await using fast = sideOn(network, 1, 2_000);
    await using slow = sideOn(network, 2, 2_000);
    assertEquals([await fast.line(), await slow.line()], ["ready", "ready"]);
    while (await writer.ask("readers") !== "2");
    for (const i of [1, 2]) {
      assertEquals(await writer.ask(`publish ${i}`), `${i}`);
      assertEquals(await read(fast), `${i}`);
    }
    assertEquals(await writer.ask("room"), "TimeoutError"); // the slow one sets the pace
    assertEquals(await read(slow), "1");
    assertEquals(await writer.ask("publish 3"), "3");
    assertEquals(await read(fast), "3");
    const middle = slow.ask("next").catch(() => "gone");
    await end(network, slow);
    for (let i = 4; i <= 8; i++) {
      assertEquals(await writer.ask(`publish ${i}`), `${i}`);
      assertEquals(await read(fast), `${i}`);
    }
    assertEquals([await writer.ask("flush"), await writer.ask("readers")], ["flushed", "1"]);
    if (what === "hangs") slow.signal("SIGCONT");
    assertMiddle(await middle, 2);
  });

  networkTest(`ring: with drop-oldest, one of two machines is slow, and then ${what}`, 3, async (network) => {
    await using writer = sideOn(network, 0, 2_000, "drop-oldest");
    assertEquals(await writer.line(), "ready");
    await using fast = sideOn(network, 1, 2_000);
    await using slow = sideOn(network, 2, 2_000);
    assertEquals([await fast.line(), await slow.line()], ["ready", "ready"]);
    while (await writer.ask("readers") !== "2");
    for (let i = 1; i <= 8; i++) {
      assertEquals(await writer.ask(`publish ${i}`), `${i}`);
      assertEquals(await read(fast), `${i}`);
    }
    const seen = [await read(slow), await read(slow)].map(Number);
    assertEquals(`${seen[1] - seen[0] - 1}`, await slow.ask("missed"), `${seen}`);
    assert(seen[0] === 1 && seen[1] > 2, `${seen}`);
    const middle = slow.ask("next").catch(() => "gone");
    await end(network, slow);
    for (let i = 9; i <= 16; i++) {
      assertEquals(await writer.ask(`publish ${i}`), `${i}`);
      assertEquals(await read(fast), `${i}`);
    }
    assertEquals([await fast.ask("missed"), await writer.ask("flush"), await writer.ask("readers")], [
      "0",
      "flushed",
      "1",
    ]);
    if (what === "hangs") slow.signal("SIGCONT");
    assertMiddle(await middle, 8);
  });
}
