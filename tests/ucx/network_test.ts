// Two network namespaces with a pair of veth devices between them: as two machines see each other.

import { assert, assertEquals } from "@std/assert";
import { Child } from "./child.ts";
import { missing } from "./help.ts";

const LENGTH = 1_000_001;

async function run(...[program, ...args]: readonly string[]): Promise<boolean> {
  const { success } = await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output();
  return success;
}

async function isUp(name: string, device: string): Promise<boolean> {
  const { stdout } = await new Deno.Command("ip", { args: ["-n", name, "-o", "link", "show", device] }).output();
  return new TextDecoder().decode(stdout).includes("state UP");
}

/** Both namespaces, named after this process. */
class Network implements AsyncDisposable {
  readonly owner = `samepage-${Deno.pid}-a`;
  readonly reader = `samepage-${Deno.pid}-b`;

  /** Returns what the kernel did not permit. */
  async make(): Promise<string | undefined> {
    if (await Deno.stat("/usr/sbin/ip").then(() => false, () => true)) return "no ip program";
    for (const name of [this.owner, this.reader]) if (!await run("ip", "netns", "add", name)) return "no namespaces";
    const pair = ["type", "veth", "peer", "name", "sp1", "netns", this.reader];
    if (!await run("ip", "-n", this.owner, "link", "add", "sp0", ...pair)) return "no veth devices";
    for (const [name, device, address] of [[this.owner, "sp0", "10.83.7.1/24"], [this.reader, "sp1", "10.83.7.2/24"]]) {
      assert(await run("ip", "-n", name, "address", "add", address, "dev", device));
      assert(await run("ip", "-n", name, "link", "set", device, "up"));
    }
    // The kernel brings them up a little later, and UCX takes no other.
    for (const [name, device] of [[this.owner, "sp0"], [this.reader, "sp1"]]) {
      while (!await isUp(name, device)) await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  in(name: string): string[] {
    return ["ip", "netns", "exec", name];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [this.owner, this.reader]) await run("ip", "netns", "delete", name);
  }
}

const absent = missing ?? await (async () => {
  await using network = new Network();
  return await network.make();
})();

function test(name: string, use: (network: Network) => Promise<void>): void {
  Deno.test({
    name: `${name}${absent === undefined ? "" : ` (not here: ${absent})`}`,
    ignore: absent !== undefined,
    async fn() {
      await using network = new Network();
      assertEquals(await network.make(), undefined);
      await use(network);
    },
  });
}

test("get() reaches another network namespace, with latency and loss where the kernel has them", async (network) => {
  await using owner = new Child("owner.ts", ["tcp", `${LENGTH}`, "sp0"], network.in(network.owner));
  const ticket = await owner.line();
  await using reader = new Child("reader.ts", [ticket, "sp1", "30000"], network.in(network.reader));
  assertEquals(await reader.ask("get"), "right");
  const netem = ["qdisc", "add", "dev", "sp0", "root", "netem", "delay", "1ms", "loss", "1%"];
  if (!await run("tc", "-n", network.owner, ...netem)) return; // its module may not be there
  assertEquals(await reader.ask("get"), "right");
});

test("get() goes on after a network that was down for a moment, and fails where it stays down", async (network) => {
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
});
