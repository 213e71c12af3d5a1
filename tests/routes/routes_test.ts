/** The routes of this machine's drivers: one that changes is seen here first. */
import { MapperGraph } from "../../mod.ts";
import { EglContext } from "../../src/egl/mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import { GStreamerContext } from "../../src/gstreamer/mod.ts";
import type { OpenCLContext } from "../../src/opencl/mod.ts";
import { OpenCVContext } from "../../src/opencv/mod.ts";
import { VaapiContext } from "../../src/vaapi/mod.ts";
import { VulkanContext } from "../../src/vulkan/mod.ts";
import { missing as missingEgl } from "../egl/help.ts";
import { buildFrames } from "../ffmpeg/frames.ts";
import { lacking as lackingGStreamer } from "../gstreamer/lacking.ts";
import { LIBRARY as ONNX_RUNTIME, openOnnxRuntime } from "../onnxruntime/open.ts";
import { LIBRARY as OPENVINO, openOpenVINO } from "../openvino/open.ts";
import { HERE, open, type Platform } from "../opencl/help.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
import { buildDriver, NODE, useDriver } from "../vaapi/driver.ts";
import { missing as missingVulkan } from "../vulkan/help.ts";
import {
  assertRoutes,
  bytesOf,
  eglNodes,
  ffmpegNodes,
  gstreamerNodes,
  HEIGHT,
  hostNode,
  type Node,
  openclNodes,
  openclObjects,
  routesOf,
  vaapiNodes,
  vulkanNodes,
  WIDTH,
} from "./routes.ts";

const noDriver = await buildDriver();
if (noDriver === undefined) useDriver();

const OPENCV = hasOpenCV ? undefined : "OpenCV";
const VULKAN = missingVulkan();
const EGL = missingEgl();
const FFMPEG = await buildFrames();
const GSTREAMER = lackingGStreamer();
const without = (platform: Platform) => HERE.includes(platform) ? undefined : platform;

/** A set of contexts, whose routes are in one file; where one of them is missing, the test says so. */
function routesTest(name: string, lacks: readonly (string | undefined)[], opened: (made: DisposableStack) => Node[]) {
  const missing = lacks.find((one) => one !== undefined);
  Deno.test({
    name: `explain() finds the routes of ${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      using made = new DisposableStack();
      await assertRoutes(name, await routesOf(opened(made)));
    },
  });
}

/** Mats; and UMats, which are always maps of buffers. */
function opencvNodes(made: DisposableStack, cl?: OpenCLContext): Node[] {
  const cv = made.use(OpenCVContext.open());
  const mats: Node["sources"] = { "u8 of OpenCV's": () => cv.mat.create({ shape: [HEIGHT, WIDTH], dtype: "u8" }) };
  const sources: Node["sources"] = cl === undefined ? {} : umatsOf(cl, cv, made.use(new MapperGraph([cl, cv])));
  return [{ name: "opencv.mat", target: cv.mat, sources: mats }, { name: "opencv.umat", target: cv.umat, sources }];
}

function umatsOf(cl: OpenCLContext, cv: OpenCVContext, graph: MapperGraph): Node["sources"] {
  return { "u8": () => graph.map(cl.allocate({ shape: [HEIGHT, WIDTH], dtype: "u8" }), cv.umat) };
}

routesTest("host_and_opencv", [OPENCV], (made) => [hostNode(), ...opencvNodes(made)]);

routesTest("graphics", [VULKAN, EGL, noDriver], (made) => {
  const [vulkan, other] = [0, 1].map(() => made.use(VulkanContext.open()));
  const va = made.use(VaapiContext.open({ node: NODE }));
  return [
    hostNode(),
    ...vulkanNodes("vulkan", vulkan),
    ...vulkanNodes("another vulkan", other),
    ...eglNodes(made.use(EglContext.open())),
    ...vaapiNodes(va),
  ];
});

routesTest("ffmpeg", [FFMPEG, OPENCV, without("pocl")], (made) => {
  const cl = made.use(open("pocl"));
  return [
    hostNode(),
    ...ffmpegNodes(made.use(FFmpegContext.open())),
    ...openclNodes("opencl", cl),
    ...opencvNodes(made, cl),
  ];
});

routesTest("gstreamer", [GSTREAMER, OPENCV, without("pocl")], (made) => {
  const cl = made.use(open("pocl"));
  return [
    hostNode(),
    ...gstreamerNodes(made.use(GStreamerContext.openSync())),
    ...openclNodes("opencl", cl),
    ...opencvNodes(made, cl),
  ];
});

routesTest(
  "onnxruntime",
  [ONNX_RUNTIME === undefined ? "ONNX Runtime" : undefined, OPENCV, without("pocl")],
  (made) => {
    const cl = made.use(open("pocl"));
    const ort = made.use(openOnnxRuntime());
    return [
      hostNode(),
      bytesOf("ortvalue", ort, (init) => ort.allocate(init)),
      ...openclObjects("opencl", cl),
      ...opencvNodes(made, cl),
    ];
  },
);

routesTest("openvino", [OPENVINO === undefined ? "OpenVINO" : undefined, noDriver, without("pocl")], (made) => {
  const cl = made.use(open("pocl"));
  const ov = made.use(openOpenVINO());
  const va = made.use(VaapiContext.open({ node: NODE }));
  return [
    hostNode(),
    bytesOf("openvino", ov, (init) => ov.allocate(init)),
    ...openclObjects("opencl", cl),
    ...vaapiNodes(va),
  ];
});

for (const platform of ["pocl", "rusticl", "intel"]) {
  routesTest(platform, [without(platform), OPENCV, VULKAN, EGL], (made) => {
    const [cl, other]: OpenCLContext[] = [0, 1].map(() => made.use(open(platform)));
    const vulkan = made.use(VulkanContext.open());
    return [
      hostNode(),
      ...openclNodes("opencl", cl),
      bytesOf("another opencl", other, (init) => other.allocate(init)),
      ...opencvNodes(made, cl),
      ...vulkanNodes("vulkan", vulkan),
      ...eglNodes(made.use(EglContext.open())),
    ];
  });
}
