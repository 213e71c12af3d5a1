// Two network namespaces with a pair of veth devices between them: as two machines see each other.

import { assert, assertEquals } from "@std/assert";
import { Child } from "./child.ts";
import { disturbedTest, networkTest, run } from "./network.ts";

const LENGTH = 1_000_001;

disturbedTest("get() reaches another network namespace, with latency and loss", async (network) => {
  await using owner = new Child("owner.ts", ["tcp", `${LENGTH}`, "sp0"], network.in(network.owner));
  const ticket = await owner.line();
  await using reader = new Child("reader.ts", [ticket, "sp1", "30000"], network.in(network.reader));
  for (let i = 0; i < 3; i++) assertEquals(await reader.ask("get"), "right");
});

networkTest(
  "get() goes on after a network that was down for a moment, and fails where it stays down",
  async (network) => {
    await using owner = new Child("owner.ts", ["tcp", `${LENGTH}`, "sp0"], network.in(network.owner));
    const ticket = await owner.line();
    const connect = (timeout: number) =>
      new Child("reader.ts", [ticket, "sp1", `${timeout}`], network.in(network.reader));
    await using patient = connect(30_000);
    await using other = connect(3_000);
    assertEquals([await patient.ask("get"), await other.ask("get")], ["right", "right"]);
    const set = (state: string) => run("ip", "-n", network.owner, "link", "set", "sp0", state);
    assert(await set("down"));
    const back = new Promise((resolve) => setTimeout(resolve, 300)).then(() => set("up"));
    assertEquals(await patient.ask("get"), "right");
    assert(await back);
    assert(await set("down"));
    assertEquals(await other.ask("get"), "UCS_ERR_TIMED_OUT");
  },
);
