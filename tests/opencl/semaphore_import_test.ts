/** Semaphores of other code's by their fds on PoCL, by a simulated driver: who owns the fd, what is one native call. */
import { alive, blocking, driver, told } from "./external/simulated.ts"; // first: it taps the libraries
import { simulated } from "./external/on_simulated.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, NativeCallError, Semaphore } from "@samepage/interop";
import { closeFd } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { cString } from "../../src/core/native/text.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { open } from "./help.ts";

const BYTES = { shape: [4096], dtype: "u8" } as const;
const [CREATE, GET] = ["clCreateSemaphoreWithPropertiesKHR", "clGetSemaphoreHandleForTypeKHR"];
const [WAIT, SIGNAL] = ["clEnqueueWaitSemaphoresKHR", "clEnqueueSignalSemaphoresKHR"];

/** An fd that the simulated driver takes for a semaphore's. */
function semaphoreFd(): number {
  return libc().eventfd(0, 0);
}

simulated("two contexts take turns by two imported semaphores, one of which OpenCL made", async (cl) => {
  driver.exportsSemaphores = true;
  await using theirs = open("pocl"); // it stands for other code
  driver.exportsSemaphores = false;
  assertThrows(() => Semaphore.create(cl), ArgumentError, "makes no binary semaphores that others can import");
  const made = Semaphore.create(theirs);
  assertThrows(() => Semaphore.create(theirs, { kind: "timeline" }), ArgumentError, "makes no timeline");
  const fds = [made.exportFd(), semaphoreFd()];
  made[Symbol.dispose](); // what is behind it lives on
  assertEquals(told.filter((name) => name === GET).length, 1);
  await using ready = cl.importSemaphore(fds[0]);
  await using free = cl.importSemaphore(fds[1], { kind: "binary" });
  await using theirReady = theirs.importSemaphore(fds[0]);
  await using theirFree = theirs.importSemaphore(fds[1]);
  for (const fd of fds) closeFd(fd); // ours all the time
  await using word = theirs.allocate(BYTES);
  await using seen = cl.allocate(BYTES);
  for (let lap = 1; lap <= 20; lap++) {
    if (lap > 1) theirFree.wait();
    theirs.queue.fill(word, lap);
    theirReady.signal();
    ready.wait();
    cl.queue.fill(seen, lap);
    free.signal();
  }
  assertEquals(blocking, []);
  await cl.queue.fence().wait();
  const bytes = new Uint8Array(4096);
  theirFree.wait();
  theirs.queue.read(word, bytes);
  assertEquals(bytes, new Uint8Array(4096).fill(20));
});

simulated("several semaphores are one native call, with the events to wait for in its list", async (cl) => {
  await using other = cl.createQueue();
  await using tensor = cl.allocate(BYTES);
  const fds = [semaphoreFd(), semaphoreFd(), semaphoreFd()];
  const semaphores = fds.map((fd) => cl.importSemaphore(fd));
  other.fill(tensor, 3);
  told.length = 0;
  const [one, ...others] = semaphores;
  const signal = cl.queue.signalSemaphores(others, { after: other.fence() });
  const wait = other.waitSemaphores(semaphores.toReversed());
  assertEquals(told, [SIGNAL, WAIT]);
  assertEquals([signal.line, wait.line], [cl.line, other.line]);
  for (let i = 0; i < 20; i++) {
    assertEquals(wait.reached(), false); // the first was not signalled
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  using same = cl.importSemaphore(fds[0]);
  for (const fd of fds) closeFd(fd);
  same.signal();
  await wait.wait({ signal: AbortSignal.timeout(10_000) });
  assertEquals(blocking, []);
  assertThrows(() => cl.queue.waitSemaphores([one, { semaphore: one }]), ArgumentError, "listed twice");
  assertThrows(() => cl.queue.waitSemaphores([]), ArgumentError, "a list of semaphores");
  for (const semaphore of [...semaphores, same]) semaphore[Symbol.dispose]();
  assertThrows(() => one.signal(), DisposedError);
  assertThrows(() => one.handle, DisposedError);
  assertEquals(alive(), 0);
});

simulated("the fd stays the caller's, whether the import succeeds or not", (cl) => {
  const fd = semaphoreFd();
  const fds = openFds();
  {
    using imported = cl.importSemaphore(fd);
    assertEquals([openFds(), imported.kind, imported.context], [fds + 1, "binary", cl]);
    assert(imported.handle !== 0n);
  }
  assertOpenFds(fds);
  driver.fails = CREATE;
  assertThrows(() => cl.importSemaphore(fd), NativeCallError, CREATE);
  assertEquals([openFds(), alive()], [fds, 0]);
  closeFd(fd);
  told.length = 0;
  assertThrows(() => cl.importSemaphore(fd), ArgumentError, `${fd} is not open`);
  const file = libc().memfd_create(cString("a file"), 0);
  assertThrows(() => cl.importSemaphore(file), ArgumentError, "that of a regular file");
  assertThrows(() => cl.importSemaphore(file, { kind: "sync-fd" }), ArgumentError, "expected a sync file");
  closeFd(file);
  assertThrows(() => cl.importSemaphore(-1), ArgumentError, "expected an fd, got -1");
  assertThrows(() => cl.importSemaphore(0, { kind: "timeline" }), ArgumentError, "imports no timeline semaphores");
  assertThrows(() => cl.importSemaphore(0, { kind: "d3d" as never }), ArgumentError, '"binary", "timeline", "sync-fd"');
  assertEquals([told, openFds()], [[], fds - 1]); // no driver was asked
});

simulated("a sync file whose signal has come is waited for once, and without a native call", (cl) => {
  using come = cl.importSemaphore(-1, { kind: "sync-fd" });
  assertEquals([come.kind, come.handle], ["sync-fd", 0n as never]);
  assertThrows(() => come.signal(), ArgumentError, "only waited for");
  assertThrows(() => come.wait(1n), ArgumentError, "only a timeline has values");
  const fd = semaphoreFd();
  using held = cl.importSemaphore(fd);
  closeFd(fd);
  held.signal();
  told.length = 0;
  const wait = cl.queue.waitSemaphores([come, held]);
  assertEquals(told, [WAIT]);
  wait.waitSync();
  assertThrows(() => come.wait(), AccessError, "was waited for already");
  told.length = 0;
  using alone = cl.importSemaphore(-1, { kind: "sync-fd" });
  alone.wait().waitSync();
  assertEquals(told, []);
});
