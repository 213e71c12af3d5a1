/** Every call of DPCTL's fails once: contexts, programs, kernels, commands. On a real DPCTL too, where one is named. */
import { assert, assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import { SyclContext } from "../../src/sycl/mod.ts";
import { alive, isStandIn, openSycl, UNREPORTED } from "../sycl/open.ts";
import { close, type Fault, sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

const missing = await openSycl();
installTap();

/** What is not reported is not there; where no barrier is made, the host waits. */
const SILENT = [
  ...UNREPORTED,
  "sycl.DPCTLQueue_SubmitBarrierForEvents",
  "sycl.DPCTLKernelBundle_HasKernel", // false: there is no such kernel
];

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({
    name: `faults: sycl: ${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      const before = alive();
      await fn();
      assertEquals(alive(), before);
    },
  });
}

const open = () => SyclContext.open(isStandIn() ? {} : { platform: "Intel" });
if (missing === undefined) open()[Symbol.dispose](); // which loads the guard, once

function some(faults: readonly Fault[], ...fns: readonly string[]): void {
  for (const fn of fns) {
    assert(faults.some(({ call }) => call === `sycl.${fn}`), `${fn} was not among the ${faults.length} calls`);
  }
}

const SOURCE = `
kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }
kernel void scale(global float* x, float by) { x[get_global_id(0)] *= by; }`;

test("opening a context and another queue", async () => {
  const faults = await sweep(
    () => {
      using context = open();
      void context.createQueue().handle;
    },
    undefined,
    SILENT,
  );
  some(faults, "DPCTLDeviceMgr_GetDevices", "DPCTLContext_Create", "DPCTLQueue_Create", "DPCTLDevice_GetName");
});

test("a program, and its kernels", async () => {
  using context = open();
  const faults = await sweep(
    () => {
      using program = context.program(SOURCE);
      using _scale = program.kernel("scale", ["global float*", "float"]);
      using _twice = program.kernel("twice", ["global float*"]);
    },
    undefined,
    SILENT,
  );
  some(faults, "DPCTLKernelBundle_CreateFromOCLSource", "DPCTLKernelBundle_HasKernel", "DPCTLKernelBundle_GetKernel");
  some(faults, "DPCTLKernel_GetNumArgs", "DPCTLKernel_GetWorkGroupSize");
});

/** It runs kernels of two queues, and looks at what they did. */
async function launches(context: SyclContext): Promise<void> {
  using numbers = context.usm.allocate({ kind: "shared", shape: [64], dtype: "f32" });
  using program = context.program(SOURCE);
  using twice = program.kernel("twice", ["global float*"]);
  using scale = program.kernel("scale", ["global float*", "float"]);
  using other = context.createQueue();
  using from = context.usm.allocate({ kind: "device", shape: [64], dtype: "f32" });
  context.queue.fill(from, 5);
  twice.run({ items: [64] }, [from]);
  scale.run({ items: [64], groupSize: [16] }, [from, 3], { queue: other });
  twice.run({ items: [64], groupSize: [64] }, [from]);
  context.queue.copy(from, numbers);
  await numbers.finished();
  const seen = new Float32Array(64);
  await context.queue.read(numbers, seen);
  assertEquals(seen, new Float32Array(64).fill(60));
}

/** Later work of the queue goes well. A line keeps the failures of the work before, which its end throws. */
function goesOn({ usm, queue }: SyclContext): void {
  using numbers = usm.allocate({ kind: "shared", shape: [64], dtype: "u8" });
  queue.fill(numbers, 3);
  queue.finish();
}

test("kernels, fills and copies of two queues", async () => {
  const context = open();
  const faults = await sweep(() => launches(context), () => goesOn(context), SILENT);
  some(faults, "DPCTLQueue_SubmitRange", "DPCTLQueue_SubmitNDRange", "DPCTLQueue_Fill32", "DPCTLQueue_Memcpy");
  some(faults, "DPCTLEvent_GetCommandExecutionStatus");
  close(context);
});

test("memory of each kind, its map to the host, and attaching to it", async () => {
  const context = open();
  const graph = new MapperGraph([host, context]);
  for (const kind of ["host", "shared", "device"] as const) {
    {
      using first = context.usm.allocate({ kind, shape: [64], dtype: "u8" });
      using _proven = graph.map(first, host, { copy: "allow" });
    }
    const faults = await sweep(
      () => {
        using bytes = context.usm.allocate({ kind, shape: [64], dtype: "u8" });
        using part = context.usm.attach(bytes.handle, { shape: [16], dtype: "u8" });
        context.queue.fill(part, 1);
        using seen = graph.map(bytes, host, { copy: "allow" });
        seen.bytes().fill(2);
      },
      () => goesOn(context),
      SILENT,
    );
    some(faults, `DPCTLaligned_alloc_${kind}`, "DPCTLUSM_GetPointerType", "DPCTLQueue_Fill8");
  }
  close(context, graph);
});
