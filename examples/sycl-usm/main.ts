/**
 * A SYCL kernel on memory that the host reads in place: unified shared memory, the host's own, and then OpenCL's, in one
 * `cl_context`, where OpenCL's kernel and SYCL's write by turns. No byte is copied.
 *
 * Run it as `deno run -A examples/sycl-usm/main.ts`. docs/guides/sycl.md says what it needs.
 *
 * @module
 */
import { host, type HostTensor, InteropError, ledger, MapperGraph } from "@samepage/interop";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { SyclContext, type SyclKernel } from "@samepage/interop/sycl";
import { print } from "../edges/report.ts";

const COUNT = 1 << 20;
const INIT = { shape: [COUNT], dtype: "f32" } as const;
const SOURCE = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }";
const RANGE = { items: [COUNT] };
const USM = "cl_intel_unified_shared_memory";

const alive = JSON.stringify(ledger.alive);
try {
  alone();
  besideOpenCL();
} catch (error) {
  if (!(error instanceof InteropError)) throw error;
  console.error(`${error.name}: ${error.message}`);
  Deno.exitCode = 1;
}
const left = JSON.stringify(ledger.alive);
print("left", left === alive ? "nothing: every native object was given back" : left);
if (left !== alive) Deno.exitCode = 1;

/** Memory that SYCL allocates, and the host's own. */
function alone(): void {
  using made = new DisposableStack();
  const sycl = made.use(SyclContext.open());
  const graph = made.use(new MapperGraph([host, sycl]));
  const twice = kernelOf(sycl, made);
  print("device", sycl.device.name);

  using shared = sycl.usm.allocate({ ...INIT, kind: "shared" });
  using toFill = graph.map(shared, host);
  toFill.view({ dtype: "f32" }).fill(21);
  toFill[Symbol.dispose]();
  twice.run(RANGE, [shared]);
  using seen = graph.map(shared, host, { access: "read" }); // waits for the kernel
  check("shared", "host → sycl.usm → kernel → host", seen, 42);

  if (!sycl.device.usm.system) return print("system", "the device does not reach all of the host's memory");
  using own = host.allocate(INIT);
  own.view().fill(4);
  {
    using mapped = graph.map(own, sycl.usm);
    twice.run(RANGE, [mapped]);
  } // the end of a map waits for the kernel
  check("system", "host → kernel → host", own, 8);
  print("copied", `${sycl.bytesCopied} bytes`);
}

/** OpenCL's unified shared memory, which is SYCL's too. */
function besideOpenCL(): void {
  const device = openclDevices().find(({ extensions }) => extensions.includes(USM));
  if (device === undefined) return print("beside", `no OpenCL device here has ${USM}`);
  using made = new DisposableStack();
  const cl = made.use(OpenCLContext.create([device]));
  const sycl = made.use(SyclContext.open({ on: cl }));
  const graph = made.use(new MapperGraph([host, cl, sycl]));
  const ours = made.use(made.use(cl.program(SOURCE)).kernel("twice"));
  const theirs = kernelOf(sycl, made);
  using numbers = cl.usm.allocate({ ...INIT, kind: "shared" });
  {
    using mapped = graph.map(numbers, sycl.usm); // the same address
    sycl.queue.fill(mapped, 5);
    theirs.run(RANGE, [mapped]);
  }
  ours.run(RANGE, [numbers]);
  using seen = graph.map(numbers, host, { access: "read" });
  check("beside", "opencl.usm → sycl.usm → kernels of both → host", seen, 20);
}

function kernelOf(sycl: SyclContext, made: DisposableStack): SyclKernel {
  return made.use(made.use(sycl.program(SOURCE)).kernel("twice", ["global float*"]));
}

function check(label: string, chain: string, tensor: HostTensor, expected: number): void {
  const wrong = tensor.view({ dtype: "f32" }).findIndex((number) => number !== expected);
  print(label, wrong < 0 ? `${chain}: all ${COUNT} numbers are ${expected}` : `number ${wrong} is not ${expected}`);
  if (wrong >= 0) Deno.exitCode = 1;
}
