/** Every native call of CUDA's fails once: what comes of it is typed, nothing stays behind, and no byte is lost. */
import { natives } from "./census.ts"; // first: it taps the libraries
import { assert, assertEquals, assertThrows } from "@std/assert";
import { host, InteropError, MapperGraph } from "../../mod.ts";
import { CudaBuildError, CudaContext, type CudaTensor, cudaVersions } from "../../src/cuda/mod.ts";
import { compile } from "../../src/cuda/kernels/compile.ts";
import { sourceIn } from "../../src/cuda/kernels/source.ts";
import { assertSame, random } from "../conformance/bytes.ts";
import { keepEvents } from "../conformance/cuda_end.ts";
import { exported } from "../cuda/cells/exporter.ts";
import { devices, gpuTest, missing, withCuda } from "../cuda/help.ts";
import { oddMemory } from "../cuda/odd_memory.ts";
import { cudaLibrary } from "../cuda_libraries.ts";
import { type Fault, sweep } from "./sweep.ts";

const SIZE = 8192;
const BYTES = { shape: [SIZE], dtype: "u8" } as const;

const SOURCE = `
template <class T> __global__ void put(T* to, const T* from, unsigned long long count) {
  size_t i = blockIdx.x * (size_t) blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}`;
const NAME = "put<unsigned char>";
const TYPES = ["unsigned char*", "const unsigned char*", "unsigned long long"] as const;

/** More sweeps than it takes until every call had its turn. */
const MOST_SWEEPS = 8;

/** Work that could not be asked about is asked again, and nothing is said of it. */
const ASKED_AGAIN: readonly string[] = ["cudart.cudaEventRecord", "cudart.cudaEventQuery"];

/** Sweeps over an operation; what it made the first time, and keeps, is no leak. The calls that are named were among them. */
async function swept(
  operation: () => unknown,
  calls: readonly string[],
  intact: () => unknown = () => {},
): Promise<readonly Fault[]> {
  await operation();
  const before = natives();
  const faults: Fault[] = [];
  const missing = () => calls.filter((call) => !faults.some((fault) => fault.call === call));
  // Waiting takes some calls more in one run than in another, so that what comes after it may be missed.
  for (let i = 0; i < MOST_SWEEPS && (i === 0 || missing().length > 0); i++) {
    faults.push(
      ...await sweep(operation, async () => {
        await intact();
        assertEquals(natives(), before, "native objects");
      }),
    );
  }
  assertEquals(missing(), [], `not among ${[...new Set(faults.map(({ call }) => call))].join(", ")}`);
  return faults;
}

/** A sweep on a device. The context outlives what fails in it, and is closed well. */
function test(name: string, run: (cuda: CudaContext) => unknown, count = 1): void {
  gpuTest(`faults: ${name}`, () =>
    withCuda(async (cuda) => {
      keepEvents(cuda);
      await run(cuda);
    }), count);
}

function assertNoneSwallowed(faults: readonly Fault[]): void {
  assertEquals(
    faults.filter(({ error, call }) => error === undefined && !ASKED_AGAIN.includes(call)).map(({ call }) => call),
    [],
    "failures that went unsaid",
  );
}

test("opening a device", async () => {
  await swept(
    () => CudaContext.open()[Symbol.dispose](),
    ["cudart.cudaGetDeviceCount", "cuda.cuInit", "cudart.cudaStreamCreateWithPriority", "cudart.cudaStreamDestroy"],
  );
});

