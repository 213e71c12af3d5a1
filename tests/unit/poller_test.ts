import { assert, assertEquals, assertRejects } from "@std/assert";
import { EBADF, EPERM } from "../../ffi/libc/errors.ts";
import { NativeCallError } from "../../src/core/errors.ts";
import { closeFd, duplicateFd } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { ready } from "../../src/core/native/poller.ts";
import { Level, openFds } from "../gc.ts";
import { socketPair } from "../libc.ts";
import { runModule } from "../process.ts";

const say = (fd: number) => libc().write(fd, Uint8Array.of(1), 1n);
const hear = (fd: number) => libc().read(fd, new Uint8Array(8), 8n);

const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** True once a promise has settled. */
function watch(promise: Promise<unknown>): () => boolean {
  let settled = false;
  promise.then(() => settled = true, () => settled = true);
  return () => settled;
}

/** A test with a pair of sockets, which it may close; afterwards as many fds are open as before. */
function pair(name: string, run: (near: number, far: number, close: (fd: number) => void) => Promise<void>): void {
  Deno.test(`poller: ${name}`, async () => {
    await ready(0, "read", { signal: AbortSignal.timeout(1) }).catch(() => {}); // opens libc
    const fds = new Level(openFds);
    const [near, far] = socketPair();
    const open = new Set([near, far]);
    const close = (fd: number) => {
      open.delete(fd);
      closeFd(fd);
    };
    try {
      await run(near, far, close);
    } finally {
      open.forEach(close);
    }
    await fds.assertBack("open fds");
  });
}

pair("a reader waits until there is something to read", async (near, far) => {
  const waiting = ready(near, "read");
  const settled = watch(waiting);
  await later(20);
  assertEquals(settled(), false);
  say(far);
  await waiting;
});

pair("many wait for one fd, each for what it needs", async (near, far) => {
  const readers = [ready(near, "read"), ready(near, "read")];
  const settled = readers.map(watch);
  await ready(near, "write");
  assertEquals(settled.map((is) => is()), [false, false]);
  say(far);
  await Promise.all(readers);
});

pair("a thousand waits, one after the other", async (near, far) => {
  for (let i = 0; i < 1000; i++) {
    const waiting = ready(near, "read");
    say(far);
    await waiting;
    hear(near);
  }
});

pair("a hundred fds at once", async () => {
  const pairs = Array.from({ length: 100 }, socketPair);
  const waits = pairs.map(([near]) => ready(near, "read"));
  for (const [, far] of pairs) say(far);
  await Promise.all(waits);
  for (const fd of pairs.flat()) closeFd(fd);
});

pair("a hang-up wakes all", async (near, far, close) => {
  const waits = [ready(near, "read"), ready(near, "read")];
  await later(5);
  close(far);
  await Promise.all(waits);
});

pair("a hang-up wakes who waits for room to write", async (near, far, close) => {
  while (libc().write(near, new Uint8Array(4096), 4096n) > 0n);
  const waiting = ready(near, "write");
  const settled = watch(waiting);
  await later(5);
  assertEquals(settled(), false);
  close(far);
  await waiting;
});

pair("one that was aborted leaves, and the others stay", async (near, far) => {
  const controller = new AbortController();
  const aborted = ready(near, "read", { signal: controller.signal });
  const other = ready(near, "read");
  const settled = watch(other);
  const reason = new Error("enough");
  controller.abort(reason);
  assertEquals(await aborted.catch((error) => error), reason);
  await later(5);
  assertEquals(settled(), false);
  say(far);
  await other;
  assertEquals(await ready(near, "read", { signal: controller.signal }).catch((error) => error), reason);
});

pair("a settled wait listens to its signal no more", async (near, far) => {
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: never) => (listeners++, addEventListener.apply(signal, args));
  signal.removeEventListener = (...args: never) => (listeners--, removeEventListener.apply(signal, args));
  say(far);
  await ready(near, "read", { signal });
  assertEquals(listeners, 0);
});

pair("an fd that is closed during the wait", async (near, _far, close) => {
  const waiting = ready(near, "read");
  await later(5);
  close(near);
  const error = await assertRejects(() => waiting, NativeCallError);
  assertEquals(error.code, EBADF);
});

