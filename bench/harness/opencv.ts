import { host, InteropError, MapperGraph } from "@samepage/interop";
import type { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import { device } from "./device.ts";
import { Missing } from "./program.ts";

/** OpenCV of this process, and a graph of it and the device: opened by the first who asks, and never closed. */
export interface OpenCVBench {
  readonly cv: OpenCVContext;
  readonly cl: OpenCLContext;
  readonly graph: MapperGraph;
}

/** True where this process can open OpenCV. */
export const hasOpenCV: boolean = openCVThere();

let opened: OpenCVBench | undefined;

/** OpenCV. @throws {Missing} where it is not on this machine. */
export function opencv(): OpenCVBench {
  return opened ??= openOpenCV();
}

function openOpenCV(): OpenCVBench {
  if (!hasOpenCV) throw new Missing("there is no OpenCV 4.6");
  const { cl } = device();
  const cv = OpenCVContext.open();
  return { cv, cl, graph: new MapperGraph([host, cl, cv]) };
}

function openCVThere(): boolean {
  try {
    OpenCVContext.open()[Symbol.dispose]();
    return true;
  } catch (error) {
    if (error instanceof InteropError) return false;
    throw error;
  }
}
