import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  LayoutError,
  ledger,
  MapperGraph,
  NativeCallError,
  NoRouteError,
} from "@samepage/interop";
import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import { LevelZeroBuildError, LevelZeroContext, levelZeroDevices } from "@samepage/interop/levelzero";
import { kDLOneAPI } from "../../ffi/dlpack/constants.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { behave, counts, DEVICE, hasNullDriver, LIBRARY, NULL_DEVICE, SECOND, useDrivers } from "./drivers.ts";
import { spirvOf } from "./spirv.ts";

const missing = await useDrivers();

function test(name: string, run: () => void | Promise<void>, lacks: string | undefined = undefined): void {
  const reason = missing ?? lacks;
  const title = `levelzero: ${name}`;
  if (reason !== undefined) {
    Deno.test({ name: `${title} (not here: ${reason})`, ignore: true, fn() {} });
    return;
  }
  Deno.test(title, async () => {
    behave();
    const before = counts();
    await run();
    behave();
    assertEquals(counts(), before, "objects of the driver's that stay, or that were misused");
    assertEquals(Object.keys(ledger.alive).filter((kind) => kind.startsWith("levelzero")), []);
  });
}

const BROKEN = "error: the kernel is broken";
const BYTES = { shape: [100], dtype: "u8" } as const;
const open = () => LevelZeroContext.open({ device: DEVICE });

test("levelZeroDevices() returns what drivers report", () => {
  const devices = levelZeroDevices();
  const [first, second] = [DEVICE, SECOND].map((name) => devices.find((device) => device.name.includes(name))!);
  assertEquals(first.id, { uuid: "73616d65706167652064657669636530", pci: "0000:03:00.0" });
  assertEquals([first.type, first.queueOrdinal, first.maxAllocation], ["gpu", 1, 2 ** 30]);
  assertEquals(first.usm, { host: true, device: true, shared: true });
  assertEquals(second.usm.shared, false);
  assertEquals(second.id.pci, "0000:03:01.0");
});

test("open() finds a device by name, type, UUID and another context", () => {
  using one = LevelZeroContext.open({ uuid: "73616d65-7061-6765-2064-657669636531" });
  assertStringIncludes(one.name, SECOND);
  using on = LevelZeroContext.open({ on: one });
  assertEquals(on.name, one.name);
  const none = assertThrows(() => LevelZeroContext.open({ type: "fpga" }), ArgumentError);
  assertStringIncludes(none.message, "no Level Zero device fits");
  assertStringIncludes(none.hint!, DEVICE);
});

test("kernels, fills and copies run in the order of their queue, though the driver runs the newest first", async () => {
  behave("slow");
  using context = open();
  using program = context.program(spirvOf());
  using add = program.kernel("add");
  using numbers = context.usm.allocate({ kind: "shared", shape: [64], dtype: "u32" });
  using copied = context.usm.allocate({ kind: "device", shape: [64], dtype: "u32" });
  context.queue.fill(numbers, 5);
  for (let i = 0; i < 4; i++) add.run({ groups: [4], groupSize: [16] }, [numbers, 10]);
  context.queue.copy(numbers, copied);
  context.queue.fill(numbers, 0);
  await numbers.finished();
  const seen = new Uint32Array(64);
  context.queue.read(copied, seen);
  assertEquals(seen, new Uint32Array(64).fill(45));
});

test("two queues wait for each other on the device", async () => {
  behave("slow");
  using context = open();
  using other = context.createQueue();
  using program = context.program(spirvOf());
  using add = program.kernel("add");
  using numbers = context.usm.allocate({ kind: "host", shape: [16], dtype: "u32" });
  context.queue.fill(numbers, 1);
  let quickest = Infinity;
  let rounds = 0;
  for (const end = performance.now() + 30_000; quickest >= 60 && performance.now() < end; rounds++) {
    const began = performance.now();
    for (let i = 0; i < 3; i++) {
      add.run({ groups: [16] }, [numbers, 1], { queue: other });
      add.run({ groups: [16] }, [numbers, 1]);
    }
    quickest = Math.min(quickest, performance.now() - began); // the five waits of a host that waits take 100 ms at least
    await numbers.finished();
  }
  assert(quickest < 60, "the host has waited between two queues of one context");
  using graph = new MapperGraph([host, context]);
  using onHost = graph.map(numbers, host);
  assertEquals(onHost.view()[15], 1 + 6 * rounds);
});

