/** Every native call of a map from CUDA or to it fails once: no byte is lost. */
import { assertNoneSwallowed, BYTES, LAUNCH, NAME, SIZE, SOURCE, swept, test, TYPES } from "./cuda.ts"; // first
import { host, MapperGraph } from "../../mod.ts";
import type { CudaContext, CudaTensor } from "../../src/cuda/mod.ts";
import { assertSame, random } from "../conformance/bytes.ts";
import { keepEvents } from "../conformance/cuda_end.ts";
import { withCuda } from "../cuda/help.ts";
import { oddMemory } from "../cuda/odd_memory.ts";

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
        put.run(LAUNCH, [to, mapped, SIZE]);
      },
      [...calls, "cuda.cuLaunchKernelEx"],
      intact,
    );
  }
  await swept(
    async () => {
      await using mapped = graph.map(source, cuda);
      put.run(LAUNCH, [to, mapped, SIZE]);
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
