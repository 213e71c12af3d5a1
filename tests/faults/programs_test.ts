/** Every OpenCL call of binaries, caches, foreign objects and parts of devices fails once. */
import { assert, assertEquals } from "@std/assert";
import { CL_BUFFER_CREATE_TYPE_REGION } from "../../ffi/opencl/constants.ts";
import { writeClBufferRegion } from "../../ffi/opencl/structs.ts";
import { host, MapperGraph, region } from "../../mod.ts";
import { OpenCLContext, type OpenCLDevice, openclDevices } from "../../src/opencl/mod.ts";
import { warningsOf } from "../conformance/case.ts";
import { built, made, programOf, raw } from "../opencl/raw.ts";
import { assertTyped, type Fault, sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();

const SOURCE = "kernel void fill(global uchar* out, uchar value) { out[get_global_id(0)] = value; }";

function devices(): OpenCLDevice[] {
  try {
    return openclDevices();
  } catch {
    return []; // no loader
  }
}

/** Once on each device that there is. */
function test(name: string, run: (cl: OpenCLContext) => Promise<unknown>): void {
  if (devices().length === 0) {
    Deno.test({ name: `faults: ${name} (not here: an OpenCL device)`, ignore: true, fn() {} });
  }
  for (const device of devices()) {
    Deno.test(`faults: ${name} on ${device.platform}`, async () => {
      const cl = OpenCLContext.create([device]);
      await run(cl);
      try {
        cl[Symbol.dispose]();
      } catch (error) {
        assertTyped(error, "closing the context"); // what it kept of earlier failures
      }
    });
  }
}

function some(faults: readonly Fault[], ...fns: string[]): void {
  for (const fn of fns) {
    assert(faults.some((fault) => fault.call === `opencl.${fn}`), `${fn} was not among the ${faults.length} calls`);
  }
}

test("a program's binary, and the way back", async (cl) => {
  using program = cl.program(SOURCE);
  const bytes = program.binary();
  some(
    await sweep(() => assertEquals(program.binary(), bytes)),
    "clGetProgramInfo",
    "clCreateKernel",
    "clGetKernelArgInfo",
  );
  const faults = await sweep(() => {
    using again = cl.programFromBinary(bytes);
    using _kernel = again.kernel("fill");
  });
  some(faults, "clCreateProgramWithBinary", "clBuildProgram", "clCreateKernel");
});

test("a cache, of which nothing worse comes than a build", async (cl) => {
  const cache = new Map<string, Uint8Array>();
  await warningsOf(async () => {
    const building = await sweep(() => {
      cache.clear();
      using program = cl.program(SOURCE, { cache });
      assertEquals(program.kernelNames, ["fill"]);
    });
    some(building, "clBuildProgram", "clGetProgramInfo");
    cl.program(SOURCE, { cache })[Symbol.dispose]();
    const [[key, kept]] = cache;
    const reading = await sweep(
      () => {
        cache.set(key, kept);
        using _program = cl.program(SOURCE, { cache });
      },
      undefined,
      ["opencl.clCreateProgramWithBinary", "opencl.clBuildProgram"],
    ); // then it is built of its source
    some(reading, "clCreateProgramWithBinary", "clBuildProgram");
    const missed = reading.filter(({ call }) => call === "opencl.clCreateProgramWithBinary");
    assert(missed.every(({ error }) => error === undefined), "a binary that the driver refuses is a miss");
  });
});

test("attaching to a program", async (cl) => {
  const theirs = built(programOf(cl.handle, SOURCE), cl.device.handle, "-cl-kernel-arg-info");
  const faults = await sweep(() => {
    using program = cl.attachProgram(theirs);
    using _kernel = program.kernel("fill");
  });
  some(faults, "clGetProgramBuildInfo", "clRetainProgram", "clReleaseProgram");
  assertEquals(raw().clReleaseProgram(theirs), 0);
});

test("attaching to a buffer and a part of it, and a map of that", async (cl) => {
  using graph = new MapperGraph([host, cl]);
  const theirs = made((code) => raw().clCreateBuffer(cl.handle, 0n, 4096n, 0n, code));
  const at = new DataView(new ArrayBuffer(16));
  writeClBufferRegion(at, 0, { origin: 0n, size: 1024n });
  const part = made((code) => raw().clCreateSubBuffer(theirs, 0n, CL_BUFFER_CREATE_TYPE_REGION, at, code));
  {
    using first = cl.attach(part, { shape: [1024], dtype: "u8" });
    using _mapped = graph.map(first, host); // the first map runs the proof
  }
  const faults = await sweep(() => {
    using tensor = cl.attach(part, { shape: [1024], dtype: "u8" });
    using peer = cl.attach(theirs, { shape: [4096], dtype: "u8" });
    using slice = peer.slice(region(peer.layout, [2048], [1024]));
    using mapped = graph.map(tensor, host);
    mapped.bytes().fill(1);
    slice.assertUsable("read");
  }, () => cl.queue.finish());
  some(faults, "clGetMemObjectInfo", "clRetainMemObject", "clReleaseMemObject", "clEnqueueMapBuffer");
  graph[Symbol.dispose]();
  for (const mem of [part, theirs]) assertEquals(raw().clReleaseMemObject(mem), 0);
});

test("attaching to a buffer over host memory", async (cl) => {
  using source = host.allocate({ shape: [4096], dtype: "u8" });
  const theirs = made((code) => raw().clCreateBuffer(cl.handle, 8n, 4096n, source.handle, code));
  const faults = await sweep(() => {
    using tensor = cl.attach(theirs, { shape: [4096], dtype: "u8" });
    using _peer = cl.attach(theirs, { shape: [100], dtype: "u8" });
    assert(tensor.grant.allocation === source.grant.allocation);
  }, () => source.assertUsable("read-write"));
  some(faults, "clRetainMemObject", "clReleaseMemObject");
  assertEquals(raw().clReleaseMemObject(theirs), 0);
});

const STRUCT = "typedef struct { int a[16]; } block; kernel void k(global int* o, block v) { o[0] = v.a[15]; }";

test("a kernel with a struct, whose size is found out", async (cl) => {
  using program = cl.program(STRUCT);
  using o = cl.allocate({ shape: [16], dtype: "i32" });
  const struct = new Int32Array(16).fill(7);
  const run = () => {
    using kernel = program.kernel("k");
    kernel.run({ items: [1] }, [o, struct]);
  };
  await sweep(run, () => cl.queue.finish(), ["opencl.clSetKernelArg"]); // whose codes show the size
  run(); // what could not be found out once is asked again
  const told = new Int32Array(16);
  cl.queue.read(o, told);
  assertEquals(told[0], 7);
});