test("fill() waits for twenty queues that read", () => {
  behave("slow");
  using context = open();
  using from = context.usm.allocate({ kind: "shared", ...BYTES });
  context.queue.fill(from, 7);
  const queues = Array.from({ length: 20 }, () => context.createQueue());
  const readers = queues.map((queue) => {
    const to = context.usm.allocate({ kind: "shared", ...BYTES });
    queue.copy(from, to);
    return to;
  });
  context.queue.fill(from, 8);
  for (const tensor of [from, ...readers]) {
    const seen = new Uint8Array(100);
    context.queue.read(tensor, seen);
    assertEquals(seen, new Uint8Array(100).fill(tensor === from ? 8 : 7));
  }
});

test("events are used again: a thousand commands need few", () => {
  using context = open();
  using bytes = context.usm.allocate({ kind: "device", ...BYTES });
  context.queue.fill(bytes, 1);
  context.queue.finish();
  for (let i = 0; i < 1000; i++) {
    context.queue.fill(bytes, i % 256);
    if (i % 10 === 0) context.queue.finish();
  }
  const { "levelzero.event": events } = ledger.alive;
  assert(events < 40, `${events} events`);
});

test("usm.attach() asks the driver where an address lies", () => {
  using context = open();
  using other = LevelZeroContext.open({ device: SECOND });
  using memory = context.usm.allocate({ kind: "shared", ...BYTES });
  using part = context.usm.attach(memory.handle + 10n, { shape: [50], dtype: "u8" });
  assert(part.grant.overlaps(memory.grant), "they are not known as the same bytes");
  const beyond = assertThrows(() => context.usm.attach(memory.handle + 90n, { shape: [50], dtype: "u8" }), LayoutError);
  assertEquals(beyond.argument, "init");
  const foreign = assertThrows(() => other.usm.attach(memory.handle, BYTES), ArgumentError);
  assertStringIncludes(foreign.message, "it is not unified memory of");
});

test("a kind that the device lacks is refused, and so is more than it takes", () => {
  using context = LevelZeroContext.open({ device: SECOND });
  const none = assertThrows(() => context.usm.allocate({ kind: "shared", ...BYTES }), ArgumentError);
  assertEquals(none.argument, "kind");
  const most = { shape: [2 ** 30 + 1], dtype: "u8" } as const;
  assertEquals(assertThrows(() => context.usm.allocate({ kind: "host", ...most }), LayoutError).argument, "shape");
  behave("full");
  const full = assertThrows(() => context.usm.allocate({ kind: "device", ...BYTES }), NativeCallError);
  assertEquals([full.fn, full.codeName], ["zeMemAllocDevice", "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"]);
});

