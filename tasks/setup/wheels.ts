import { announce, capture } from "./capture.ts";

/** Wheels of PyPI's that are unpacked into a folder of this checkout: no Python package is installed. */
export interface Wheels {
  /** Git does not see it. */
  readonly folder: string;
  readonly wheels: readonly { readonly name: string; readonly version: string; readonly why: string }[];
  /** Makes of what was unpacked what a program can use. */
  readonly arrange?: (folder: string) => Promise<void>;
}

/** NVIDIA's own wheels: no toolkit is needed, and no GPU. */
export const CUDA: Wheels = {
  folder: folderOf(".cuda"),
  wheels: [
    { name: "nvidia-cuda-runtime", version: "13.0.96", why: "CUDA's C headers, and libcudart.so.13" },
    { name: "nvidia-cuda-crt", version: "13.0.88", why: "what those headers include" },
    { name: "nvidia-cuda-nvrtc", version: "13.0.88", why: "CUDA's compiler: nvrtc.h and libnvrtc.so.13" },
    { name: "nvidia-cuda-runtime-cu12", version: "12.0.146", why: "the oldest libcudart.so.12, and its headers" },
  ],
};

/** Intel's OpenCL for CPUs, other vendors' too: 276 MB to download, 390 MB on the disk. */
export const INTEL: Wheels = {
  folder: folderOf(".intel"),
  wheels: [
    { name: "intel-opencl-rt", version: "2026.2.0", why: "the OpenCL platform" },
    { name: "intel-cmplr-lib-rt", version: "2026.2.0", why: "libraries without which it is not offered" },
    { name: "tbb", version: "2023.2.0", why: "its threads" },
    { name: "tcmlib", version: "1.6.0", why: "what those use" },
  ],
  arrange: arrangeIntel,
};

/** FFmpeg 8, its libraries whole: 36 MB to download. */
export const FFMPEG_8: Wheels = {
  folder: folderOf(".ffmpeg/av"),
  wheels: [{ name: "av", version: "18.1.0", why: "FFmpeg 8.1: av.libs/libavutil" }],
};

/** ONNX Runtime, whole, and a package whose models the tests run: 43 MB to download. */
export const ONNX_RUNTIME: Wheels = {
  folder: folderOf(".inference/onnxruntime"),
  wheels: [
    { name: "onnxruntime", version: "1.32.0", why: "ONNX Runtime: onnxruntime/capi/libonnxruntime.so" },
    { name: "rapidocr-onnxruntime", version: "1.4.4", why: "a model that finds text in photographs" },
  ],
};

/** OpenVINO, whole, with its C headers: 59 MB to download. */
export const OPENVINO: Wheels = {
  folder: folderOf(".inference/openvino"),
  wheels: [{ name: "openvino", version: "2026.4.1", why: "OpenVINO: openvino/libs/libopenvino_c.so, and its headers" }],
};

/** Apache Arrow, its C++ and its Python: 55 MB to download, 170 MB on the disk. */
export const ARROW: Wheels = {
  folder: folderOf(".arrow"),
  wheels: [{
    name: "pyarrow",
    version: "26.0.1",
    why: "the header that ffi/arrow is generated from; a client in Python",
  }],
};

/** DLPack has no library, and Debian 12's header is of version 0.6: Apache's wheel of another library brings 1.3. */
export const DLPACK: Wheels = {
  folder: folderOf(".dlpack"),
  wheels: [{ name: "apache-tvm-ffi", version: "0.1.15.post2", why: "dlpack.h, which ffi/dlpack is generated from" }],
};

/** SYCL by its C API: the headers that ffi/sycl is generated from, and a library that is of use beside {@link SYCL}: 1 MB. */
export const DPCTL: Wheels = {
  folder: folderOf(".dpctl"),
  wheels: [{ name: "dpctl", version: "0.22.1", why: "dpctl_sycl_interface.h, and libDPCTLSyclInterface.so" }],
};

/** Intel's SYCL, over the OpenCL of {@link INTEL}: 206 MB to download, 800 MB on the disk. */
export const SYCL: Wheels = {
  folder: folderOf(".sycl"),
  wheels: [
    { name: "intel-sycl-rt", version: "2026.2.0", why: "libsycl.so.9" },
    { name: "intel-cmplr-lib-ur", version: "2026.2.0", why: "what it reaches drivers by" },
    { name: "umf", version: "1.2.0", why: "what that allocates by" },
  ],
  arrange: oneFolder,
};

/** What the tests share with Python: for the Python of this machine, whose library they open. */
export const NUMPY: Wheels = {
  folder: folderOf(".python/packages"),
  wheels: [{ name: "numpy", version: "2.4.6", why: "NumPy's arrays, in the tests' own Python" }],
};

