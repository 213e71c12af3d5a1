import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { NativeFlag } from "../../backend.ts";
import { ArgumentError, DisposedError, host, InteropError, ledger, MapperGraph } from "../../mod.ts";
import { collect } from "../gc.ts";
import { deno } from "../process.ts";
import { warningsOf } from "../warnings.ts";
import { FakeDriver, FakeWork } from "./fakes.ts";
import { buildCaller, type Caller, openCaller } from "./native_flag_library.ts";

const missing = await buildCaller();
let caller: Caller;

/** Afterwards no flag is alive. */
function test(name: string, run: () => unknown): void {
  Deno.test({
    name: `NativeFlag: ${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      caller ??= openCaller();
      await run();
      await noFlag();
    },
  });
}

const alive = () => ledger.alive["native.flag"] ?? 0;

/** The flags that were disposed too early are freed some time later. */
async function noFlag(): Promise<void> {
  for (let tries = 0; alive() > 0 && tries < 30_000; tries++) await moment();
  assertEquals(alive(), 0, "flags that are alive");
}

const moment = () => new Promise((resolve) => setTimeout(resolve, 1));

test("isSet() is true once a thread of C's has called", async () => {
  using flag = new NativeFlag({ name: "the release of a frame" });
  assertEquals([flag.isSet(), flag.calls, `${flag}`], [false, 0, "the release of a frame (0 of 1 calls)"]);
  assertEquals(caller.call_later(flag.callback, flag.data, 1000), 0);
  while (!flag.isSet()) await moment();
  assertEquals([flag.calls, `${flag}`], [1, "the release of a frame (set)"]);
});

test("a loop that never waits for the event loop keeps no flag that C has called", () => {
  const { symbols: c } = Deno.dlopen("libc.so.6", { sem_post: { parameters: ["u64"], result: "i32" } });
  let most = 0;
  for (let i = 0; i < 1000; i++) {
    const flag = new NativeFlag();
    const { data } = flag;
    flag[Symbol.dispose]();
    assertEquals(c.sem_post(data), 0);
    most = Math.max(most, alive());
  }
  assert(most <= 3, `${most} flags at a time`);
});

test("fence() is reached by a call: awaited, blocked on, and reached before", async () => {
  using flag = new NativeFlag();
  const fence = flag.fence();
  assertEquals([fence.reached(), flag.fence() === fence], [false, true]);
  caller.call_later(flag.callback, flag.data, 3000);
  await fence;
  assertEquals(fence.reached(), true);
  using blocked = new NativeFlag();
  caller.call_later(blocked.callback, blocked.data, 3000);
  blocked.fence().waitSync();
  assert(blocked.isSet());
});

test("fence() orders a map, as `after`, and holds off the dispose of memory that C uses", async () => {
  using graph = new MapperGraph([host]);
  using tensor = host.allocate({ shape: [16], dtype: "u8" });
  using flag = new NativeFlag();
  caller.call_later(flag.callback, flag.data, 5000);
  const mapped = graph.map(tensor, host, { after: flag.fence() });
  assertEquals(flag.isSet(), true, "the map waited");
  mapped[Symbol.dispose]();
  using release = new NativeFlag();
  const lent = host.allocate({ shape: [16], dtype: "u8" });
  lent.usedBy(release.fence());
  caller.call_later(release.callback, release.data, 5000);
  await lent[Symbol.asyncDispose]();
  assertEquals(release.isSet(), true, "the dispose waited");
});

test("count says after how many calls it is set", async () => {
  using flag = new NativeFlag({ count: 3 });
  for (let i = 1; i < 3; i++) {
    caller.call_with_more(flag.callback, flag.data);
    assertEquals([flag.calls, flag.isSet()], [i, false]);
  }
  assertEquals(caller.call_with_result(flag.callback, flag.data), 0, "what sem_post returns");
  assertEquals([flag.calls, flag.isSet()], [3, true]);
  await flag.fence();
});

test("10,000 flags are set by four threads, and all are awaited at once", async () => {
  const flags = Array.from({ length: 10_000 }, () => new NativeFlag());
  assertEquals(new Set(flags.map(({ data }) => data)).size, flags.length);
  const fences = Promise.all(flags.map((flag) => flag.fence()));
  const order = flags.map(({ data }) => data).sort(() => Math.random() - 0.5);
  assertEquals(caller.call_all(flags[0].callback, BigUint64Array.from(order), BigInt(order.length)), 0);
  await fences;
  for (const flag of flags) flag[Symbol.dispose]();
  assertEquals(alive(), 0);
});

test("memory is used again, and begins unset", () => {
  for (let i = 0; i < 10_000; i++) {
    using flag = new NativeFlag(i % 2 === 0 ? {} : { by: "sigemptyset" });
    assertEquals(flag.isSet(), false);
    caller.call_with_result(flag.callback, flag.data);
    assertEquals(flag.isSet(), true);
  }
});

test("sigemptyset is the deleter in a struct, and leaves the rest of it", async () => {
  using flag = new NativeFlag({ by: "sigemptyset", byteLength: 24 });
  flag.write(new Uint32Array([1, 0]));
  flag.write(BigUint64Array.of(0x55n, flag.callback), 8);
  assertEquals(caller.consume(flag.data), 0);
  assertEquals(flag.isSet(), false);
  caller.let_release();
  await flag.fence();
  const pointer = Deno.UnsafePointer.create(flag.data)!;
  const words = new BigUint64Array(Deno.UnsafePointerView.getArrayBuffer(pointer, 24));
  assertEquals([...words], [0n, 0x55n, flag.callback]);
});

test("dispose before the call returns at once; the memory is freed once C has called", async () => {
  const flag = new NativeFlag();
  const { callback, data } = flag;
  const fence = flag.fence();
  flag[Symbol.dispose]();
  assertEquals([alive(), fence.reached(), flag.isSet()], [1, false, false]);
  assertThrows(() => flag.data, DisposedError);
  const others = Array.from({ length: 1000 }, () => new NativeFlag());
  assert(others.every((other) => other.data !== data), "nobody else gets its memory");
  for (const other of others) other.withdraw();
  for (const other of others) other[Symbol.dispose]();
  await moment();
  assertEquals(alive(), 1);
  caller.call_later(callback, data, 1000);
  await fence;
  assertEquals(flag.isSet(), true);
});

test("withdraw() says that no call comes: the fence fails, and a dispose frees the memory", async () => {
  const flag = new NativeFlag({ name: "a buffer that was never made" });
  const waited = flag.fence().wait();
  flag.withdraw();
  await assertRejects(() => waited, InteropError, "a buffer that was never made was withdrawn");
  await assertRejects(async () => await flag.fence(), InteropError, "withdrawn");
  assertEquals([flag.isSet(), `${flag}`], [false, "a buffer that was never made (withdrawn)"]);
  flag[Symbol.dispose]();
  assertEquals(alive(), 0);
  const forgotten = new NativeFlag();
  forgotten[Symbol.dispose]();
  assertEquals(alive(), 1);
  forgotten.withdraw();
  await noFlag();
  using set = new NativeFlag();
  caller.call_with_result(set.callback, set.data);
  set.withdraw();
  set.fence().waitSync(); // it was set before
  using late = new NativeFlag();
  late.withdraw();
  assertThrows(() => late.fence().waitSync(), InteropError, "withdrawn");
});

test("a forgotten flag is collected with a warning, and its memory kept until C has called", async () => {
  let callback = 0n, data = 0n;
  const warnings = await warningsOf(async () => {
    (() => ({ callback, data } = new NativeFlag({ name: "a forgotten flag" })))();
    for (let i = 0; i < 3; i++) await collect();
  });
  assertEquals(warnings.length, 1);
  assertMatch(warnings[0], /^samepage: a forgotten flag was never disposed/);
  assertEquals(alive(), 1);
  caller.call_with_result(callback, data);
});

test("what it is given is checked", () => {
  // deno-lint-ignore no-explicit-any -- what TypeScript refuses
  const wrong = (options: any, message: string) =>
    assertStringIncludes(assertThrows(() => new NativeFlag(options), ArgumentError).message, message);
  wrong({ by: "free" }, "by: ");
  wrong({ count: 0 }, "count: expected an integer from 1 to 2147483647, got 0.");
  wrong({ count: 1.5 }, "count: ");
  wrong({ by: "sigemptyset", count: 2 }, "count: sigemptyset is called once.");
  wrong({ byteLength: 64 }, "byteLength: sem_post has a semaphore of its own.");
  wrong({ by: "sigemptyset", byteLength: 5000 }, "byteLength: expected an integer from 1 to 4096, got 5000.");
  wrong({ name: 5 }, "name: ");
  wrong({ counts: 5 }, "counts");
  using counting = new NativeFlag();
  assertThrows(() => counting.write(new Uint8Array(8)), ArgumentError, "no struct");
  counting.withdraw();
  using flag = new NativeFlag({ by: "sigemptyset" });
  assertThrows(() => flag.write(new Uint8Array(16)), ArgumentError, "are zero");
  assertThrows(() => flag.write(new Uint8Array(129).fill(1)), ArgumentError, "at most 128 bytes");
  assertThrows(() => flag.write(new Uint8Array(4), -1), ArgumentError, "from byte -1");
  flag.write(new Uint8Array(4).fill(1), 4);
  assertThrows(() => flag.write(new Uint8Array(8)), ArgumentError, "are zero");
  caller.call_with_result(flag.callback, flag.data);
  assertThrows(() => flag.write(Uint8Array.of(1)), ArgumentError, "released already");
});

test("other work has its native wait while hundreds of flags are awaited that are never set", async () => {
  const flags = Array.from({ length: 300 }, () => new NativeFlag());
  const never = flags.map((flag) => flag.fence().wait().catch(() => {}));
  await moment();
  const driver = new FakeDriver();
  const wait = driver.lines.waitElsewhere;
  let native = 0;
  driver.lines.waitElsewhere = (lane, mark) => (native++, wait(lane, mark));
  const work = new FakeWork("device", undefined, driver);
  const waited = work.fence.wait();
  await moment();
  assertEquals(native, 1);
  work.end();
  await waited;
  for (const flag of flags) flag.withdraw();
  await Promise.all(never);
  for (const flag of flags) flag[Symbol.dispose]();
});

test("a Worker awaits flags; one that is terminated leaves its memory to C", async () => {
  const url = import.meta.resolve("./native_flag_worker.ts");
  for (const [delay, ends] of [[2000, false], [100_000, true]] as const) {
    const worker = new Worker(url, { type: "module" });
    const said: unknown[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    worker.onmessage = ({ data }) => {
      said.push(data);
      if (said.length === (ends ? 1 : 2)) resolve();
    };
    worker.postMessage(delay);
    await promise;
    worker.terminate();
    assertEquals(said, ends ? ["called"] : ["called", true]);
  }
  await new Promise((resolve) => setTimeout(resolve, 200)); // C calls meanwhile
});

test("a wait that blocks for seconds says what it waits for, once", async () => {
  const code = `
    const { sem_post } = Deno.dlopen("libc.so.6", { sem_post: { parameters: ["u64"], result: "i32" } }).symbols;
    onmessage = ({ data }) => setTimeout(() => sem_post(data), 5000);`;
  const worker = new Worker(`data:text/javascript,${encodeURIComponent(code)}`, { type: "module" });
  using flag = new NativeFlag({ name: "the end of a frame" });
  worker.postMessage(flag.data);
  const warnings = await warningsOf(() => flag.fence().waitSync());
  worker.terminate();
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0], "waiting for the end of a frame for seconds");
});

test("flags that were disposed unset do not keep the process alive", async () => {
  const program = `import { NativeFlag } from ${JSON.stringify(import.meta.resolve("../../backend.ts"))};
    for (let i = 0; i < 10; i++) new NativeFlag()[Symbol.dispose]();
    console.log("over");`;
  const { code, stdout, stderr } = await deno(["eval", "--no-check", program]);
  assertEquals([code, stdout.trim()], [0, "over"], stderr);
});

const AVUTIL = ["libavutil.so.57", "libavutil.so.58", "libavutil.so.59", "libavutil.so.60"];
const avutil = AVUTIL.map(openAvutil).find((library) => library !== undefined);

function openAvutil(name: string) {
  try {
    return Deno.dlopen(name, {
      av_buffer_create: { parameters: ["u64", "usize", "u64", "u64", "i32"], result: "u64" },
      av_buffer_ref: { parameters: ["u64"], result: "u64" },
      av_buffer_unref: { parameters: ["buffer"], result: "void" },
    }).symbols;
  } catch {
    return undefined;
  }
}

Deno.test({
  name: `NativeFlag: av_buffer_create() calls it after the last unref${
    avutil === undefined ? " (not here: FFmpeg)" : ""
  }`,
  ignore: avutil === undefined,
  fn() {
    using tensor = host.allocate({ shape: [64], dtype: "u8" });
    using flag = new NativeFlag({ name: "the release of an AVBufferRef" });
    const first = avutil!.av_buffer_create(tensor.address, 64n, flag.callback, flag.data, 0);
    const second = avutil!.av_buffer_ref(first);
    avutil!.av_buffer_unref(BigUint64Array.of(first));
    assertEquals(flag.isSet(), false);
    avutil!.av_buffer_unref(BigUint64Array.of(second));
    assertEquals(flag.isSet(), true);
  },
});