/** How each kind of memory is made and given back, and the call that makes it. */
const KINDS: { readonly [kind: string]: readonly [call: string, make: (cuda: CudaContext) => Disposable] } = {
  "device memory": ["cudart.cudaMalloc", (cuda) => cuda.allocate(BYTES)],
  "device memory in rows": [
    "cudart.cudaMallocPitch",
    (cuda) => cuda.allocate({ shape: [48, 61], dtype: "u8", pitch: true }),
  ],
  "pinned memory": ["cudart.cudaHostAlloc", (cuda) => cuda.pinned.allocate(BYTES)],
  "pinned memory without flags": [
    "cudart.cudaMallocHost",
    (cuda) => cuda.pinned.allocate({ ...BYTES, portable: false, mapped: false }),
  ],
  "managed memory": ["cudart.cudaMallocManaged", (cuda) => cuda.managed.allocate(BYTES)],
  "virtual memory of the device": ["cuda.cuMemCreate", (cuda) => cuda.virtual.allocate(BYTES)],
  "a pool of pinned memory": ["cudart.cudaHostAlloc", (cuda) => cuda.pinned.pool({ byteLength: SIZE, count: 3 })],
  "a pool of device memory": ["cudart.cudaMemPoolCreate", (cuda) => cuda.createPool({ releaseThreshold: 1 << 20 })],
  "an array": ["cudart.cudaMalloc3DArray", (cuda) => cuda.array({ width: 64, height: 48, dtype: "f32" })],
  "a stream": ["cudart.cudaStreamCreateWithPriority", (cuda) => cuda.createStream()],
  "a timer": ["cudart.cudaEventCreateWithFlags", (cuda) => cuda.timer()],
};

for (const [kind, [call, make]] of Object.entries(KINDS)) {
  test(`${kind}, made and given back`, async (cuda) => {
    assertNoneSwallowed(await swept(() => make(cuda)[Symbol.dispose](), [call]));
  });
}

test("virtual memory of the host, made and given back", async (cuda) => {
  const make = () => cuda.virtual.allocate({ ...BYTES, location: "host" })[Symbol.dispose]();
  try {
    make();
  } catch (error) {
    if (error instanceof InteropError) return; // the system has none: the memory's own tests say so
    throw error;
  }
  assertNoneSwallowed(await swept(make, ["cuda.cuMemCreate", "cuda.cuMemSetAccess"]));
});

test("memory in the order of a stream", async (cuda) => {
  const pool = cuda.createPool();
  await swept(() => {
    using tensor = cuda.stream.allocate(BYTES);
    cuda.stream.fill(tensor, 1);
    using other = cuda.stream.allocate(BYTES, { pool });
    cuda.stream.fill(other, 2);
  }, [
    "cudart.cudaMallocAsync",
    "cudart.cudaMallocFromPoolAsync",
    "cudart.cudaFreeAsync",
    "cudart.cudaMemset2DAsync",
  ], () => cuda.stream.finish());
  pool[Symbol.dispose]();
});

test("tensors of a pool of pinned memory", async (cuda) => {
  const pool = cuda.pinned.pool({ byteLength: SIZE });
  await swept(
    () => {
      {
        using tensor = pool.take({ shape: [2 * SIZE], dtype: "u8" });
        cuda.stream.fill(tensor, 1);
      }
      pool.trim();
    },
    ["cudart.cudaMemset2DAsync"],
    () => {
      cuda.stream.finish();
      pool.trim();
    },
  );
  pool[Symbol.dispose]();
});

test("an array's textures and surfaces, and copies to and from it", async (cuda) => {
  const init = { width: 64, height: 48, dtype: "f32" } as const;
  using tensor = cuda.allocate({ shape: [48, 64], dtype: "f32" });
  await swept(() => {
    using array = cuda.array(init);
    using _texture = array.texture();
    using _surface = array.surface();
    cuda.stream.copyToArray(tensor, array);
    cuda.stream.copyFromArray(array, tensor);
  }, [
    "cudart.cudaCreateTextureObject",
    "cudart.cudaCreateSurfaceObject",
    "cudart.cudaMemcpy3DAsync",
    "cudart.cudaFreeArray",
  ], () => cuda.stream.finish());
});

/** Where bytes may lie, and what a map of them to the host calls at least. */
const TO_HOST: {
  readonly [kind: string]: readonly [calls: readonly string[], make: (cuda: CudaContext) => CudaTensor];
} = {
  "device memory": [["cudart.cudaMemcpyAsync", "cudart.cudaHostAlloc"], (cuda) => cuda.allocate(BYTES)],
  "pinned memory": [[], (cuda) => cuda.pinned.allocate(BYTES)],
  "managed memory": [[], (cuda) => cuda.managed.allocate(BYTES)],
};

