import type { CudaDriver } from "../../ffi/cuda_driver/functions.ts";
import { SYMBOLS as DRIVER } from "../../ffi/cuda_driver/symbols.ts";
import type { CudaRuntime } from "../../ffi/cuda_runtime/functions.ts";
import { SYMBOLS as RUNTIME } from "../../ffi/cuda_runtime/symbols.ts";
import type { Nvrtc } from "../../ffi/nvrtc/functions.ts";
import { SYMBOLS as NVRTC } from "../../ffi/nvrtc/symbols.ts";
import { RTLD_NOW } from "../../ffi/libc/constants.ts";
import { keptLibrary, libc } from "../core/native/libc.ts";
import { lazyLibrary, type Newer, newerOf, openingOf } from "../core/native/library.ts";
import { tooNewForDriver } from "./versions.ts";

/** The toolkit's library folders, for x86-64, for aarch64 servers, and for Tegra. */
const TOOLKITS = [
  "/usr/local/cuda/lib64",
  "/usr/local/cuda/targets/x86_64-linux/lib",
  "/usr/local/cuda/targets/sbsa-linux/lib",
  "/usr/local/cuda/targets/aarch64-linux/lib",
  "/usr/lib/x86_64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu/tegra",
];

/** The candidates for a library: by its name, then in the toolkits' folders; newer versions first. */
function candidates(name: string): string[] {
  const versions = [`${name}.13`, `${name}.12`];
  return [...versions, name, ...TOOLKITS.flatMap((folder) => versions.map((version) => `${folder}/${version}`))];
}

export const cudart: () => CudaRuntime = keptLibrary<CudaRuntime>({
  api: "cudart",
  candidates: candidates("libcudart.so"),
  symbols: RUNTIME,
  hint: "Install CUDA's runtime, version 12 or 13, or name it by SAMEPAGE_LIB_CUDART.",
  unsuited: (functions) => tooNewRuntime(functions as unknown as CudaRuntime),
});

/** The driver API, for functions that the runtime lacks. */
export const cudaDriver: () => CudaDriver = keptLibrary<CudaDriver>({
  api: "cuda",
  candidates: [
    "libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1",
  ],
  symbols: DRIVER,
  hint: "Install NVIDIA's driver: libcuda.so.1 comes with it.",
});

const nvrtcLoader = lazyLibrary<Nvrtc>({
  api: "nvrtc",
  candidates: candidates("libnvrtc.so"),
  symbols: NVRTC,
  hint: "Install NVRTC, which comes with CUDA's toolkit, or load PTX or a cubin that was compiled elsewhere.",
  unsuited: (functions) => tooNewCompiler(functions as unknown as Nvrtc),
});

let compiler: Nvrtc | undefined;

export function nvrtc(): Nvrtc {
  return compiler ??= withBuiltins(nvrtcLoader());
}

/** Why the driver cannot use a runtime: a driver of CUDA 12 runs any runtime 12, but no runtime 13. */
export function tooNewRuntime(
  { cudaRuntimeGetVersion, cudaDriverGetVersion }: Pick<CudaRuntime, "cudaRuntimeGetVersion" | "cudaDriverGetVersion">,
): string | undefined {
  const [own, supported] = [new Int32Array(1), new Int32Array(1)];
  if (cudaRuntimeGetVersion(own) !== 0 || cudaDriverGetVersion(supported) !== 0) return undefined;
  return tooNewForDriver(own[0], supported[0]);
}

/** Why the driver cannot load the compiler's output; undefined if it can. */
function tooNewCompiler({ nvrtcVersion }: Pick<Nvrtc, "nvrtcVersion">): string | undefined {
  const [major, minor, supported] = [new Int32Array(1), new Int32Array(1), new Int32Array(1)];
  if (openingOf("cudart")?.path === undefined || nvrtcVersion(major, minor) !== 0) return undefined; // it compiles without a driver too
  if (cudart().cudaDriverGetVersion(supported) !== 0) return undefined;
  return tooNewForDriver(1000 * major[0] + 10 * minor[0], supported[0]);
}

/** Opens NVRTC's builtins from its own folder first: NVRTC opens them by name, which fails outside the system folders. */
function withBuiltins(opened: Nvrtc): Nvrtc {
  const { path } = openingOf("nvrtc")!;
  const folder = path!.slice(0, path!.lastIndexOf("/") + 1);
  const [major, minor] = [new Int32Array(1), new Int32Array(1)];
  if (folder === "" || opened.nvrtcVersion(major, minor) !== 0) return opened;
  const name = `${folder}libnvrtc-builtins.so.${major[0]}.${minor[0]}\0`;
  libc().dlopen?.(new TextEncoder().encode(name), RTLD_NOW); // if it is missing, NVRTC reports it
  return opened;
}

export function newerRuntime<Name extends Newer<CudaRuntime>>(name: Name): NonNullable<CudaRuntime[Name]> {
  return newerOf(cudart(), name, "This CUDA", { api: "cuda", hint: "Update CUDA's runtime (libcudart)." });
}

export function newerDriver<Name extends Newer<CudaDriver>>(name: Name): NonNullable<CudaDriver[Name]> {
  return newerOf(cudaDriver(), name, "This CUDA", { api: "cuda", hint: "Update NVIDIA's driver." });
}
