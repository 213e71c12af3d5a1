/**
 * A device at work: for programs that end, terminate or dispose in the middle of it.
 *
 * @module
 */
import { host, type HostTensor, MapperGraph } from "@samepage/interop";
import type { OpenCLContext, OpenCLKernel, OpenCLTensor } from "@samepage/interop/opencl";

/** A context with a map on which a kernel runs for some tens of milliseconds. */
export interface Busy {
  readonly cl: OpenCLContext;
  readonly graph: MapperGraph;
  /** `add(global uchar* x, uchar n)`. */
  readonly add: OpenCLKernel;
  /** 8192 bytes of 7, to which the kernel adds 1. */
  readonly source: HostTensor<"u8">;
  readonly mapped: OpenCLTensor;
}

/** A program may drop all it has of this: no finalizer is to warn of a kernel. */
const kept: OpenCLKernel[] = [];

/** Starts it. `turns` are of the kernel's loop, which llvmpipe cuts short at 65,535: ten thousand take some 50 ms. */
export function busy(cl: OpenCLContext, turns: number = 10_000): Busy {
  const graph = new MapperGraph([host, cl]);
  const program = cl.program(`
kernel void add(global uchar* x, uchar n) { x[get_global_id(0)] += n; }
kernel void slow(global uchar* x, uchar n, uint turns) {
  size_t i = get_global_id(0);
  uint y = x[i] + 1u;
  for (uint t = 0; t < turns; t++) y = y * y + (t ^ 0x9e3779b9u);
  x[i] += n + (uchar)(y == 0x12345678u); // never, but the compiler cannot know
}`);
  const source = host.allocate({ shape: [8192], dtype: "u8" });
  source.view().fill(7);
  const mapped = graph.map(source, cl);
  const [add, slow] = [program.kernel("add"), program.kernel("slow")];
  kept.push(add, slow);
  slow.run({ items: [8192] }, [mapped, 1, turns]);
  cl.queue.flush();
  return { cl, graph, add, source, mapped };
}
