/**
 * Network namespaces, as machines see each other: each has one device, and all are on one switch.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { Child } from "./child.ts";
import { missing } from "./help.ts";

/** The device of each machine. */
export const DEVICE = "eth0";

/** What a packet that a machine sends goes through. */
const ROUGH = ["delay", "1ms", "loss", "1%"];
const CUT = ["loss", "100%"];

/** Runs a program. Returns whether that went well. */
async function run(...[program, ...args]: readonly string[]): Promise<boolean> {
  const { success } = await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output();
  return success;
}

/** A switch, and machines: the first has the address 10.83.7.1. */
export class Network implements AsyncDisposable {
  readonly machines: readonly string[];
  readonly #switch: string;

  constructor(count: number) {
    const name = `samepage-${crypto.randomUUID().slice(0, 8)}`;
    this.#switch = `${name}-switch`;
    this.machines = Array.from({ length: count }, (_, i) => `${name}-${i + 1}`);
  }

  /** Returns what the kernel did not permit. */
  async make(): Promise<string | undefined> {
    for (const name of [this.#switch, ...this.machines]) {
      if (!await run("ip", "netns", "add", name)) return "no namespaces";
    }
    if (!await run("ip", "-n", this.#switch, "link", "add", "switch", "type", "bridge")) return "no bridges";
    assert(await run("ip", "-n", this.#switch, "link", "set", "switch", "up"));
    for (const [i, machine] of this.machines.entries()) {
      const peer = ["peer", "name", DEVICE, "netns", machine];
      if (!await run("ip", "-n", this.#switch, "link", "add", `port${i}`, "type", "veth", ...peer)) {
        return "no veth devices";
      }
      assert(await run("ip", "-n", this.#switch, "link", "set", `port${i}`, "master", "switch", "up"));
      assert(await run("ip", "-n", machine, "address", "add", `10.83.7.${i + 1}/24`, "dev", DEVICE));
      assert(await run("ip", "-n", machine, "link", "set", DEVICE, "up"));
    }
    // The kernel brings them up a little later, and UCX takes no other.
    for (const machine of this.machines) {
      while (!await isUp(machine)) await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** What a program is started by to run on a machine. */
  on(machine: number): string[] {
    return ["ip", "netns", "exec", this.machines[machine]];
  }

  /** Pulls a machine's cable out, or puts it back: the machine notices. */
  async set(machine: number, state: "up" | "down"): Promise<void> {
    assert(await run("ip", "-n", this.machines[machine], "link", "set", DEVICE, state));
  }

  /**
   * Has each packet of each machine take a millisecond, and one in a hundred be lost. Returns false where the kernel cannot
   * do so.
   */
  async roughen(): Promise<boolean> {
    const all = await Promise.all(this.machines.map((machine) => this.#shape(machine, DEVICE, ROUGH)));
    return all.every(Boolean);
  }

  /** Loses all packets from and to a machine, which does not notice. */
  async cut(machine: number): Promise<void> {
    assert(await this.#shape(this.machines[machine], DEVICE, CUT));
    assert(await this.#shape(this.#switch, `port${machine}`, CUT));
  }

  /** Ends {@link cut}. */
  async mend(machine: number): Promise<void> {
    assert(await this.#shape(this.#switch, `port${machine}`, ROUGH));
    assert(await this.#shape(this.machines[machine], DEVICE, ROUGH));
  }

  #shape(name: string, device: string, how: readonly string[]): Promise<boolean> {
    return run("tc", "-n", name, "qdisc", "replace", "dev", device, "root", "netem", ...how);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [this.#switch, ...this.machines]) await run("ip", "netns", "delete", name);
  }
}

async function isUp(machine: string): Promise<boolean> {
  const { stdout } = await new Deno.Command("ip", { args: ["-n", machine, "-o", "link", "show", DEVICE] }).output();
  return new TextDecoder().decode(stdout).includes("state UP");
}

/** What this machine lacks for a network, and for a rough one. */
const [none, smooth]: readonly (string | undefined)[] = missing !== undefined
  ? [missing, missing]
  : await (async () => {
    if (await Deno.stat("/usr/sbin/ip").then(() => false, () => true)) return ["no ip program", "no ip program"];
    await using network = new Network(1);
    const none = await network.make();
    const smooth = none ?? (await network.roughen() ? undefined : "no netem in the kernel: deno task test:guest");
    return [none, smooth];
  })();

/** A test of so many machines on a network. */
export function networkTest(name: string, machines: number, use: (network: Network) => Promise<void>): void {
  testUnless(none, name, machines, use);
}

/** A test of machines on a network with latency and loss. */
export function roughTest(name: string, machines: number, use: (network: Network) => Promise<void>): void {
  testUnless(smooth, name, machines, async (network) => {
    assert(await network.roughen());
    await use(network);
  });
}

function testUnless(
  absent: string | undefined,
  name: string,
  machines: number,
  use: (network: Network) => Promise<void>,
): void {
  Deno.test({
    name: `${name}${absent === undefined ? "" : ` (not here: ${absent})`}`,
    ignore: absent !== undefined,
    async fn() {
      await using network = new Network(machines);
      assertEquals(await network.make(), undefined);
      await use(network);
    },
  });
}

/** A side of a ring whose writer is on the first machine. */
export function sideOn(network: Network, machine: number, timeout: number, whenFull = "wait"): Child {
  const role = machine === 0 ? "writer" : "reader";
  const args = [role, "tcp", DEVICE, "10.83.7.1:7000", `${timeout}`, "large", whenFull];
  return new Child("ring_side.ts", args, network.on(machine));
}

/** Has a reader read the next frame, and returns its value. */
export async function read(reader: Child): Promise<string> {
  const value = await reader.ask("next");
  assertEquals(await reader.ask("release"), "released");
  return value;
}
