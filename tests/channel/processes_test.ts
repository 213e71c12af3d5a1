// Two processes: Deno and Deno, Deno and Python.

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Frame, host, imageInfo, Metadata, NativeCallError } from "../../mod.ts";
import { connect, listen } from "../../src/channel/mod.ts";
import { HostTensor } from "../../src/host/mod.ts";
import { collect } from "../gc.ts";
import { until } from "../conformance/bytes.ts";
import { temporaryPath, withNothingLeft } from "./help.ts";

const PYTHON = "/usr/bin/python3";
const python = [PYTHON, "python3"].find((command) => hasRecvFds(command));

/** Does it have socket.recv_fds (3.9)? */
function hasRecvFds(command: string): boolean {
  try {
    return new Deno.Command(command, { args: ["-c", "import socket; socket.recv_fds"] }).outputSync().success;
  } catch {
    return false;
  }
}

const SCRIPT = new URL("peer.py", import.meta.url).pathname;
const CHILD = new URL("child.ts", import.meta.url).pathname;

/** Another process; killed at the end, if it has not ended. */
interface Other extends AsyncDisposable {
  readonly process: Deno.ChildProcess;
  /** What it says, until it ends. */
  readonly output: Promise<string>;
}

function start(command: string, args: readonly string[]): Other {
  const process = new Deno.Command(command, { args: [...args], stdout: "piped", stderr: "inherit" }).spawn();
  const output = new Response(process.stdout).text();
  const end = async () => {
    try {
      process.kill("SIGKILL");
    } catch {
      // it has ended
    }
    await process.status;
    await output;
  };
  return { process, output, [Symbol.asyncDispose]: end };
}

const child = (...args: string[]) => start(Deno.execPath(), ["run", "--no-check", "-q", "--allow-ffi", CHILD, ...args]);
const snake = (...args: string[]) => start(python!, [SCRIPT, ...args]);

function test(name: string, run: (path: string) => Promise<void>): void {
  Deno.test(`channel: ${name}`, () =>
    withNothingLeft(async () => {
      await using at = await temporaryPath();
      await run(at.path);
    }));
}

function testPython(name: string, run: (path: string) => Promise<void>): void {
  if (python !== undefined) return test(name, run);
  Deno.test.ignore(`channel: ${name} (skipped: needs Python 3.9)`, () => {});
}

/** Waits until somebody listens. */
async function connected(path: string): Promise<ReturnType<typeof connect>> {
  assert(await until(() => Deno.lstat(path).then(() => true, () => false), 10_000));
  let peer: ReturnType<typeof connect> | undefined;
  await until(() => {
    try {
      peer = connect(path, { contexts: [host] });
      return true;
    } catch (error) {
      if (error instanceof NativeCallError) return false; // it has bound, and does not listen yet
      throw error;
    }
  });
  return peer!;
}

test('what is sent for "read" cannot be changed by a child: a write into its view ends it', async (path) => {
  using server = listen(path);
  await using other = child(path, "overwrite");
  using peer = await server.accept();
  using tensor = host.allocate({ shape: [4096], dtype: "u8", sharable: true });
  tensor.bytes().fill(7);
  await peer.send(tensor);
  assertEquals((await other.process.status).signal, "SIGSEGV");
  assertEquals([(await other.output).trim(), tensor.bytes()[5]], ["read 7", 7]);
});

test("a child changes the parent's memory in place", async (path) => {
  using server = listen(path, { contexts: [host] });
  await using other = child(path, "increment");
  using peer = await server.accept();
  assertEquals(peer.credentials.pid, other.process.pid);
  using sent = host.allocate({ shape: [1080, 1920, 4], dtype: "u8", sharable: true });
  sent.view()[5] = 41;
  await peer.send(sent, { access: "read-write" });
  using back = await peer.receive();
  assertEquals(sent.view()[5], 42);
  assert(back instanceof HostTensor);
  assertEquals(back.handle, sent.handle, "it is known by its inode: the same mapping");
});

testPython("Python sends, and Deno writes into Python's memory", async (path) => {
  using server = listen(path, { contexts: [host] });
  await using other = snake("connect", path, "send");
  using peer = await server.accept();
  {
    using picture = await peer.receive();
    assert(picture instanceof Frame);
    assertEquals(picture.info, imageInfo({ format: "NV12", width: 64, height: 48, colour: { matrix: "bt601" } }));
    assertEquals(picture.metadata.get("timestamp")?.pts, 40_000_000n);
    assertEquals(picture.metadata.get("source")?.stream, "Haustür");
    const chroma = picture.planes[1] as HostTensor;
    assertEquals(chroma.bytes({ access: "read" })[0], (64 * 48) % 251);
  }
  {
    using floats = await peer.receive();
    assert(floats instanceof HostTensor);
    assertEquals([...floats.view()], [0.5, 1.5, 2.5]);
    floats.view()[1] = -8;
  }
  assertEquals(await peer.receive(), undefined);
  peer[Symbol.dispose]();
  assertEquals(await other.output, "(0.5, -8.0, 2.5)\n");
});

