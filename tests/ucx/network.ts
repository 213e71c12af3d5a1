/**
 * Two network namespaces, as two machines see each other.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { missing } from "./help.ts";

/** Runs a program. Returns whether that went well. */
export async function run(...[program, ...args]: readonly string[]): Promise<boolean> {
  const { success } = await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output();
  return success;
}

async function isUp(name: string, device: string): Promise<boolean> {
  const { stdout } = await new Deno.Command("ip", { args: ["-n", name, "-o", "link", "show", device] }).output();
  return new TextDecoder().decode(stdout).includes("state UP");
}

/** Two network namespaces with a pair of veth devices between them, named after this process. */
export class Network implements AsyncDisposable {
  readonly owner = `samepage-${Deno.pid}-a`;
  readonly reader = `samepage-${Deno.pid}-b`;

  /** Returns what the kernel did not permit. */
  async make(): Promise<string | undefined> {
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

  /** Has each packet take a millisecond, and one in a hundred be lost. Returns false where the kernel has no such thing. */
  async disturb(): Promise<boolean> {
    const netem = ["qdisc", "add", "dev", "sp0", "root", "netem", "delay", "1ms", "loss", "1%"];
    return await run("tc", "-n", this.owner, ...netem);
  }

  in(name: string): string[] {
    return ["ip", "netns", "exec", name];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [this.owner, this.reader]) await run("ip", "netns", "delete", name);
  }
}

type Absent = string | undefined;

const [absent, undisturbed]: readonly [Absent, Absent] = missing !== undefined
  ? [missing, missing]
  : await (async () => {
    if (await Deno.stat("/usr/sbin/ip").then(() => false, () => true)) return ["no ip program", "no ip program"];
    await using network = new Network();
    const absent = await network.make();
    return [absent, absent ?? (await network.disturb() ? undefined : "no netem in the kernel")];
  })();

/** A test that needs them. */
export function networkTest(name: string, use: (network: Network) => Promise<void>): void {
  testUnless(absent, name, use);
}

/** A test that needs latency and loss between them. */
export function disturbedTest(name: string, use: (network: Network) => Promise<void>): void {
  testUnless(undisturbed, name, async (network) => {
    assert(await network.disturb());
    await use(network);
  });
}

function testUnless(absent: Absent, name: string, use: (network: Network) => Promise<void>): void {
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