for (const [kind, [calls, make]] of Object.entries(TO_HOST)) {
  test(`${kind}, mapped to the host behind work on it`, async (cuda) => {
    using graph = new MapperGraph([host, cuda]);
    using source = make(cuda);
    const bytes = random(SIZE);
    const there = new Uint8Array(SIZE);
    cuda.stream.write(source, bytes);
    using from = cuda.allocate(BYTES);
    cuda.stream.write(from, bytes);
    const intact = () => {
      source.assertUsable("read-write");
      cuda.stream.read(source, there);
      assertSame(there, bytes, "the source's bytes");
    };
    for (const access of ["read", "write", "read-write"] as const) {
      await swept(
        () => {
          cuda.stream.copy(from, source); // the same bytes again
          using seen = graph.map(source, host, { access, copy: "allow" });
          seen.bytes({ access: "write" === access ? "write" : "read" });
          if (access === "write") seen.bytes({ access: "write" }).set(bytes);
        },
        ["cudart.cudaMemcpyAsync", ...calls],
        intact,
      );
    }
  });
}

test("host memory, mapped for a kernel", async (cuda) => {
  using graph = new MapperGraph([host, cuda]);
  using source = host.allocate(BYTES);
  using to = cuda.allocate(BYTES);
  const bytes = random(SIZE);
  source.view().set(bytes);
  const program = cuda.program(SOURCE, { names: [NAME] });
  const put = program.kernel(NAME, TYPES);
  const intact = () => {
    cuda.stream.finish();
    source.assertUsable("read-write");
    assertSame(source.bytes({ access: "read" }).slice(), bytes, "the source's bytes");
  };
  const calls = ["cudart.cudaHostRegister", "cudart.cudaHostGetDevicePointer", "cudart.cudaHostUnregister"];
  for (const access of ["read", "read-write"] as const) {
    await swept(
      () => {
        using mapped = graph.map(source, cuda, { access });
        put.run({ grid: [SIZE / 256], block: [256] }, [to, mapped, SIZE]);
      },
      [...calls, "cudart.cudaLaunchKernelExC"],
      intact,
    );
  }
  await swept(
    async () => {
      await using mapped = graph.map(source, cuda);
      put.run({ grid: [SIZE / 256], block: [256] }, [to, mapped, SIZE]);
    },
    ["cudart.cudaEventQuery"],
    intact,
  );
  program[Symbol.dispose]();
});

test("host memory that is kept registered", async (cuda) => {
  using graph = new MapperGraph([host, cuda]);
  using source = host.allocate(BYTES);
  const faults = await swept(
    () => {
      using _ = cuda.register(source);
      using _mapped = graph.map(source, cuda);
    },
    ["cudart.cudaHostRegister", "cudart.cudaHostUnregister"],
    () => source.assertUsable("read-write"),
  );
  assertNoneSwallowed(faults);
});

test("host memory that is copied", async (cuda) => {
  using graph = new MapperGraph([host, cuda]);
  using source = oddMemory(BYTES);
  const bytes = random(SIZE);
  source.bytes().set(bytes);
  const faults = await swept(
    () => {
      using _mapped = graph.map(source, cuda, { copy: "allow" });
    },
    ["cudart.cudaMalloc", "cudart.cudaMemcpyAsync", "cudart.cudaFree"],
    () => assertSame(source.bytes().slice(), bytes, "the host's bytes"),
  );
  assertNoneSwallowed(faults);
});

