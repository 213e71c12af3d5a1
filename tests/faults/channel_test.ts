/** Every native call of a channel fails once: what comes of it is typed, and no socket, fd or file stays behind. */
import { assert, assertEquals } from "@std/assert";
import { Frame, host, imageInfo } from "../../mod.ts";
import { connect, FrameRing, listen } from "../../src/channel/mod.ts";
import { temporaryPath } from "../channel/help.ts";
import { Level, openFds } from "../gc.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";
import { Warned } from "./warned.ts";

installTap();

/** They end the wait in flight for an fd that is waited for no longer; where they fail, it ends a little later. */
const RUNG = ["libc.write", "libc.read"];

/** The calls that were made to fail, over all tests. */
const seen = new Set<string>();

function test(name: string, operation: (path: string) => unknown, silent: readonly string[] = RUNG): void {
  Deno.test(`faults: ${name}`, async () => {
    await using at = await temporaryPath();
    await operation(at.path);
    const fds = new Level(openFds); // what waited closes its epoll fd a little later
    const intact = async (failed?: string) => {
      await fds.assertBack("open fds");
      const left = await Deno.remove(at.path).then(() => true, () => false);
      // Where it is unknown whose file it is, it stays.
      assert(!left || failed === "libc.statx", `the file is still there: ${failed}`);
    };
    const faults = await sweep(() => operation(at.path), intact, silent);
    assert(faults.length > 0, "it makes no native call");
    for (const { call } of faults) seen.add(call);
  });
}

test("listen, and the end", (path) => {
  using _server = listen(path);
});

test("listen at the file of a dead server", async (path) => {
  using server = listen(path);
  await Deno.rename(path, `${path}.dead`);
  server[Symbol.dispose]();
  await Deno.rename(`${path}.dead`, path);
  try {
    using _second = listen(path);
  } finally {
    await Deno.remove(path).catch(() => {}); // the dead server's, if it was not replaced
  }
});

test("connect and accept", async (path) => {
  using server = listen(path, { contexts: [host] });
  using _client = connect(path);
  using _peer = await server.accept();
});

test("a tensor that is sent and received", async (path) => {
  using server = listen(path, { contexts: [host] });
  using client = connect(path);
  using peer = await server.accept();
  using tensor = host.allocate({ shape: [100], dtype: "u8", sharable: true });
  await client.send(tensor);
  using _received = await peer.receive();
  client[Symbol.dispose]();
  assertEquals(await peer.receive(), undefined);
});

test("a frame in several memfds", async (path) => {
  using server = listen(path, { contexts: [host] });
  using client = connect(path);
  using peer = await server.accept();
  using all = new DisposableStack();
  const planes = [0, 1].map(() => all.use(host.allocate({ shape: [100], dtype: "u8", sharable: true })));
  const info = { type: "audio", format: "u8", sampleRate: 8000, channels: 2, samples: 100, layout: "planar" } as const;
  using frame = Frame.of(planes, info);
  await client.send(frame);
  using _received = await peer.receive();
});

test("waits", async (path) => {
  using server = listen(path, { contexts: [host] });
  const accepting = server.accept();
  accepting.catch(() => {});
  using client = connect(path);
  using peer = await accepting;
  const receiving = peer.receive();
  receiving.catch(() => {});
  using frame = host.allocateFrame(imageInfo({ format: "GRAY8", width: 8, height: 8 }), { sharable: true });
  await client.send(frame);
  using _received = await receiving;
});

test("a ring", async (path) => {
  using warned = new Warned("channel"); // who is turned away never joins, and that is warned of
  const { signal } = warned;
  const info = imageInfo({ format: "GRAY8", width: 64, height: 64 });
  using all = new DisposableStack(); // where no ring takes them over
  const frames = [0, 1].map(() => all.use(host.allocateFrame(info, { sharable: true })));
  await using ring = FrameRing.create(path, { frames });
  await using reader = await FrameRing.open(path, { contexts: [host], signal });
  await ring.joined({ signal });
  for (let i = 0; i < 3; i++) {
    const frame = await ring.next({ signal });
    await ring.publish(frame);
    using _shown = await reader.next({ signal });
  }
  await ring.flush({ signal });
}, [...RUNG, "libc.epoll_ctl"]); // an fd that is waited for no longer is taken out

Deno.test("faults: every function of the sockets was made to fail", () => {
  const functions = ["socket", "bind", "listen", "accept4", "connect", "sendmsg", "recvmsg", "getsockopt", "fchmod"];
  assertEquals(functions.filter((fn) => !seen.has(`channel.${fn}`)), []);
});
