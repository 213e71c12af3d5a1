/**
 * CUDA without a GPU, as far as programs and kernels go: a device that runs nothing, and keeps what each launch was given,
 * read by the addresses that were passed. {@linkcode record} has to run before CUDA is opened. The compiler is the real one.
 *
 * @module
 */
import * as constants from "../../../ffi/cuda_runtime/constants.ts";
import { cudaErrorInvalidValue, cudaErrorNotReady, cudaErrorSymbolNotFound } from "../../../ffi/cuda_runtime/errors.ts";
import { CUDA_ERROR_INVALID_VALUE } from "../../../ffi/cuda_driver/errors.ts";
import { SYMBOLS as DRIVER } from "../../../ffi/cuda_driver/symbols.ts";
import { CUlaunchConfig, readCUlaunchConfig } from "../../../ffi/cuda_driver/structs.ts";
import { writeCudaFuncAttributes } from "../../../ffi/cuda_runtime/structs.ts";
import { type LibrarySpec, setTap } from "../../../src/core/native/library.ts";
import { cudaDriver, cudart } from "../../../src/cuda/library.ts";
import { cudaLibrary } from "../../cuda_libraries.ts";
import { compilerMissing } from "./compiler.ts";

/** What a launch was given. */
export interface Launch {
  readonly kernel: string;
  readonly config: CUlaunchConfig;
  /** The bytes of each parameter. */
  readonly values: readonly Uint8Array[];
}

/** A kernel that the device knows. */
export interface FakeKernel {
  /** How many bytes each parameter takes. */
  readonly sizes: readonly number[];
  /** The most threads of a block, for its registers. */
  readonly maxThreads?: number;
  /** Static shared memory. */
  readonly shared?: number;
}

/** Attributes of the device: an H200's. */
const ATTRIBUTES: { readonly [name: string]: number } = {
  cudaDevAttrComputeCapabilityMajor: 9,
  cudaDevAttrComputeCapabilityMinor: 0,
  cudaDevAttrMaxGridDimX: 2 ** 31 - 1,
  cudaDevAttrMaxGridDimY: 65_535,
  cudaDevAttrMaxGridDimZ: 65_535,
  cudaDevAttrMaxBlockDimX: 1024,
  cudaDevAttrMaxBlockDimY: 1024,
  cudaDevAttrMaxBlockDimZ: 64,
  cudaDevAttrMaxThreadsPerBlock: 1024,
  cudaDevAttrMaxSharedMemoryPerBlock: 49_152,
  cudaDevAttrMaxSharedMemoryPerBlockOptin: 232_448,
  cudaDevAttrMaxSurface2DWidth: 131_072,
  cudaDevAttrMaxSurface2DHeight: 65_536,
  cudaDevAttrUnifiedAddressing: 1,
  cudaDevAttrManagedMemory: 1,
  cudaDevAttrConcurrentManagedAccess: 1,
  cudaDevAttrCanMapHostMemory: 1,
  cudaDevAttrHostRegisterSupported: 1,
};

/** The recording device. */
export class Recording {
  /** What was launched, oldest first. */
  readonly launches: Launch[] = [];
  /** The calls that were made, by name, but those that are made all the time. */
  readonly calls: string[] = [];
  /** The code of every library that was loaded. */
  readonly loaded: Uint8Array[] = [];
  /** The code that cuLaunchKernelEx returns. */
  launchCode = 0;
  /** Are events reached? */
  idle = true;
  readonly #kernels: readonly (readonly [name: string, kernel: FakeKernel])[];
  #next = 0x7f00_0000_0000n;
  #current = 0n;

  /** With kernels that every library has. */
  constructor(kernels: { readonly [name: string]: FakeKernel }) {
    this.#kernels = Object.entries(kernels);
  }

