import { existsSync } from "node:fs";
import { fromFileUrl, join } from "@std/path";
import { cudaDevices } from "@samepage/interop/cuda";
import turn from "../../examples/vulkan-opencl-ring/turn.cu" with { type: "text" };
import { compile } from "../../src/cuda/kernels/compile.ts";
import { sourceIn } from "../../src/cuda/kernels/source.ts";
import { gpu } from "./cuda.ts";
import { cudaOptions } from "./cuda_toolkit.ts";
import { device } from "./device.ts";
import type { Topic } from "./figure.ts";
import type { Operation } from "./operation.ts";
import { type Command, Missing } from "./program.ts";
import { type GpuCount, gpusFor } from "./sharing.ts";
import { openLibrary } from "./library.ts";
import { program, type Way } from "./way.ts";

const BENCH = fromFileUrl(new URL("..", import.meta.url));

/** The kernels of the ring. */
const RING = fromFileUrl(new URL("../../examples/vulkan-opencl-ring", import.meta.url));

/** Where the programs are built: git ignores it. */
export const BUILT = fromFileUrl(new URL("../../out/bench/", import.meta.url));

/** The `include` folder of DL Streamer's sources, which no package has: its own mappers are measured where it is set. */
const DLSTREAMER_INCLUDE = Deno.env.get("DLSTREAMER_INCLUDE");

/** What builds the programs of a folder. */
interface Toolchain {
  readonly compiler: string;
  readonly folder: string;
  readonly extension: string;
  readonly options: readonly string[];
  readonly libraries: readonly string[];
  /** The bench that it is for; OpenCL's if left out. */
  readonly topic?: Topic;
}

const C: Toolchain = { compiler: "cc", folder: "c", extension: "c", options: [], libraries: ["-lOpenCL"] };

const CPP: Toolchain = {
  compiler: "g++",
  folder: "cpp",
  extension: "cpp",
  options: ["-std=c++17", "-I/usr/include/opencv4"],
  libraries: ["-lOpenCL", "-lopencv_core", "-lopencv_imgproc"],
};

const CUDA: Toolchain = { compiler: "cc", folder: "c", extension: "c", options: [], libraries: [], topic: "cuda" };

/** By the libraries' own names: a GPU machine has no development packages. Its compiler finds headers by C_INCLUDE_PATH. */
const VULKAN: Toolchain = { ...CUDA, libraries: ["-l:libOpenCL.so.1", "-l:libvulkan.so.1"], topic: "vulkan" };

const VAAPI: Toolchain = { ...C, libraries: ["-lva", "-ldl"] };

/** By the library's own name, with headers that are unpacked and not installed. */
const FFMPEG: Toolchain = {
  ...C,
  options: ["-isystem", fromFileUrl(new URL("../../.ffmpeg/57/include", import.meta.url))],
  libraries: ["-l:libavutil.so.57"],
};

/** The same for GStreamer and GLib. */
const GSTREAMER: Toolchain = {
  ...C,
  options: ["-isystem", fromFileUrl(new URL("../../.gstreamer/include", import.meta.url))],
  libraries: [
    ...["gstreamer-1.0", "gstvideo-1.0", "gstapp-1.0", "gobject-2.0", "glib-2.0"].map((name) => `-l:lib${name}.so.0`),
    "-lOpenCL",
  ],
};

/** It opens the library that it is given: the wheel's has another name than its soname. */
const ONNX_RUNTIME: Toolchain = {
  ...C,
  options: ["-isystem", fromFileUrl(new URL("../../.inference/onnxruntime_include", import.meta.url))],
  libraries: ["-ldl"],
};

/** Where the wheel has its library, by whose own name it is linked, and its headers. */
const OPENVINO_WHEEL = fromFileUrl(new URL("../../.inference/openvino/openvino", import.meta.url));

const OPENVINO: Toolchain = {
  ...C,
  options: ["-isystem", `${OPENVINO_WHEEL}/include`],
  libraries: [`-L${OPENVINO_WHEEL}/libs`, `-Wl,-rpath,${OPENVINO_WHEEL}/libs`, "-l:libopenvino_c.so.2641"],
};

/** It opens the library that it is given: DPCTL, or what stands in for it. */
const SYCL: Toolchain = {
  ...C,
  options: ["-isystem", fromFileUrl(new URL("../../.dpctl/dpctl/include", import.meta.url))],
  libraries: ["-ldl"],
};

