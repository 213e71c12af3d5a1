/**
 * A product of matrices in unified memory, with the hints of CUDA for Tegra's listing (§3.3): p and q begin with the CPU
 * and go to the GPU, r begins with the GPU and comes back (cudaStreamAttachMemAsync). Once with every stream, as the
 * listing has it, and once with a stream of its own. The result is the CPU's.
 *
 * Run it as `deno run -A examples/cuda-matrix-mul/main.ts [hp wp wq]`.
 *
 * @module
 */
import { host, MapperGraph } from "@samepage/interop";
import { prefetchOf } from "@samepage/interop/advisor";
import type { CudaContext, CudaStream, CudaTensor, ManagedAttachment } from "@samepage/interop/cuda";
import { onGpu, says } from "../cuda-edges/gpu.ts";
import { print } from "../edges/report.ts";
import source from "./kernels.cu" with { type: "text" };
import { multiply, randFill } from "./matrices.ts";

/** Threads of a block in x and in y. */
const TILE = 16;

/** The flags by CUDA's names. */
const FLAGS = {
  global: "cudaMemAttachGlobal",
  host: "cudaMemAttachHost",
  single: "cudaMemAttachSingle",
} as const satisfies Record<ManagedAttachment, string>;

const [hp = 193, wp = 130, wq = 257] = Deno.args.map(Number);
const hq = wp;
print("matrices", `p ${hp} × ${wp}, q ${hq} × ${wq}, r ${hp} × ${wq}, ints`);

await onGpu((cuda) => {
  if (cuda.device.attributes.managedMemory !== 1) return print("managed", "the device has no unified memory");
  product(cuda, "global", cuda.stream);
  using own = cuda.createStream();
  product(cuda, "single", own);
});

/** MatrixMul() of the listing, on a stream. */
function product(cuda: CudaContext, toGpu: "global" | "single", stream: CudaStream): void {
  const { managed } = cuda;
  using graph = new MapperGraph([host, cuda]);
  using program = cuda.program(source, { defines: { TILE } });
  const kernel = program.kernel("matrixMul", ["const int*", "const int*", "int*", "int", "int", "int", "int"]);
  // p and q are attached to the CPU, and r to the GPU.
  using p = managed.allocate({ shape: [hp, wp], dtype: "i32", attach: "host" });
  using q = managed.allocate({ shape: [hq, wq], dtype: "i32", attach: "host" });
  using r = managed.allocate({ shape: [hp, wq], dtype: "i32" });
  const expected = initialized(graph, p, q);

  // p and q are needed on the GPU.
  managed.attach(p, toGpu, stream);
  managed.attach(q, toGpu, stream);
  if (toGpu !== "global") managed.attach(r, toGpu, stream);
  const grid = [Math.ceil(wq / TILE), Math.ceil(hp / TILE)];
  kernel.run({ groups: grid, groupSize: [TILE, TILE] }, [p, q, r, hp, hq, wp, wq], { stream });
  // Only r is needed on the CPU.
  managed.attach(r, "host", stream);
  stream.finish();

  print(toGpu, `p, q: ${hint("host", toGpu)}`);
  if (toGpu !== "global") print("", `r: ${hint("global", toGpu)}`);
  print("", `r: ${hint(toGpu, "host")}`);
  using result = graph.map(r, host, { access: "read" });
  print("", String(result.route));
  const equal = result.view({ dtype: "i32" }).every((value, i) => value === expected[i]);
  print("", says(equal, `equal to the CPU's product, ${hp * wq} values`, "other values than the CPU's"));
}

/** Fills p and q on the CPU, and returns what their product has to be. */
function initialized(graph: MapperGraph, p: CudaTensor, q: CudaTensor): Int32Array {
  using pOnCpu = graph.map(p, host);
  using qOnCpu = graph.map(q, host);
  const [left, right] = [pOnCpu.view({ dtype: "i32" }), qOnCpu.view({ dtype: "i32" })];
  randFill(left);
  randFill(right);
  return multiply(left, right, { hp, wp, wq });
}

/** What a change of attachment does on systems that move memory by it, and which row of the advisor's says so. */
function hint(before: ManagedAttachment, after: ManagedAttachment): string {
  const { to, row } = prefetchOf(FLAGS[before], FLAGS[after]);
  const effect = to === "none" ? "no prefetch" : `a prefetch to the ${to.toUpperCase()}`;
  return `${before} → ${after}, ${effect} (${row})`;
}