pair("an fd that is closed while a duplicate of it lives on", async (near, far, close) => {
  const copy = duplicateFd(near);
  const waiting = ready(near, "read");
  await later(5);
  close(near);
  await assertRejects(() => waiting, NativeCallError);
  say(far);
  await ready(copy, "read");
  closeFd(copy);
});

pair("a number that another socket has now", async (near, _far, close) => {
  const waiting = ready(near, "read");
  await later(5);
  close(near);
  const [again, other] = socketPair();
  assertEquals(again, near);
  say(other);
  const [error] = await Promise.all([assertRejects(() => waiting, NativeCallError), ready(again, "read")]);
  assertEquals(error.code, EBADF);
  for (const fd of [again, other]) closeFd(fd);
});

pair("a number that another socket has now, for which nobody waits", async (near, _far, close) => {
  const waiting = ready(near, "read");
  await later(5);
  close(near);
  const [again, other] = socketPair();
  assertEquals(again, near);
  assertEquals((await assertRejects(() => waiting, NativeCallError)).code, EBADF);
  for (const fd of [again, other]) closeFd(fd);
});

pair("a number that a regular file has now", async (near, _far, close) => {
  const waiting = ready(near, "read");
  await later(5);
  close(near);
  using _file = Deno.openSync(new URL(import.meta.url));
  assert(linkOf(`${near}`).endsWith("poller_test.ts"));
  assertEquals((await assertRejects(() => waiting, NativeCallError)).code, EBADF);
});

pair("what is not open, and what never blocks", async () => {
  assertEquals((await assertRejects(() => ready(9999, "read"), NativeCallError)).code, EBADF);
  using file = Deno.openSync(new URL(import.meta.url));
  const fd = [...Deno.readDirSync("/proc/self/fd")].find(({ name }) => linkOf(name).endsWith("poller_test.ts"))!;
  const error = await assertRejects(() => ready(Number(fd.name), "read"), NativeCallError);
  assert(file !== undefined && error.code === EPERM);
});

Deno.test("poller: the process ends without a wait, and lives during one", async () => {
  const text = `
    import { ready } from "./src/core/native/poller.ts";
    const { socketpair, write } = Deno.dlopen("libc.so.6", {
      socketpair: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
      write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
    }).symbols;
    const ends = new Int32Array(2);
    socketpair(1, 1, 0, ends);
    const start = performance.now();
    ready(ends[0], "read").then(() => console.log("heard", performance.now() - start > 700));
    ready(ends[0], "read", { signal: AbortSignal.timeout(10) }).catch(({ name }) => console.log(name));
    setTimeout(() => write(ends[1], new Uint8Array(1), 1n), 800);
  `;
  const ended = await runModule(text);
  assertEquals([ended.stdout, ended.stderr, ended.code], ["TimeoutError\nheard true\n", "", 0]);
});

Deno.test("poller: a Worker that is terminated while it waits", async () => {
  const worker = `
    import { ready } from "./src/core/native/poller.ts";
    import { socketPair } from "${new URL("../libc.ts", import.meta.url)}";
    ready(socketPair()[0], "read");
    self.postMessage("waits");
  `;
  const text = `
    const text = ${JSON.stringify(worker)}.replace("./src/", new URL("../../src/", import.meta.url).href);
    for (let i = 0; i < 10; i++) {
      const worker = new Worker("data:application/typescript," + encodeURIComponent(text), { type: "module" });
      await new Promise((resolve) => worker.onmessage = resolve);
      worker.terminate();
    }
    const threads = () => Number(Deno.readTextFileSync("/proc/self/status").match(/Threads:\\s*(\\d+)/)[1]);
    for (let i = 0; i < 300 && threads() >= 40; i++) await new Promise((resolve) => setTimeout(resolve, 100));
    console.log(threads() < 40);
  `;
  const ended = await runModule(text);
  assertEquals([ended.stdout, ended.stderr, ended.code], ["true\n", "", 0]);
});

function linkOf(fd: string): string {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return "";
  }
}

pair("a closed fd is noticed, however much the others have to say", async (near, far, close) => {
  const waiting = assertRejects(() => ready(near, "read"), NativeCallError, "EBADF");
  const settled = watch(waiting);
  close(near);
  for (const end = performance.now() + 30_000; !settled() && performance.now() < end; await later(20)) {
    await ready(far, "write");
  }
  assert(settled());
  await waiting;
});
