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

  in(name: string): string[] {
    return ["ip", "netns", "exec", name];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [this.owner, this.reader]) await run("ip", "netns", "delete", name);
  }
}

const absent = missing ?? await (async () => {
  if (await Deno.stat("/usr/sbin/ip").then(() => false, () => true)) return "no ip program";
  await using network = new Network();
  return await network.make();
})();

/** A test that needs them. */
export function networkTest(name: string, use: (network: Network) => Promise<void>): void {
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
