/**
 * What tests of the channel share: two ends in this process, and what is open in it.
 *
 * @module
 */
import { Level, openFds } from "../gc.ts";
import { assertEquals } from "@std/assert";
import { host, ledger } from "../../mod.ts";
import { type ChannelOptions, connect, listen, type Peer, type Server } from "../../src/channel/mod.ts";
import { until } from "../conformance/bytes.ts";

/** A folder that goes away, and a path in it. */
export async function temporaryPath(): Promise<{ readonly path: string } & AsyncDisposable> {
  const folder = await Deno.makeTempDir();
  return { path: `${folder}/socket`, [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) };
}

/** Two ends of one connection. */
export interface Ends {
  readonly server: Server;
  readonly one: Peer;
  readonly other: Peer;
}

/** Runs `use` with two ends of a connection in this process, and sees that nothing of it stays behind. */
export async function withEnds(
  use: (ends: Ends) => Promise<void>,
  options: ChannelOptions = { contexts: [host] },
): Promise<void> {
  await withNothingLeft(async () => {
    await using at = await temporaryPath();
    using server = listen(at.path, options);
    using one = connect(at.path, options);
    using other = await server.accept();
    await use({ server, one, other });
  });
}

/** Runs `use`; afterwards there are as many fds, shared mappings and objects as before. */
export async function withNothingLeft(use: () => Promise<void>): Promise<void> {
  host.allocate({ shape: [1], dtype: "u8", sharable: true })[Symbol.dispose](); // opens the library
  const fds = new Level(openFds); // what waited before this may close its epoll fd a little later
  const before = shared();
  await use();
  await until(() => JSON.stringify(shared()) === JSON.stringify(before));
  assertEquals(shared(), before, "what is left");
  await fds.assertBack("open fds");
}

/** What this process has mapped of other processes' memory, and what is alive. */
function shared(): Readonly<Record<string, unknown>> {
  const mappings = Deno.readTextFileSync("/proc/self/maps").split("\n").filter((line) => line.includes("memfd:"));
  return { mappings: mappings.length, alive: ledger.alive };
}
