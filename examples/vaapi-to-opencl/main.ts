/**
 * A surface of video in an OpenCL kernel: surface → dma-buf → host → OpenCL, and no byte is copied, where a mapping of the
 * dma-buf is the surface's memory; else the driver copies the pixels out, and the steps say so. The kernel adds up the luma
 * of an NV12 picture, and the CPU checks the sum.
 *
 * Run it as `deno run -A examples/vaapi-to-opencl/main.ts`.
 *
 * @module
 */
import { host, InteropError, ledger, MapperGraph } from "@samepage/interop";
import { dmabuf } from "@samepage/interop/dmabuf";
import { OpenCLContext } from "@samepage/interop/opencl";
import { openOr } from "../cuda-edges/open.ts";
import { print } from "../edges/report.ts";
import { filledSurface, sumOf } from "./surface.ts";
import { VaapiContext } from "@samepage/interop/vaapi";

const KERNEL = `
kernel void add(global const uchar *luma, global uint *sum, uint stride, uint width) {
  uint row = 0;
  for (uint x = 0; x < width; x++) row += luma[get_global_id(0) * stride + x];
  atomic_add(sum, row);
}`;

const alive = JSON.stringify(ledger.alive);
const va = openOr(() => VaapiContext.open());
if (va instanceof InteropError) print("device", `none. ${va.message}`);
else await run(va);
const left = JSON.stringify(ledger.alive);
print("left", left === alive ? "nothing: every native object was given back" : left);
if (left !== alive) Deno.exitCode = 1;

async function run(opened: VaapiContext): Promise<void> {
  using va = opened;
  using cl = OpenCLContext.open();
  using graph = new MapperGraph([host, dmabuf, va, cl]);
  print("device", `${va.name}; ${cl.device.name}`);
  using frame = filledSurface(va);
  using pixels = graph.map(frame.surface, host, { access: "read", copy: "allow" });
  using luma = graph.map(pixels.planes[0], cl, { access: "read" });
  using sum = cl.allocate({ shape: [1], dtype: "u32" });
  cl.queue.fill(sum, 0);
  using program = cl.program(KERNEL);
  using add = program.kernel("add");
  const { shape: [height, width], strides: [stride] } = luma.layout;
  add.run({ items: [height] }, [luma, sum, stride, width]);
  const found = new Uint32Array(1);
  cl.queue.read(sum, found);
  for (const step of [...pixels.route.steps, ...luma.route.steps]) print("step", `${step.edge}: ${step.transfer}`);
  const expected = sumOf(frame.pixels.planes[0]);
  print("sum", `${found[0]}, as the CPU has it: ${expected}`);
  if (found[0] !== expected) Deno.exitCode = 1;
  await luma[Symbol.asyncDispose]();
}