  /** The functions that stand for the runtime's. */
  runtime(): Record<string, (...args: never[]) => number> {
    const made = (out: BigUint64Array) => {
      out[0] = this.#next += 0x10_000n;
      return 0;
    };
    const names = new Map(
      Object.entries(constants).map(([name, number]) => [number, name] as const)
        .filter(([, name]) => name.startsWith("cudaDevAttr")),
    );
    const done = () => this.idle ? 0 : cudaErrorNotReady;
    return {
      cudaGetLastError: () => 0,
      cudaGetDeviceCount: (count: Int32Array) => set(count, 2),
      cudaGetDeviceProperties: (properties: Uint8Array, ordinal: number) => {
        new TextEncoder().encodeInto("Recorder\0", properties);
        properties[256] = ordinal + 1;
        return 0;
      },
      cudaDeviceGetPCIBusId: (text: Uint8Array) => {
        new TextEncoder().encodeInto("0000:01:00.0\0", text);
        return 0;
      },
      cudaDeviceGetAttribute: (value: Int32Array, attribute: number) => {
        const known = ATTRIBUTES[names.get(attribute) ?? ""];
        return known === undefined ? set(value, 0) : set(value, known);
      },
      cudaDeviceGetStreamPriorityRange: (least: Int32Array, greatest: Int32Array) => set(least, 0) + set(greatest, -5),
      cudaStreamCreateWithPriority: made,
      cudaStreamDestroy: () => 0,
      cudaStreamWaitEvent: () => 0,
      cudaEventCreateWithFlags: made,
      cudaEventDestroy: () => 0,
      cudaEventRecord: () => 0,
      cudaEventQuery: done,
      cudaEventSynchronize: () => 0,
      cudaStreamSynchronize: () => 0,
      cudaMalloc: made,
      cudaMallocManaged: made,
      cudaHostAlloc: made,
      cudaMallocHost: made,
      cudaHostGetDevicePointer: (out: BigUint64Array, host: bigint) => {
        out[0] = host;
        return 0;
      },
      cudaFree: () => 0,
      cudaFreeHost: () => 0,
      cudaLibraryLoadData: (out: BigUint64Array, code: Uint8Array) => {
        this.loaded.push(code.slice());
        return made(out);
      },
      cudaLibraryUnload: () => 0,
      cudaLibraryGetKernel: (out: BigUint64Array, _library: bigint, name: Uint8Array) => {
        const text = new TextDecoder().decode(name.subarray(0, -1));
        const index = this.#kernels.findIndex(([each]) => each === text);
        if (index < 0) return cudaErrorSymbolNotFound;
        out[0] = BigInt(index + 1);
        return 0;
      },
      cudaLibraryGetKernelCount: (count: Uint32Array) => set(count, 0),
      cudaFuncGetAttributes: (bytes: Uint8Array, handle: bigint) => {
        const { maxThreads = 1024, shared = 0 } = this.#kernel(handle)[1];
        writeCudaFuncAttributes(new DataView(bytes.buffer), 0, {
          ...NO_ATTRIBUTES,
          sharedSizeBytes: BigInt(shared),
          maxThreadsPerBlock: maxThreads,
          maxDynamicSharedSizeBytes: 49_152 - shared,
          numRegs: 32,
        });
        return 0;
      },
      cudaFuncSetAttribute: () => 0,
    } as Record<string, (...args: never[]) => number>;
  }

  /** The functions that stand for the driver's. */
  driver(): Record<string, (...args: never[]) => number> {
    return {
      cuInit: () => 0,
      cuDevicePrimaryCtxRetain: (out: BigUint64Array, ordinal: number) => {
        out[0] = 0x1000n + BigInt(ordinal);
        return 0;
      },
      cuDevicePrimaryCtxRelease_v2: () => 0,
      cuCtxGetCurrent: (out: bigint) => {
        memoryAt(out, 8).setBigUint64(0, this.#current, true);
        return 0;
      },
      cuCtxSetCurrent: (context: bigint) => {
        this.#current = context;
        return 0;
      },
      cuDeviceGetAttribute: (value: Int32Array) => set(value, 0),
      cuPointerGetAttribute: () => CUDA_ERROR_INVALID_VALUE, // all memory is strange to it
      cuLibraryGetModule: () => 0,
      cuKernelGetParamInfo: (handle: bigint, index: bigint, offset: BigUint64Array, size: BigUint64Array) => {
        const { sizes } = this.#kernel(handle)[1];
        if (index >= sizes.length) return cudaErrorInvalidValue;
        offset[0] = 0n;
        size[0] = BigInt(sizes[Number(index)]);
        return 0;
      },
      cuLaunchKernelEx: (config: bigint, handle: bigint, args: bigint) => {
        if (this.launchCode !== 0) return this.launchCode;
        const [kernel, { sizes }] = this.#kernel(handle);
        this.launches.push({
          kernel,
          config: readCUlaunchConfig(memoryAt(config, CUlaunchConfig.size), 0),
          values: sizes.map((size, i) => bytesAt(memoryAt(args, 8 * sizes.length).getBigUint64(8 * i, true), size)),
        });
        return 0;
      },
    } as Record<string, (...args: never[]) => number>;
  }

  #kernel(handle: bigint): readonly [name: string, kernel: FakeKernel] {
    return this.#kernels[Number(handle) - 1];
  }
}

