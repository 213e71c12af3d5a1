import { host, MapperGraph } from "@samepage/interop";
import { OpenCLContext, openclDevices, type OpenCLKernel, type OpenCLProgram } from "@samepage/interop/opencl";
import source from "../kernels.cl" with { type: "text" };

/** The device, the graph and the kernels of this process: opened by the first who asks, and never closed. */
export interface Bench {
  readonly cl: OpenCLContext;
  readonly graph: MapperGraph;
  /** A kernel of kernels.cl. */
  kernel(name: string): OpenCLKernel;
}

let opened: Bench | undefined;

/** The device that samepage would choose. */
export function device(): Bench {
  return opened ??= openDevice();
}

function openDevice(): Bench {
  const cl = OpenCLContext.open();
  const program: OpenCLProgram = cl.program(source);
  return { cl, graph: new MapperGraph([host, cl]), kernel: (name) => program.kernel(name) };
}

let there: boolean | undefined;

/** True where OpenCL has a device. */
export function hasDevice(): boolean {
  return there ??= deviceThere();
}

function deviceThere(): boolean {
  try {
    return openclDevices().length > 0;
  } catch {
    return false; // no loader
  }
}
