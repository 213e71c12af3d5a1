/**
 * Who else finds edges by the same arithmetic: the demo's OpenCL kernels, and OpenCV.
 *
 * @module
 */
import { host, InteropError, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext, type OpenCVTensor } from "@samepage/interop/opencv";
import { ByMapping } from "../edges/by_mapping.ts";
import { HIGH, LOW } from "../edges/host.ts";
import { EdgeKernels } from "../edges/opencl.ts";
import { openOr } from "./open.ts";
import type { Picture } from "./picture.ts";

/** Edges, and who has found them. */
export interface Found {
  /** Who. */
  readonly who: string;
  /** One byte a pixel, row by row. */
  readonly edges: Uint8Array;
}

/** By OpenCL's first device; where there is none, why. */
export function byOpenCL({ rgba, width, height }: Picture): Found | InteropError {
  const opened = openOr(() => OpenCLContext.open());
  if (opened instanceof InteropError) return opened;
  using cl = opened;
  using pixels = host.wrap(rgba, { shape: [height, width, 4], dtype: "u8" });
  using kernels = new EdgeKernels(cl);
  using mapped = new ByMapping(cl, kernels, pixels);
  mapped.run(() => {});
  return { who: cl.name, edges: mapped.edges.view().slice() };
}

/** By OpenCV on the CPU; where there is none, why. */
export function byOpenCV({ grey, width, height }: Picture): Found | InteropError {
  const opened = openOr(() => OpenCVContext.open());
  if (opened instanceof InteropError) return opened;
  using cv = opened;
  using graph = new MapperGraph([host, cv]);
  using image = cv.mat.create({ shape: [height, width], dtype: "u8" });
  using edges = cv.mat.create({ shape: [height, width], dtype: "u8" });
  {
    using pixels = graph.map(image, host);
    pixels.bytes().set(grey);
  }
  findEdges(cv, image, edges);
  using seen = graph.map(edges, host, { access: "read" });
  return { who: cv.name, edges: seen.bytes().slice() };
}

/** Gaussian blur and Canny, of the picture that is in `edges` in the end. */
export function findEdges(cv: OpenCVContext, image: OpenCVTensor, edges: OpenCVTensor): void {
  cv.GaussianBlur(image, edges, [5, 5], { sigmaX: 1.2, sigmaY: 1.2, border: "replicate" });
  cv.Canny(edges, edges, LOW, HIGH);
}
