import { ArgumentError, type InteropError, LibraryNotFoundError, PermissionError } from "@samepage/interop";
import { CudaContext, cudaDevices, cudaVersions } from "@samepage/interop/cuda";
import { elfHeader, EM_S390 } from "../elf.ts";
import { any, fails, judge, outcome, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const MAY_READ = ["--allow-ffi", "--allow-env"];

/** The library is this file, and why it cannot be opened. */
function instead(path: string, why: RegExp): Row {
  return {
    flags: MAY_READ,
    env: { SAMEPAGE_LIB_CUDART: path },
    run: () => cudaDevices(),
    fails: notFound("cudart", why),
  };
}

function notFound(api: string, why: RegExp): Failure {
  return {
    error: LibraryNotFoundError,
    ...{ api, fn: "dlopen" },
    message: new RegExp(`No ${api} library could be opened; tried `),
    hint: new RegExp(`SAMEPAGE_LIB_${api.toUpperCase()} names it: correct or unset that variable`),
    has: { attempts: why },
  };
}

const RUNTIME = { cudaLibraries: ["libcudart.so.13"] } as const;

/** On a machine without a GPU there is no driver either. */
const NO_GPU = { CUDA_VISIBLE_DEVICES: "" };

/** Says the code of what there is no GPU for. */
function sayCode(what: string, action: () => unknown): void {
  try {
    action();
  } catch (error) {
    judge(what, error);
    const { codeName, hint } = error as InteropError;
    return say(/^cudaError(InsufficientDriver|NoDevice)$/.test(codeName ?? ""), hint !== undefined);
  }
  say("a device");
}

export default table(import.meta, {
  "a runtime that does not exist": instead("/nonexistent/libcudart.so", /cannot open shared object file/),
  "a folder": instead("/tmp", /cannot read file data: Is a directory|it is not a regular file/),
  "an empty file": instead("/dev/null", /file too short|invalid ELF header/),
  "a text": instead(import.meta.filename!, /invalid ELF header/),
  "a library without the symbols": instead("libc.so.6", /undefined symbol: cuda/),
  "a library for another processor": {
    flags: [...MAY_READ, "--allow-read", "--allow-write"],
    run() {
      const path = Deno.makeTempFileSync();
      try {
        Deno.writeFileSync(path, elfHeader(EM_S390));
        Deno.env.set("SAMEPAGE_LIB_CUDART", path);
        CudaContext.open();
      } finally {
        Deno.removeSync(path);
      }
    },
    fails: notFound("cudart", /./),
  },
  "no permission": {
    flags: ["--deny-ffi"],
    run: () => cudaVersions(),
    fails: {
      error: PermissionError,
      api: "cudart",
      message: /Deno does not permit/,
      hint: /--allow-ffi/,
    },
  },
  "no GPU that CUDA shows": {
    ...RUNTIME,
    env: NO_GPU,
    run() {
      sayCode("devices", () => cudaDevices());
      sayCode("open", () => CudaContext.open());
      sayCode("again", () => CudaContext.open({ ordinal: 0 }));
      const { runtime, driver } = cudaVersions();
      say(runtime >= 12_000, driver >= 0);
    },
    says: ["true true", "true true", "true true", "true true"],
  },
  "a runtime of CUDA 12, and no GPU": {
    cudaLibraries: ["libcudart.so.12"],
    flags: MAY_READ,
    env: { ...NO_GPU, SAMEPAGE_LIB_CUDART: "libcudart.so.12" },
    run() {
      sayCode("open", () => CudaContext.open());
      const { runtime } = cudaVersions();
      say(runtime >= 12_000 && runtime < 13_000);
    },
    says: ["true true", "true"],
  },
  "invalid choices, where there is no GPU": {
    ...RUNTIME,
    env: NO_GPU,
    run() {
      for (const options of [5, null, "first"]) fails(`open ${options}`, () => CudaContext.open(any(options)));
      for (const schedule of ["fast", 1, null, "toString"]) {
        say(outcome(() => CudaContext.open({ schedule: any(schedule) })));
      }
      for (const choice of [{ ordinal: 1.5 }, { ordinal: "0" }, { uuid: 1 }, { name: {} }]) {
        say(outcome(() => CudaContext.open(any(choice))));
      }
      for (const options of [{ ordinl: 1 }, { device: 0 }, { flags: 8, schedule: "spin" }]) {
        say(outcome(() => CudaContext.open(any(options))));
      }
    },
    says: [
      ...Array(4).fill("ArgumentError schedule"),
      ...["ordinal", "ordinal", "uuid", "name"].map((option) => `ArgumentError ${option}`),
      ...Array(3).fill("ArgumentError options"),
    ],
  },
  "no driver": {
    gpus: 1,
    flags: MAY_READ,
    env: { SAMEPAGE_LIB_CUDA: "/nonexistent/libcuda.so.1" },
    run: () => CudaContext.open(),
    fails: notFound("cuda", /cannot open shared object file/),
  },
  "no compiler": {
    gpus: 1,
    flags: MAY_READ,
    env: { SAMEPAGE_LIB_NVRTC: "/nonexistent/libnvrtc.so" },
    run() {
      using cuda = CudaContext.open();
      cuda.program("__global__ void k() {}");
    },
    fails: notFound("nvrtc", /cannot open shared object file/),
  },
  "a device that is not there": {
    gpus: 1,
    run() {
      for (const choice of [{ ordinal: 99 }, { ordinal: -1 }, { uuid: "00" }, { name: "no such GPU" }]) {
        fails(JSON.stringify(choice), () => CudaContext.open(choice), ArgumentError);
      }
      CudaContext.open({ ordinal: 1000 });
    },
    fails: { error: ArgumentError, api: "cuda", argument: "device", message: /none fits/, hint: /There is 0: / },
  },
  "another way to wait, too late": {
    gpus: 1,
    run() {
      using _first = CudaContext.open({ schedule: "spin" });
      using _same = CudaContext.open({ schedule: "spin" });
      say(outcome(() => CudaContext.open({ schedule: "blocking" })));
    },
    says: ["ArgumentError schedule"],
  },
});