test("a kernel checks its arguments against the SPIR-V before any native call", () => {
  using context = open();
  using other = LevelZeroContext.open({ device: DEVICE });
  using program = context.program(spirvOf());
  assertEquals(program.kernelNames, ["twice", "add", "invert"]);
  using add = program.kernel("add");
  using invert = program.kernel("invert");
  assertEquals(add.parameters, [{ type: "global i32*", name: "numbers" }, { type: "i32", name: "n" }]);
  assertEquals(invert.parameters[0], { type: "const global void*", name: "from" });
  using numbers = context.usm.allocate({ kind: "shared", shape: [16], dtype: "u32" });
  using floats = context.usm.allocate({ kind: "shared", shape: [16], dtype: "f32" });
  using elsewhere = other.usm.allocate({ kind: "shared", shape: [16], dtype: "u32" });
  using onHost = host.allocate({ shape: [16], dtype: "u32" });
  const wrong: [unknown[], string][] = [
    [[numbers], "expected 2 arguments"],
    [[floats, 1], "it points to u32 or i32"],
    [[elsewhere, 1], "belongs to another context"],
    [[onHost, 1], "Map the tensor to the context first"],
    [[numbers, 2 ** 32], "expected a whole number from -2147483648 to 4294967295"],
    [[numbers, 1.5], "expected a whole number"],
    [[numbers, numbers], "expected a number"],
    [[numbers.handle, 1], "Pass the tensor itself, not its handle"],
  ];
  for (const [args, says] of wrong) {
    const { message, hint } = assertThrows(() => add.run({ groups: [16] }, args as []), ArgumentError);
    assertStringIncludes(`${message} ${hint}`, says);
  }
  for (const range of [{ groups: [0] }, { groups: [65536] }, { groups: [1], groupSize: [257] }, { groups: [1, 1] }]) {
    if (range.groups.length === 2) {
      assertThrows(() => add.run({ ...range, groupSize: [4] }, [numbers, 1]), ArgumentError, "the 2 dimensions");
    } else assertThrows(() => add.run(range, [numbers, 1]), ArgumentError);
  }
  assertThrows(() => add.run({ groups: [1, 1], groupSize: [20, 20] }, [numbers, 1]), ArgumentError, "400 work-items");
  using graph = new MapperGraph([host, context]);
  {
    using held = graph.map(numbers, host);
    held.bytes().fill(1);
    assertThrows(() => add.run({ groups: [16] }, [numbers, 1]), AccessError);
  }
  using whole = graph.map(numbers, host, { access: "read" });
  invert.run({ groups: [64] }, [numbers, floats]); // a reader beside a reader
  assertThrows(() => invert.run({ groups: [64] }, [floats, numbers]), AccessError);
  assertEquals(whole.bytes()[0], 1);
});

test("a program that is not SPIR-V, has no kernels, lacks one or takes what cannot be passed is refused", () => {
  using context = open();
  assertThrows(() => context.program(new Uint8Array(40)), ArgumentError, "it is not SPIR-V");
  assertThrows(() => context.program(spirvOf().slice(0, -3)), ArgumentError, "it is cut off, or damaged");
  assertThrows(() => context.program(spirvOf([])), ArgumentError, "it has no kernels");
  using program = context.program(spirvOf([
    { name: "twice", parameters: [["local f32*", "scratch"]] },
    { name: "add", parameters: [["struct", "all"]] },
  ]));
  assertThrows(() => program.kernel("invert"), ArgumentError, 'there is no kernel "invert"');
  assertThrows(() => program.kernel("twice"), ArgumentError, "takes a local f32*");
  assertThrows(() => program.kernel("add"), ArgumentError, "takes a struct");
  const broken = assertThrows(
    () => context.program(spirvOf([{ name: "broken", parameters: [] }])),
    LevelZeroBuildError,
  );
  assertEquals([broken.fn, broken.log], ["zeModuleCreate", hasNullDriver() ? "" : BROKEN]);
});

test("a build error has the compiler's log, where there is one driver", async () => {
  const script = new URL("workers/build_log.ts", import.meta.url).pathname;
  const args = ["run", "--allow-ffi", "--no-check", script];
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args,
    env: { ZE_ENABLE_ALT_DRIVERS: LIBRARY },
    stderr: "inherit",
  }).output();
  assertEquals([success, new TextDecoder().decode(stdout)], [true, `${BROKEN}\n`]);
});