testPython("Deno sends, and Python receives", async (path) => {
  await using other = snake("listen", path, "receive");
  {
    using peer = await connected(path);
    using tensor = host.allocate({ shape: [3, 5], dtype: "u8", sharable: true });
    tensor.view().fill(2);
    await peer.send(tensor);
    const metadata = new Metadata({ timestamp: { pts: 1n }, source: { stream: "ö" } });
    using frame = host.allocateFrame(imageInfo({ format: "GRAY8", width: 4, height: 4 }), { sharable: true, metadata });
    frame.planes[0].bytes().fill(1);
    await peer.send(frame, { access: "read-write" });
  }
  const gray = imageInfo({ format: "GRAY8", width: 4, height: 4 }).fourcc;
  assertEquals((await other.output).split("\n"), [
    "listening",
    "memfd read u8 [3, 5] 30 None",
    `memfd read-write ${gray} [4, 4] 16 [{'name': 'timestamp', 'fields': {'pts': {'int': '1'}}}, ` +
    "{'name': 'source', 'fields': {'stream': 'ö'}}]",
    "",
  ]);
});

testPython("the receiver in the guide", async (path) => {
  const guide = await Deno.readTextFile(new URL("../../docs/guides/between-processes.md", import.meta.url));
  const program = guide.match(/```py\n(.*?)```/s)![1];
  using server = listen(path);
  await using other = start(python!, ["-c", program, path]);
  using peer = await server.accept();
  using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 64, height: 48 }), { sharable: true });
  frame.planes[0].bytes().fill(128);
  await peer.send(frame);
  assertEquals(await other.output, "[48, 64] 128\n");
});

testPython("Python sends a tensor on that it received", async (path) => {
  using server = listen(path, { contexts: [host] });
  await using _other = snake("connect", path, "echo");
  using peer = await server.accept();
  using tensor = host.allocate({ shape: [1000], dtype: "u8", sharable: true });
  tensor.view().fill(6);
  await peer.send(tensor, { access: "read-write" });
  using _back = await peer.receive();
  assertEquals(new Set(tensor.view()), new Set([7]));
});

/** Bytes that the receiver may have more after 8,000 tensors. As seen, it has two million. */
const ROOM = 16 * 2 ** 20;

/** The same of the sender, which collects no garbage for that: V8 makes its heap larger when it likes. */
const ROOM_OF_SENDER = 64 * 2 ** 20;

/** Bytes that JavaScript's objects may have more. As seen, they have fewer. */
const ROOM_IN_HEAP = 400_000;

test("10,000 tensors, and as much memory as after 2,000", async (path) => {
  using server = listen(path, { contexts: [host] });
  await using other = child(path, "10000");
  using peer = await server.accept();
  let count = 0;
  let before: Deno.MemoryUsage | undefined;
  for await (using received of peer) {
    assert(received instanceof HostTensor);
    if (count % 1000 === 0) assertEquals(received.view({ access: "read" })[0], count % 256);
    if (++count === 2000) before = await memory();
  }
  assertEquals(count, 10_000);
  const after = await memory();
  assert(after.rss - before!.rss < ROOM, `${after.rss - before!.rss} bytes more`);
  assert(after.heapUsed - before!.heapUsed < ROOM_IN_HEAP, `${after.heapUsed - before!.heapUsed} bytes of heap more`);
  const grown = Number(await other.output);
  assert(grown < ROOM_OF_SENDER, `${grown} bytes more in the sender`);
});

/** What this process has, without garbage. */
async function memory(): Promise<Deno.MemoryUsage> {
  await collect();
  return Deno.memoryUsage();
}

test("a child that is killed while it sends is at its end after a whole message", async (path) => {
  using server = listen(path, { contexts: [host] });
  await using other = child(path, "1000000");
  using peer = await server.accept();
  let count = 0;
  for await (using received of peer) {
    assert(received instanceof HostTensor);
    if (++count === 100) other.process.kill("SIGKILL");
  }
  assert(count >= 100 && count < 1_000_000, `${count} messages`);
});

test("a child that is killed while it is sent to ends the wait", async (path) => {
  using server = listen(path, { contexts: [host] });
  await using other = child(path, "sleep");
  using peer = await server.accept();
  using sent = host.allocate({ shape: [64], dtype: "u8", sharable: true });
  let count = 0;
  const sending = assertRejects(async () => {
    for (;; count++) await peer.send(sent);
  }, NativeCallError);
  let held = -1;
  await until(() => held === (held = count) && count > 0, 1000);
  other.process.kill("SIGKILL");
  const error = await sending;
  assertEquals([error.api, error.fn], ["channel", "sendmsg"]);
  assertMatch(error.message, /The other side has ended/);
  assertEquals(await peer.receive(), undefined);
});
