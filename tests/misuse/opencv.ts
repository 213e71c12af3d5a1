/**
 * OpenCV beside the device of a row, for the programs of the rows.
 *
 * @module
 */
import { host, type HostTensor, MapperGraph } from "@samepage/interop";
import type { OpenCLContext, OpenCLKernel } from "@samepage/interop/opencl";
import { OpenCVContext, type OpenCVTensor, ReallocatedError } from "@samepage/interop/opencv";
import { open } from "./kit.ts";

/** OpenCV, a device, and the graph over both. Its end is theirs, in the order that a program would choose. */
export interface Vision extends Disposable {
  readonly cv: OpenCVContext;
  readonly cl: OpenCLContext;
  readonly graph: MapperGraph;
}

/** Opens all of it. */
export function vision(): Vision {
  const cl = open();
  const cv = OpenCVContext.open();
  const graph = new MapperGraph([host, cl, cv]);
  return {
    ...{ cv, cl, graph },
    [Symbol.dispose]() {
      graph[Symbol.dispose]();
      cv[Symbol.dispose]();
      cl[Symbol.dispose]();
    },
  };
}

/** OpenCV alone, and a graph over it and the host. */
export interface Eye extends Disposable {
  readonly cv: OpenCVContext;
  readonly graph: MapperGraph;
}

/** Opens it. */
export function eye(): Eye {
  const cv = OpenCVContext.open();
  const graph = new MapperGraph([host, cv]);
  return {
    ...{ cv, graph },
    [Symbol.dispose]() {
      graph[Symbol.dispose]();
      cv[Symbol.dispose]();
    },
  };
}

/** Grey pixels of 7 in host memory. */
export function photo(rows = 64, columns = 64): HostTensor<"u8"> {
  const tensor = host.allocate({ shape: [rows, columns], dtype: "u8" });
  tensor.view().fill(7);
  return tensor;
}

/** A kernel that adds 1 to every byte. */
export function adder(cl: OpenCLContext): OpenCLKernel {
  return cl.program("kernel void add(global uchar* x) { x[get_global_id(0)] += 1; }").kernel("add");
}

/** Has OpenCV do something with an image, in place. */
export function work(cv: OpenCVContext, image: OpenCVTensor): void {
  cv.GaussianBlur(image, image, [3, 3]);
}

/** A Mat or a UMat over a tensor. */
export function mapTo({ cv, graph }: Vision, tensor: HostTensor, to: "mat" | "umat"): OpenCVTensor {
  return to === "mat" ? graph.map(tensor, cv.mat) : graph.map(tensor, cv.umat);
}

/** A run of a program on a Mat, and on a UMat. */
export function onBoth(v: Vision, use: (map: (tensor: HostTensor) => OpenCVTensor, kind: string) => unknown): void {
  for (const to of ["mat", "umat"] as const) use((tensor) => mapTo(v, tensor, to), to);
}

/** Runs what ends in a ReallocatedError; returns what OpenCV has made. */
export function resultOf(end: () => void): OpenCVTensor {
  try {
    end();
  } catch (error) {
    if (error instanceof ReallocatedError && error.result !== undefined) return error.result;
    throw error;
  }
  throw new Error("OpenCV has reallocated nothing");
}

/** A Mat or UMat in memory of OpenCV's own. */
export function made(cv: OpenCVContext, map: (tensor: HostTensor) => OpenCVTensor, rows = 64): OpenCVTensor {
  using large = photo(rows, rows);
  using small = photo(4, 4);
  const output = map(small);
  using input = map(large);
  cv.GaussianBlur(input, output, [3, 3], { reallocate: true });
  return resultOf(() => output[Symbol.dispose]());
}
