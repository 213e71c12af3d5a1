import { host, type HostTensor, MapperGraph } from "@samepage/interop";
import { OpenCLContext, openclDevices, type OpenCLKernel, type OpenCLProgram } from "@samepage/interop/opencl";
import source from "../kernels.cl" with { type: "text" };

/** The frame that is measured: 3840 × 2160 pixels of four bytes. */
export const FRAME = { shape: [2160, 3840, 4], dtype: "u8" } as const;

/** Pixels of the frame. */
export const PIXELS = 3840 * 2160;

/** True where OpenCL has a device. */
export const hasDevice: boolean = deviceThere();

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

/** A frame in host memory whose pages are all there. */
export function makeFrame(): HostTensor<"u8"> {
  const frame = host.allocate(FRAME);
  const bytes = frame.view();
  for (let i = 0; i < bytes.length; i++) bytes[i] = i * 7;
  return frame;
}

function openDevice(): Bench {
  const cl = OpenCLContext.open();
  const program: OpenCLProgram = cl.program(source);
  return { cl, graph: new MapperGraph([host, cl]), kernel: (name) => program.kernel(name) };
}

function deviceThere(): boolean {
  try {
    return openclDevices().length > 0;
  } catch {
    return false; // no loader
  }
}