test("a program, its kernel and a launch", async (cuda) => {
  using from = cuda.allocate(BYTES);
  using to = cuda.allocate(BYTES);
  await swept(() => {
    using program = cuda.program(SOURCE, { names: [NAME] });
    using put = program.kernel(NAME, TYPES);
    put.run({ grid: [SIZE / 256], block: [256] }, [to, from, SIZE]);
  }, [
    "nvrtc.nvrtcCompileProgram",
    "cudart.cudaLibraryLoadData",
    "cudart.cudaLibraryGetKernel",
    "cuda.cuKernelGetParamInfo",
    "cudart.cudaFuncGetAttributes",
    "cudart.cudaLaunchKernelExC",
    "cudart.cudaLibraryUnload",
  ], () => cuda.stream.finish());
});

test("streams that wait for each other, and fences", async (cuda) => {
  const much = { shape: [1 << 26], dtype: "u8" } as const; // so that the fill is not over when it is asked about
  using one = cuda.allocate(much);
  using two = cuda.allocate(much);
  await swept(async () => {
    await using stream = cuda.createStream();
    cuda.stream.fill(one, 1);
    stream.copy(one, two);
    using fence = stream.fence();
    cuda.stream.waitFor(fence);
    await fence.wait();
  }, [
    "cudart.cudaStreamWaitEvent",
    "cudart.cudaEventRecord",
    "cudart.cudaEventQuery",
    "cudart.cudaStreamDestroy",
  ], () => cuda.stream.finish());
});

test("bytes to a device and back", async (cuda) => {
  using tensor = cuda.allocate(BYTES);
  const bytes = random(SIZE);
  const back = new Uint8Array(SIZE);
  await swept(
    () => {
      cuda.stream.write(tensor, bytes);
      cuda.stream.read(tensor, back);
    },
    ["cudart.cudaMemcpyAsync"],
    () => cuda.stream.finish(),
  );
  assertSame(back, bytes, "after the last run, without a failure");
});

test("managed memory, prefetched, advised and attached", async (cuda) => {
  if (cuda.device.attributes.concurrentManagedAccess !== 1) return; // refused there, before any call
  using tensor = cuda.managed.allocate(BYTES);
  const faults = await swept(() => {
    cuda.managed.attach(tensor, "global");
    cuda.managed.prefetch(tensor, "device");
    cuda.managed.advise(tensor, "read-mostly");
    cuda.managed.adviceOn(tensor);
    cuda.managed.advise(tensor, "read-mostly", { unset: true });
  }, [
    "cudart.cudaStreamAttachMemAsync",
    "cuda.cuMemPrefetchAsync_v2",
    "cuda.cuMemAdvise_v2",
    "cuda.cuMemRangeGetAttribute",
  ], () => cuda.stream.finish());
  assert(faults.some(({ error }) => error !== undefined));
});

test("a device's memory and its clock", async (cuda) => {
  using tensor = cuda.allocate(BYTES);
  using timer = cuda.timer();
  await swept(
    () => {
      cuda.memory();
      timer.start();
      cuda.stream.fill(tensor, 3);
      timer.stop();
      cuda.stream.finish();
      timer.milliseconds();
    },
    ["cudart.cudaMemGetInfo", "cudart.cudaEventElapsedTime"],
    () => cuda.stream.finish(),
  );
});

test("an fd of virtual memory, and its import", async (cuda) => {
  using memory = cuda.virtual.allocate(BYTES);
  const libc = Deno.dlopen("libc.so.6", { close: { parameters: ["i32"], result: "i32" } }).symbols;
  const openFds = () => [...Deno.readDirSync("/proc/self/fd")].length;
  const once = () => {
    const fd = cuda.virtual.exportFd(memory);
    try {
      cuda.virtual.import(fd, BYTES)[Symbol.dispose]();
    } finally {
      libc.close(fd);
    }
  };
  once();
  const fds = openFds();
  await swept(
    once,
    ["libc.fcntl", "cuda.cuMemImportFromShareableHandle", "cuda.cuMemMap", "cuda.cuMemSetAccess"],
    () => {
      assertEquals(openFds(), fds, "open fds");
    },
  );
});

