/** Every call of Level Zero's fails once: contexts, programs, kernels, commands. */
import { assert, assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import { LevelZeroContext, type LevelZeroTensor } from "../../src/levelzero/mod.ts";
import { behave, counts, DEVICE, useDrivers } from "../levelzero/drivers.ts";
import { spirvOf } from "../levelzero/spirv.ts";
import { type Fault, sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

const missing = await useDrivers();
installTap();

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({
    name: `faults: levelzero: ${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      behave();
      const before = counts();
      await fn();
      assertEquals(counts(), before);
    },
  });
}

const open = () => LevelZeroContext.open({ device: DEVICE });

function some(faults: readonly Fault[], ...fns: readonly string[]): void {
  for (const fn of fns) {
    assert(faults.some(({ call }) => call === `levelzero.${fn}`), `${fn} was not among the ${faults.length} calls`);
  }
}

test("opening a context and another queue", async () => {
  const faults = await sweep(() => {
    using context = open();
    context.createQueue();
  });
  some(faults, "zeInit", "zeDriverGet", "zeDeviceGetProperties", "zeContextCreate", "zeContextDestroy");
  some(faults, "zeCommandListCreateImmediate", "zeCommandListDestroy");
});

test("a program, and its kernels", async () => {
  using context = open();
  const faults = await sweep(() => {
    using program = context.program(spirvOf());
    using _add = program.kernel("add");
    using _twice = program.kernel("twice");
  });
  some(faults, "zeModuleCreate", "zeModuleDestroy", "zeKernelCreate", "zeKernelDestroy");
});

test("a build that fails, and its log", async () => {
  using context = open();
  const broken = spirvOf([{ name: "broken", parameters: [] }]);
  const faults = await sweep(() => {
    try {
      context.program(broken)[Symbol.dispose]();
    } catch (error) {
      if (!(error instanceof Error) || error.constructor.name !== "LevelZeroBuildError") throw error;
    }
  });
  some(faults, "zeModuleCreate");
});

/** It runs kernels of new sizes and arguments on two queues, and looks at what they did. */
async function launches(context: LevelZeroContext, numbers: LevelZeroTensor): Promise<void> {
  using program = context.program(spirvOf());
  using add = program.kernel("add");
  using other = context.createQueue();
  using from = context.usm.allocate({ kind: "device", shape: [64], dtype: "u32" });
  context.queue.fill(from, 5);
  add.run({ groups: [4], groupSize: [16] }, [from, 1]);
  add.run({ groups: [8], groupSize: [8] }, [from, 2], { queue: other });
  add.run({ groups: [8], groupSize: [8] }, [from, 3]);
  context.queue.copy(from, numbers);
  await numbers.finished();
  const seen = new Uint32Array(64);
  await context.queue.read(numbers, seen);
  assertEquals(seen, new Uint32Array(64).fill(11));
}

for (const words of [[], ["slow"]] as const) {
  test(`kernels, fills and copies of two queues${words.length > 0 ? ", on a slow device" : ""}`, async () => {
    using context = open();
    using numbers = context.usm.allocate({ kind: "shared", shape: [64], dtype: "u32" });
    behave("slow");
    for (let i = 0; i < 40; i++) context.queue.fill(numbers, 0); // the events that it will use again
    await context.queue.fence().wait();
    behave(...words);
    const faults = await sweep(() => launches(context, numbers), async () => {
      context.queue.fill(numbers, 0);
      await context.queue.fence().wait();
    });
    some(faults, "zeKernelSetGroupSize", "zeKernelSetArgumentValue", "zeCommandListAppendLaunchKernel");
    some(faults, "zeCommandListAppendMemoryFill", "zeCommandListAppendMemoryCopy", "zeEventQueryStatus");
  });
}

test("memory of each kind, its map to the host, and attaching to it", async () => {
  using context = open();
  using graph = new MapperGraph([host, context]);
  for (const kind of ["host", "shared", "device"] as const) {
    {
      using first = context.usm.allocate({ kind, shape: [64], dtype: "u8" });
      using _proven = graph.map(first, host, { copy: "allow" });
    }
    const faults = await sweep(() => {
      using bytes = context.usm.allocate({ kind, shape: [64], dtype: "u8" });
      using part = context.usm.attach(bytes.handle + 16n, { shape: [16], dtype: "u8" });
      context.queue.fill(part, 1);
      using seen = graph.map(bytes, host, { copy: "allow" });
      seen.bytes().fill(2);
    }, () => context.queue.finish());
    some(faults, "zeMemFree", "zeMemGetAllocProperties", "zeMemGetAddressRange");
  }
});