test("a lost device fails the work, and what it used is given back", async () => {
  const context = open();
  const bytes = context.usm.allocate({ kind: "device", ...BYTES });
  const late = context.usm.allocate({ kind: "device", ...BYTES });
  context.queue.fill(bytes, 1);
  const fence = context.queue.fence();
  behave("lost");
  const lost = await assertRejects(() => fence.wait(), NativeCallError);
  assertEquals(lost.codeName, "ZE_RESULT_ERROR_DEVICE_LOST");
  for (const one of [bytes, late, context]) {
    try {
      one[Symbol.dispose]();
    } catch (error) {
      assert(error instanceof NativeCallError, String(error));
    }
  }
});

test("what is asked of a context that was disposed is refused", () => {
  const context = open();
  const memory = context.usm.allocate({ kind: "host", ...BYTES });
  memory[Symbol.dispose]();
  context[Symbol.dispose]();
  assertThrows(() => context.handle, DisposedError);
  assertThrows(() => context.usm.allocate({ kind: "host", ...BYTES }), DisposedError);
  assertThrows(() => context.queue.fence(), DisposedError);
});

test("a dma-buf keeps the offset of a part, and each fd has one owner", () => {
  const level = openFds();
  {
    using context = open();
    using other = LevelZeroContext.open({ device: SECOND });
    using graph = new MapperGraph([host, context, other]);
    using whole = context.usm.allocate({ kind: "device", shape: [64], dtype: "u32" });
    context.queue.fill(whole, 1);
    {
      using part = whole.slice({ shape: [16], dtype: "u32", byteOffset: 64 });
      using mapped = graph.map(part, other.usm);
      assertEquals(mapped.route.steps.map(({ transfer }) => transfer), ["alias"]);
      other.queue.fill(mapped, 7);
    }
    const seen = new Uint32Array(64);
    context.queue.read(whole, seen);
    assertEquals(Array.from(seen), Array.from(seen, (_, i) => i >= 16 && i < 32 ? 7 : 1));
    using shared = context.usm.allocate({ kind: "shared", ...BYTES });
    assertThrows(() => graph.map(shared, other.usm), NoRouteError, "only device memory");
  }
  assertOpenFds(level);
});

const noNull = hasNullDriver() ? undefined : "the null driver: deno task setup test";

test("the null driver, which returns SUCCESS and does nothing, is not believed", () => {
  using context = LevelZeroContext.open({ device: NULL_DEVICE });
  using graph = new MapperGraph([host, context]);
  using memory = context.usm.allocate({ kind: "shared", ...BYTES });
  const refused = assertThrows(() => graph.map(memory, host), NoRouteError);
  assertStringIncludes(refused.message, "did not see what the host had written");
  assertEquals(graph.explain(memory, host).steps.map(({ transfer }) => transfer), []);
  using other = LevelZeroContext.open({ device: DEVICE });
  using both = new MapperGraph([host, context, other]);
  using device = other.usm.allocate({ kind: "device", ...BYTES });
  assertThrows(() => both.map(device, context.usm), NoRouteError, "imports no dma-bufs");
}, noNull);

test("toDLPack() and fromDLPack() share unified shared memory by its address", () => {
  using levelZero = open();
  using whole = levelZero.usm.allocate({ kind: "shared", ...BYTES });
  const loan = toDLPack(whole);
  assertEquals(loan.device.type, kDLOneAPI);
  using back = fromDLPack(loan.handOver(), { contexts: [host, levelZero] });
  assertEquals([back.target, back.shape], [levelZero.usm, [100]]);
  assertThrows(() => whole.handle, AccessError, "are lent to");
});

test("fromDLPack() finds the context whose memory it is", () => {
  using first = open();
  using second = LevelZeroContext.open({ device: SECOND });
  const contexts = [host, first, second];
  for (const context of [first, second]) {
    using memory = context.usm.allocate({ kind: "device", ...BYTES });
    using loan = toDLPack(memory);
    using back = fromDLPack(loan.address, { contexts });
    loan.handOver();
    assertEquals(back.target, context.usm);
  }
});