/** By the library's own name, with headers that are unpacked and not installed. */
const UCX: Toolchain = {
  ...C,
  options: ["-isystem", fromFileUrl(new URL("../../.ucx/include", import.meta.url))],
  libraries: ["-l:libucp.so.0"],
};

/** The programs, by name. */
const PROGRAMS = {
  allocate: C,
  copy: C,
  cuda_egl_stream: { ...CUDA, libraries: ["-l:libEGL.so.1"] },
  cuda_event: CUDA,
  cuda_frame: CUDA,
  cuda_launch: CUDA,
  cuda_mapped: CUDA,
  cuda_register: CUDA,
  enqueue: C,
  ffmpeg: FFMPEG,
  ffmpeg_clip: {
    ...FFMPEG,
    libraries: [...FFMPEG.libraries, "-l:libavcodec.so.59", "-l:libavformat.so.59", "-lOpenCL"],
  },
  external_ring: VULKAN,
  gstreamer: GSTREAMER,
  map: C,
  onnxruntime: ONNX_RUNTIME,
  openvino: OPENVINO,
  sycl: SYCL,
  ucx: UCX,
  ucx_cuda: { ...UCX, topic: "cuda" },
  wait: C,
  opencv_blur: CPP,
  opencv_call: CPP,
  opencv_wrap: CPP,
  pipeline: {
    ...FFMPEG,
    options: [...FFMPEG.options, ...ONNX_RUNTIME.options],
    libraries: [...FFMPEG.libraries, "-l:libavcodec.so.59", "-l:libavformat.so.59", "-lOpenCL", "-ldl"],
  },
  vaapi: VAAPI,
} as const satisfies Record<string, Toolchain>;

/** An operation of one of the programs, on the device that samepage has chosen. */
export function c(source: keyof typeof PROGRAMS, operation: string, name = "C"): Way {
  return built(source, operation, name);
}

/** An operation of DL Streamer's own mappers. */
export function dlStreamer(operation: string): Way {
  const way = built("dlstreamer", operation, "DL Streamer");
  if (DLSTREAMER_INCLUDE !== undefined) return way;
  const lacks = "DLSTREAMER_INCLUDE does not say where its headers are";
  return { ...way, lacks, open: () => Promise.reject(new Missing(lacks)) };
}

/** An operation of one of CUDA's programs, on the GPU that samepage has chosen, with the kernels that it has compiled. */
export function cudaC(source: `cuda_${string}` & keyof typeof PROGRAMS, operation: string, name = "C"): Way {
  const command = () => {
    const { cuda, cubin } = gpu();
    const kernels = join(BUILT, "kernels.cubin");
    Deno.writeFileSync(kernels, cubin);
    return { path: join(BUILT, source), args: [cuda.device.id.pci, kernels] };
  };
  return compiled(name, source, command, operation);
}

/** An operation of vaapi.c, which is started with these arguments. */
export function vaapiC(args: string[], operation: string, name = "C"): Way {
  return compiled(name, "vaapi", () => ({ path: join(BUILT, "vaapi"), args }), operation);
}

/** An operation of ffmpeg.c. */
export function ffmpegC(operation: string, name = "C"): Way {
  return compiled(name, "ffmpeg", () => ({ path: join(BUILT, "ffmpeg"), args: [] }), operation);
}

/** An operation of onnxruntime.c, which is started with these arguments. */
export function onnxRuntimeC(args: string[], operation: string, name = "C"): Way {
  return compiled(name, "onnxruntime", () => ({ path: join(BUILT, "onnxruntime"), args }), operation);
}

/** An operation of openvino.c on a model. */
export function openvinoC(model: string, operation: string, name = "C"): Way {
  return compiled(name, "openvino", () => ({ path: join(BUILT, "openvino"), args: [model] }), operation);
}

/** An operation of sycl.c, which is started with these arguments. */
export function syclC(args: string[], operation: string, name = "C"): Way {
  return compiled(name, "sycl", () => ({ path: join(BUILT, "sycl"), args }), operation);
}

/** An operation of ucx.c, which forks: it is not called in this process. */
export function ucxC(args: string[], operation: string, name = "C", source: "ucx" | "ucx_cuda" = "ucx"): Way {
  return program(name, () => ({ path: join(BUILT, source), args }), operation);
}

/** How external_ring.c is started on so many GPUs; its kernels were compiled once. */
const rings = new Map<GpuCount, Command>();

/** An operation of external_ring.c, on the GPUs that samepage has chosen, with the kernels of the players. */
export function externalC(count: GpuCount, operation: string, name = "C"): Way {
  return compiled(name, "external_ring", () => {
    let command = rings.get(count);
    if (command === undefined) rings.set(count, command = ringOn(count));
    return command;
  }, operation);
}