const NO_ATTRIBUTES = {
  sharedSizeBytes: 0n,
  constSizeBytes: 0n,
  localSizeBytes: 0n,
  maxThreadsPerBlock: 0,
  numRegs: 0,
  ptxVersion: 90,
  binaryVersion: 90,
  cacheModeCA: 0,
  maxDynamicSharedSizeBytes: 0,
  preferredShmemCarveout: -1,
};

/** The calls of which there are many, and none says anything. */
const CONSTANT = /^(?:cuCtx|cudaDeviceGetAttribute|cudaEvent)/;

/** Why nothing can be recorded here; undefined where it can. */
export const unrecordable: string | undefined = compilerMissing ??
  (cudaLibrary("libcudart.so.13") === undefined ? "needs libcudart.so.13: deno task setup test" : undefined) ??
  (hasCC() ? undefined : "needs cc");

/** Functions that stand for CUDA's. */
export type Fakes = Readonly<Record<string, (...args: never[]) => number>>;

/**
 * From now on, CUDA is this recording, and `more`, where it has more to say. A library of the driver's that has nothing but
 * its names is made for it.
 */
export function record(kernels: { readonly [name: string]: FakeKernel }, more: Fakes = {}): Recording {
  const recording = new Recording(kernels);
  setTap((api, functions) => {
    if (api === "cudart") return recorded(recording, functions, { ...recording.runtime(), ...more });
    return api === "cuda" ? recorded(recording, functions, { ...recording.driver(), ...more }) : functions;
  });
  const folder = Deno.makeTempDirSync({ prefix: "samepage-cuda-" });
  try {
    Deno.env.set("SAMEPAGE_LIB_CUDART", cudaLibrary("libcudart.so.13")!);
    Deno.env.set("SAMEPAGE_LIB_CUDA", emptyLibrary(folder, DRIVER));
    cudart();
    cudaDriver();
  } finally {
    Deno.removeSync(folder, { recursive: true });
    setTap(undefined);
  }
  return recording;
}

function recorded(
  { calls }: Recording,
  real: Record<string, unknown>,
  fakes: Record<string, (...args: never[]) => number>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.keys(real).map((name) => [name, (...args: never[]) => {
      if (!CONSTANT.test(name)) calls.push(name);
      if (fakes[name] === undefined) throw new Error(`the recording has no ${name}`);
      return fakes[name](...args);
    }]),
  );
}

/** A library in which every function is there, and returns 0. */
function emptyLibrary(folder: string, symbols: LibrarySpec<Deno.ForeignLibraryInterface>["symbols"]): string {
  const [source, path] = [`${folder}/empty.c`, `${folder}/libempty.so`];
  const names = [...Object.keys(symbols), "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"]; // machine code calls these two
  Deno.writeTextFileSync(source, names.map((name) => `long ${name}(void) { return 0; }\n`).join(""));
  const { success, stderr } = new Deno.Command("cc", { args: ["-shared", "-fPIC", "-o", path, source] }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return path;
}

/** Is there a C compiler? */
export function hasCC(): boolean {
  try {
    return new Deno.Command("cc", { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

function bytesAt(address: bigint, length: number): Uint8Array {
  return new Uint8Array(memoryAt(address, length).buffer).slice();
}

function memoryAt(address: bigint, length: number): DataView<ArrayBuffer> {
  return new DataView(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, length));
}

function set(out: Int32Array | Uint32Array, value: number): 0 {
  out[0] = value;
  return 0;
}