test("what is given out to other processes", async (cuda) => {
  using memory = cuda.allocate(BYTES);
  await swept(() => {
    cuda.exportMemory(memory);
    cuda.exportEvent()[Symbol.dispose]();
  }, ["cudart.cudaIpcGetMemHandle", "cudart.cudaIpcGetEventHandle", "cudart.cudaEventDestroy"]);
});

test("memory that another process gives out", async (cuda) => {
  const { bytes, end } = await exported(cuda.device.ordinal, [SIZE]);
  try {
    const there = new Uint8Array(SIZE);
    const zeros = new Uint8Array(SIZE);
    await swept(
      () => {
        using opened = cuda.openMemory(bytes);
        cuda.stream.read(opened, there);
      },
      ["cudart.cudaIpcOpenMemHandle", "cuda.cuMemGetAddressRange_v2", "cudart.cudaIpcCloseMemHandle"],
      () => {
        cuda.stream.finish();
        assertSame(there, zeros, "the other process's bytes");
      },
    );
  } finally {
    end();
  }
});

test("memory of another device", async (cuda) => {
  await withCuda(async (other) => {
    keepEvents(other);
    using graph = new MapperGraph([cuda, other]);
    using source = cuda.allocate(BYTES);
    using to = other.allocate(BYTES);
    const bytes = random(SIZE);
    const there = new Uint8Array(SIZE);
    cuda.stream.write(source, bytes);
    await swept(
      () => {
        using mapped = graph.map(source, other, { access: "read", copy: "allow" });
        other.stream.copy(mapped, to);
      },
      ["cudart.cudaMemcpyAsync"],
      () => {
        other.stream.finish();
        cuda.stream.read(source, there);
        assertSame(there, bytes, "the source's bytes");
      },
    );
  }, 1);
}, 2);

// What follows needs no GPU.

/** A test that needs a library of CUDA's, and no device. */
function libraryTest(name: string, library: string, run: () => Promise<unknown>, lacks?: string): void {
  const reason = lacks ?? (cudaLibrary(library) === undefined ? library : undefined);
  const title = `faults: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`;
  Deno.test({ name: title, ignore: reason !== undefined, fn: () => run().then(() => {}) });
}

libraryTest("compiling CUDA C++", "libnvrtc.so.13", async () => {
  const device = { name: "a GPU", computeCapability: { major: 9, minor: 0 } };
  const faults = await swept(() => compile(sourceIn(SOURCE, { names: [NAME] }), device), [
    "nvrtc.nvrtcCreateProgram",
    "nvrtc.nvrtcAddNameExpression",
    "nvrtc.nvrtcCompileProgram",
    "nvrtc.nvrtcGetLoweredName",
    "nvrtc.nvrtcGetCUBIN",
    "nvrtc.nvrtcGetProgramLog",
    "nvrtc.nvrtcDestroyProgram",
  ]);
  assertNoneSwallowed(faults);
});

libraryTest("compiling what does not compile", "libnvrtc.so.13", async () => {
  const device = { name: "a GPU", computeCapability: { major: 9, minor: 0 } };
  await swept(
    () => assertThrows(() => compile(sourceIn("__global__ void k( {}", {}), device), InteropError),
    ["nvrtc.nvrtcCompileProgram", "nvrtc.nvrtcGetProgramLog"],
  );
  assertThrows(() => compile(sourceIn("__global__ void k( {}", {}), device), CudaBuildError);
});

libraryTest(
  "opening a device where there is none",
  "libcudart.so.13",
  () => swept(() => assertThrows(() => CudaContext.open(), InteropError), ["cudart.cudaGetDeviceCount"]),
  devices.length > 0 ? "a machine without a GPU" : undefined,
);

libraryTest("the versions of CUDA", "libcudart.so.13", async () => {
  const faults = await swept(() => cudaVersions(), ["cudart.cudaRuntimeGetVersion", "cudart.cudaDriverGetVersion"]);
  assertNoneSwallowed(faults);
});

Deno.test("faults: why CUDA has no device here is known", () => {
  assert(devices.length > 0 || (missing !== undefined && missing !== ""));
});