function ringOn(count: GpuCount): Command {
  const gpus = gpusFor(count);
  const [first, last] = [gpus[0].uuid, gpus[count - 1].uuid];
  const cubin = join(BUILT, `turn-${count}.cubin`);
  const device = cudaDevices().find(({ id }) => id.uuid === last)!;
  Deno.writeFileSync(cubin, compile(sourceIn(turn, { name: "turn.cu" }), device).code.bytes);
  return { path: join(BUILT, "external_ring"), args: [join(RING, "turn.cl"), cubin, first, last] };
}

function built(source: string, operation: string, name: string): Way {
  const command = () => {
    const { platform, name: deviceName } = device().cl.device;
    return { path: join(BUILT, source), args: [platform, deviceName, join(BENCH, "kernels.cl")] };
  };
  return compiled(name, source, command, operation);
}

/** An operation of a program that is compiled; for `deno bench`, of a library of the same source. */
function compiled(name: string, source: string, command: () => Command, operation: string): Way {
  const toolchain = toolchainOf(source);
  const make = async () => {
    const problem = await buildOnce(source, toolchain);
    if (problem !== undefined) throw new Missing(problem);
    return openLibrary(command(), operation);
  };
  let made: Promise<Operation> | undefined;
  return {
    ...program(name, command, operation),
    lacks: hasProgram(toolchain.compiler) ? undefined : `there is no ${toolchain.compiler}`,
    operation: () => made ??= make(),
  };
}

function toolchainOf(source: string): Toolchain {
  if (source !== "dlstreamer") return PROGRAMS[source as keyof typeof PROGRAMS];
  return { ...CPP, options: [...CPP.options, `-I${DLSTREAMER_INCLUDE}`] };
}

function hasProgram(name: string): boolean {
  return (Deno.env.get("PATH") ?? "").split(":").some((folder) => existsSync(join(folder, name)));
}

/** The libraries that were built in this process, by their sources. */
const libraries = new Map<string, Promise<string | undefined>>();

function buildOnce(source: string, toolchain: Toolchain): Promise<string | undefined> {
  let built = libraries.get(source);
  if (built === undefined) libraries.set(source, built = buildOne(source, toolchain, LIBRARY));
  return built;
}

/** Builds the programs of a topic. Returns why some could not be built. */
export async function build(topic: Topic): Promise<string[]> {
  const jobs: [string, Toolchain][] = Object.entries<Toolchain>(PROGRAMS).filter(([, it]) =>
    (it.topic ?? "opencl") === topic
  );
  if (DLSTREAMER_INCLUDE !== undefined && topic === "opencl") jobs.push(["dlstreamer", toolchainOf("dlstreamer")]);
  const problems = await Promise.all(jobs.map(([name, toolchain]) => buildOne(name, toolchain)));
  return problems.filter((problem) => problem !== undefined);
}

/** What a source is built as. */
interface Form {
  readonly suffix: string;
  readonly options: readonly string[];
}

const PROGRAM: Form = { suffix: "", options: [] };

const LIBRARY: Form = {
  suffix: ".so",
  options: ["-shared", "-fPIC", "-DSAMEPAGE_BENCH_LIBRARY", "-Dmain=bench_open"],
};

/** Builds one; where it cannot, what an earlier build has left is removed, so that it is missing and not old. */
async function buildOne(name: string, toolchain: Toolchain, form = PROGRAM): Promise<string | undefined> {
  const { compiler, folder, extension, options, libraries, topic = "opencl" } = toolchain;
  const [source, to] = [`${folder}/${name}.${extension}`, join(BUILT, `${name}${form.suffix}`)];
  await Deno.mkdir(BUILT, { recursive: true });
  const cudas = topic === "opencl" ? [] : await cudaOptions();
  if (cudas === undefined) return `there are no headers of CUDA's, or no libcudart, for bench/${source}`;
  const args = ["-O2", "-Wall", ...options, ...form.options, "-o", to, join(BENCH, source), ...libraries, ...cudas];
  try {
    const { success, stderr } = await new Deno.Command(compiler, { args }).output();
    if (success) return undefined;
    await Deno.remove(to).catch(() => {}); // there may be none
    return `${compiler} could not build bench/${source}:\n${new TextDecoder().decode(stderr)}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `there is no ${compiler} for bench/${source}`;
    throw error;
  }
}
