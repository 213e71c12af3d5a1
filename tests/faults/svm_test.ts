/** Every native call of shared memory fails once: what comes of it is typed, nothing stays behind, nothing is freed too early. */
import { assert, assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import {
  OpenCLContext,
  type OpenCLDevice,
  openclDevices,
  type OpenCLSvmTensor,
  type OpenCLUsmTensor,
} from "../../src/opencl/mod.ts";
import { close, type Fault, sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();

const SOURCE = `
kernel void add(global uchar* x, uchar n) { x[get_global_id(0)] += n; }
kernel void follow(global const ulong* pointers, uchar n) {
  ((global uchar*) pointers[0])[get_global_id(0)] += n;
}`;

/** A kind of shared memory, where a device has it. */
interface Kind {
  readonly name: string;
  readonly lacks: (device: OpenCLDevice) => boolean;
  readonly allocate: (cl: OpenCLContext, byteLength: number) => OpenCLSvmTensor | OpenCLUsmTensor;
  /** What its allocation calls. */
  readonly call: string;
}

const isWithoutUsm = ({ extensions }: OpenCLDevice) => !extensions.includes("cl_intel_unified_shared_memory");

const KINDS: readonly Kind[] = [
  {
    name: "coarse-grained memory",
    lacks: ({ svm }) => !svm.coarseGrainBuffer,
    allocate: (cl, n) => cl.svm.allocate({ shape: [n], dtype: "u8" }),
    call: "opencl.clSVMAlloc",
  },
  {
    name: "fine-grained memory",
    lacks: ({ svm }) => !svm.fineGrainBuffer,
    allocate: (cl, n) => cl.svm.allocate({ shape: [n], dtype: "u8", grain: "fine", align: 4096 }),
    call: "opencl.clSVMAlloc",
  },
  ...([["host", "clHostMemAllocINTEL"], ["shared", "clSharedMemAllocINTEL"], [
    "device",
    "clDeviceMemAllocINTEL",
  ]] as const)
    .map(([kind, fn]): Kind => ({
      name: `unified memory (${kind})`,
      lacks: isWithoutUsm,
      allocate: (cl, n) => cl.usm.allocate({ kind, shape: [n], dtype: "u8" }),
      call: `opencl_usm.${fn}`,
    })),
];

function devices(): readonly OpenCLDevice[] {
  try {
    return openclDevices();
  } catch {
    return [];
  }
}

function test(name: string, run: (open: () => OpenCLContext, kind: Kind) => Promise<void>): void {
  for (const kind of KINDS) {
    const here = devices().filter((device) => !kind.lacks(device));
    const title = `faults: ${name}, ${kind.name}`;
    if (here.length === 0) Deno.test({ name: `${title} (not here: no device has it)`, ignore: true, fn() {} });
    for (const { platform, name: device } of here) {
      Deno.test(`${title} on ${platform}`, () => run(() => OpenCLContext.open({ platform, device }), kind));
    }
  }
}

function some(faults: readonly Fault[], call: string): void {
  assert(faults.some((fault) => fault.call === call), `${call} was not among ${faults.map((fault) => fault.call)}`);
}

test("an allocation", async (open, { allocate, call }) => {
  const cl = open();
  const once = () => allocate(cl, 5000)[Symbol.dispose]();
  await sweep(once); // what is asked for once is known afterwards, and not counted again
  const faults = await sweep(once);
  some(faults, call);
  close(cl);
});

test("a kernel, and the way to the host and back", async (open, { allocate }) => {
  const cl = open();
  using graph = new MapperGraph([host, cl]);
  const add = cl.program(SOURCE).kernel("add");
  const memory = allocate(cl, 4096);
  const settled = () => {
    memory.assertUsable("read-write");
    cl.queue.finish();
  };
  const round = (access: "read" | "write" | "read-write") => {
    add.run({ items: [4096] }, [memory, 1]);
    using seen = graph.map(memory, host, { access, copy: "allow" });
    assertEquals(seen.bytes({ access }).length, 4096);
  };
  round("read"); // the first map runs the proof
  for (const access of ["read", "write", "read-write"] as const) {
    const faults = await sweep(() => round(access), settled);
    some(faults, "opencl.clEnqueueNDRangeKernel");
  }
  graph[Symbol.dispose]();
  close(cl);
});

test("a kernel that follows a pointer", async (open, { allocate }) => {
  const cl = open();
  using graph = new MapperGraph([host, cl]);
  const follow = cl.program(SOURCE).kernel("follow");
  const target = allocate(cl, 64);
  const pointers = cl.allocate({ shape: [1], dtype: "u64" });
  cl.queue.write(pointers, new BigUint64Array([target.handle]));
  const faults = await sweep(() => follow.run({ items: [64] }, [pointers, 1], { indirect: [target] }), () => {
    cl.queue.finish();
    assert(cl.queue.fence().reached());
  });
  for (const fn of ["clCreateKernel", "clSetKernelExecInfo", "clReleaseKernel"]) some(faults, `opencl.${fn}`);
  graph[Symbol.dispose]();
  close(cl);
});

test("what is disposed while a kernel uses it", async (open, { allocate }) => {
  const cl = open();
  const add = cl.program(SOURCE).kernel("add");
  const faults = await sweep(() => {
    using memory = allocate(cl, 65_536);
    add.run({ items: [65_536] }, [memory, 1]);
  }, () => {
    cl.queue.finish();
  });
  some(faults, "opencl.clGetEventInfo");
  close(cl);
});

test("a queue's commands", async (open, { allocate, call }) => {
  const cl = open();
  const [one, two] = [allocate(cl, 256), allocate(cl, 256)];
  const bytes = new Uint8Array(256);
  const faults = await sweep(() => {
    cl.queue.fill(one, 7);
    cl.queue.copy(one, two);
    cl.queue.read(two, bytes);
    cl.queue.write(two, bytes);
  }, () => {
    for (const memory of [one, two]) memory.assertUsable("read-write");
    cl.queue.finish();
  });
  const fns = call.startsWith("opencl_usm")
    ? ["opencl_usm.clEnqueueMemFillINTEL", "opencl_usm.clEnqueueMemcpyINTEL"]
    : ["opencl.clEnqueueSVMMemFill", "opencl.clEnqueueSVMMemcpy"];
  for (const fn of fns) some(faults, fn);
  close(cl);
});