/** What the loaders of a process need to find Intel's platform and SYCL beside the others; nothing without `setup intel`. */
export async function intelEnv(): Promise<Readonly<Record<string, string>>> {
  if (!await hasWheels(INTEL)) return {};
  // OpenCV's TBB has the same name: the first that is opened is everybody's, and Intel's platform needs its own.
  const hasSycl = await hasWheels(SYCL) && await hasWheels(DPCTL);
  const folders = [INTEL, ...(hasSycl ? [SYCL] : [])].map(({ folder }) => `${folder}/lib`);
  const libraries = [...folders, Deno.env.get("LD_LIBRARY_PATH")].filter((path) => path !== undefined);
  return {
    OCL_ICD_VENDORS: `${INTEL.folder}/vendors`,
    LD_LIBRARY_PATH: libraries.join(":"),
    ...(hasSycl ? { SAMEPAGE_LIB_SYCL: `${DPCTL.folder}/dpctl/libDPCTLSyclInterface.so` } : {}),
  };
}

/** The variables that name FFmpeg 8 to samepage, by the folder of its libraries, whose names have hashes in them. */
export function ffmpegEnv(folder = `${FFMPEG_8.folder}/av.libs`): Readonly<Record<string, string>> {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
  const variables = [["", "libavutil"], ["_CODEC", "libavcodec"], ["_FORMAT", "libavformat"]] as const;
  return Object.fromEntries(variables.map(([end, library]) => {
    const file = names.find((name) => name.startsWith(`${library}-`));
    if (file === undefined) throw new Error(`${folder} has no ${library}.`);
    return [`SAMEPAGE_LIB_FFMPEG${end}`, `${folder}/${file}`];
  }));
}

/** Whether the wheels of these versions are unpacked. */
export async function hasWheels(of: Wheels): Promise<boolean> {
  return await Deno.readTextFile(stampOf(of)).catch(() => "") === pinned(of).join("\n");
}

/** Whether there is a pip to download them. */
export async function hasPip(): Promise<boolean> {
  return (await capture("python3", ["-m", "pip", "--version"]))?.success === true;
}

/** Downloads the wheels and unpacks them, and returns why it could not. */
export async function unpack(title: string, of: Wheels): Promise<string | undefined> {
  const { folder, wheels, arrange } = of;
  announce(
    `${title}, through pip, into ${folder} (no Python package is installed)`,
    wheels.map(({ why }, i) => ({ name: pinned(of)[i], why })),
  );
  const downloads = await Deno.makeTempDir({ prefix: "samepage-wheels-" });
  try {
    const options = [
      "--no-deps",
      "--only-binary=:all:",
      "--disable-pip-version-check",
      "--retries=8",
      "--timeout=60",
      "--dest",
      downloads,
    ];
    const download = await capture("python3", ["-m", "pip", "download", ...options, ...pinned(of)]);
    if (!download?.success) return `pip download failed:\n${download?.text.trimEnd() ?? "there is no python3"}`;
    await Deno.remove(folder, { recursive: true }).catch(ignoreNotFound); // what another version has left
    for await (const { name } of Deno.readDir(downloads)) {
      const unzip = await capture("python3", ["-m", "zipfile", "-e", `${downloads}/${name}`, folder]);
      if (!unzip?.success) return `${name} could not be unpacked:\n${unzip?.text.trimEnd()}`;
    }
    await arrange?.(folder);
    await Deno.writeTextFile(stampOf(of), pinned(of).join("\n"));
    return undefined;
  } finally {
    await Deno.remove(downloads, { recursive: true });
  }
}

/** The libraries of some wheels in one folder, where they find each other. */
async function oneFolder(folder: string): Promise<void> {
  await Deno.mkdir(`${folder}/lib`);
  for await (const { name: wheel } of Deno.readDir(folder)) {
    if (!wheel.endsWith(".data")) continue;
    const from = `${folder}/${wheel}/data/lib`;
    for await (const { name } of Deno.readDir(from)) {
      // The wheel's own loader would be opened instead of the system's.
      if (!name.startsWith("libOpenCL")) await Deno.rename(`${from}/${name}`, `${folder}/lib/${name}`);
    }
    await Deno.remove(`${folder}/${wheel}`, { recursive: true });
  }
}

/** That, and a folder of all drivers for OpenCL's loader. */
async function arrangeIntel(folder: string): Promise<void> {
  await oneFolder(folder);
  await Deno.mkdir(`${folder}/vendors`);
  for await (const { name } of Deno.readDir(VENDORS)) {
    await Deno.copyFile(`${VENDORS}${name}`, `${folder}/vendors/${name}`);
  }
  await Deno.writeTextFile(`${folder}/vendors/intel.icd`, `${folder}/lib/libintelocl.so\n`);
}

const VENDORS = "/etc/OpenCL/vendors/";

function folderOf(name: string): string {
  return new URL(`../../${name}`, import.meta.url).pathname;
}

/** Written last: which wheels lie there, whole. */
function stampOf({ folder }: Wheels): string {
  return `${folder}/wheels.txt`;
}

function pinned({ wheels }: Wheels): string[] {
  return wheels.map(({ name, version }) => `${name}==${version}`);
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
