/**
 * Every edge that the suite knows, and routes that the graph makes of several. A new API has a file like `opencl.ts` beside this one, and a line here.
 *
 * @module
 */
import { installTap } from "../faults/tap.ts";
import { cuda } from "./cuda.ts";
import { dlpacks } from "./dlpack.ts";
import { dmabufs } from "./dmabuf.ts";
import { egls } from "./egl.ts";
import { ffmpegs } from "./ffmpeg.ts";
import { gstreamers } from "./gstreamer.ts";
import { levelzeros } from "./levelzero.ts";
import { onnxRuntimes } from "./onnxruntime.ts";
import { opencl } from "./opencl.ts";
import { openclImages } from "./opencl_image.ts";
import { openvinos } from "./openvino.ts";
import { opencv } from "./opencv.ts";
import type { Candidate, Subject } from "./subject.ts";
import { svm } from "./svm.ts";
import { sycls } from "./sycl.ts";
import { synthetic } from "./synthetic.ts";
import { onGpu } from "./vulkan_gpu.ts";
import { vulkanImages } from "./vulkan_image.ts";
import { vaapis } from "./vaapi.ts";
import { vulkans } from "./vulkan.ts";

// Before any library is opened: the suite makes native calls fail.
installTap();

/** Edges by the API that they lead to or from; `expected` is what those from the host have to say of themselves. */
const APIS: { readonly [api: string]: (expected?: Subject["expected"]) => Candidate[] } = {
  synthetic: () => synthetic(),
  opencl,
  image: openclImages,
  svm: () => svm(),
  sycl: () => sycls(),
  opencv: () => opencv(),
  cuda: () => cuda(),
  dmabuf: () => dmabufs(),
  dlpack: () => dlpacks(),
  vulkan: () => [...vulkans(), ...vulkanImages(), ...onGpu()],
  egl: () => egls(),
  vaapi: () => vaapis(),
  ffmpeg: () => ffmpegs(),
  gstreamer: () => gstreamers(),
  levelzero: () => levelzeros(),
  onnxruntime: () => onnxRuntimes(),
  openvino: () => openvinos(),
};

/** The names of the APIs that have edges. */
export const API_NAMES: readonly string[] = Object.keys(APIS);

/** The edges of some APIs, on every device that is there. */
export function edgesOf(apis: readonly string[], expected?: Subject["expected"]): Candidate[] {
  return apis.flatMap((api) => {
    const devices = new Set<string | undefined>();
    return APIS[api](expected).map((candidate) => {
      const { device, openedElsewhere = devices.has(device) } = candidate;
      devices.add(device);
      return { ...candidate, openedElsewhere };
    });
  });
}
