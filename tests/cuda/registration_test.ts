import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { cudaErrorHostMemoryAlreadyRegistered } from "../../ffi/cuda_runtime/errors.ts";
import { cudaHostRegisterDefault } from "../../ffi/cuda_runtime/constants.ts";
import { SYMBOLS } from "../../ffi/cuda_runtime/symbols.ts";
import { host, type HostTensor, ledger, MapperGraph } from "../../mod.ts";
import { ArgumentError, NativeCallError, NoRouteError } from "../../src/core/errors.ts";
import { openingOf } from "../../src/core/native/library.ts";
import type { CudaContext, CudaTensor } from "../../src/cuda/mod.ts";
import { assertSame, random } from "../conformance/bytes.ts";
import { gpuTest, unless, withCuda } from "./help.ts";
import { MappedFile } from "./mapped_file.ts";
import { oddMemory } from "./odd_memory.ts";

const SIZE = 3 * 4096;
const BYTES = { shape: [SIZE], dtype: "u8" } as const;
const COPY = { copy: "allow" } as const;

const SOURCE = `
extern "C" __global__ void add(unsigned char* to, const unsigned char* from, unsigned int count) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i] + 1;
}`;

/** Has a kernel put the bytes of one tensor, plus 1, into another. */
function add(cuda: CudaContext, to: CudaTensor, from: CudaTensor): void {
  using program = cuda.program(SOURCE);
  using kernel = program.kernel("add", ["unsigned char*", "const unsigned char*", "unsigned int"]);
  const { byteLength } = from.layout;
  kernel.run({ groups: [Math.ceil(byteLength / 256)], groupSize: [256] }, [to, from, byteLength]);
}

/** What a kernel makes of the bytes of a tensor of the host's that is mapped. */
function assertKernelReads(cuda: CudaContext, mapped: CudaTensor, bytes: Uint8Array): void {
  using to = cuda.allocate({ shape: [bytes.length], dtype: "u8" });
  add(cuda, to, mapped);
  const seen = new Uint8Array(bytes.length);
  cuda.stream.read(to, seen);
  assertSame(seen, bytes.map((byte) => byte + 1), "what a kernel has read");
}

function filled(): { readonly tensor: HostTensor<"u8">; readonly bytes: Uint8Array } {
  const [tensor, bytes] = [host.allocate(BYTES), random(SIZE)];
  tensor.bytes().set(bytes);
  return { tensor, bytes };
}

gpuTest("registration: a map takes the one that there is, whatever its flags", () =>
  withCuda((cuda) => {
    using graph = new MapperGraph([host, cuda]);
    for (
      const options of [{}, { portable: false }, { mapped: false }, { portable: false, mapped: false }]
    ) {
      const { tensor, bytes } = filled();
      using _ = tensor;
      using _kept = cuda.register(tensor, options);
      using mapped = graph.map(tensor, cuda);
      assertKernelReads(cuda, mapped, bytes);
      add(cuda, mapped, mapped);
      mapped[Symbol.dispose]();
      assertSame(tensor.bytes().slice(), bytes.map((byte) => byte + 1), "what a kernel has written");
    }
  }));

gpuTest(
  "registration: what is registered to be only read is read by kernels, and by none written",
  () =>
    withCuda((cuda) => {
      using graph = new MapperGraph([host, cuda]);
      const { tensor, bytes } = filled();
      using _ = tensor;
      if (cuda.device.attributes.hostRegisterReadOnlySupported !== 1) {
        assertThrows(() => cuda.register(tensor, { readOnly: true }), ArgumentError, "hostRegisterReadOnlySupported");
        return;
      }
      using _kept = cuda.register(tensor, { readOnly: true });
      assertThrows(() => graph.map(tensor, cuda), NoRouteError, "cudaHostRegisterReadOnly");
      using mapped = graph.map(tensor, cuda, { access: "read" });
      assertKernelReads(cuda, mapped, bytes);
    }),
);

gpuTest(
  "registration: pages that somebody else has registered are told by CUDA, and nothing stays behind",
  () =>
    withCuda((cuda) => {
      using graph = new MapperGraph([host, cuda]);
      const { tensor, bytes } = filled();
      using _ = tensor;
      graph.map(tensor, cuda)[Symbol.dispose](); // the experiments are over
      const raw = Deno.dlopen(openingOf("cudart")!.path!, SYMBOLS).symbols;
      const before = ledger.alive;
      assertEquals(cuda.within(() => raw.cudaHostRegister(tensor.rawHandle, BigInt(SIZE), cudaHostRegisterDefault)), 0);
      try {
        for (const action of [() => graph.map(tensor, cuda), () => cuda.register(tensor)]) {
          const error = assertThrows(action, NativeCallError);
          assertEquals([error.code, error.fn], [cudaErrorHostMemoryAlreadyRegistered, "cudaHostRegister"]);
          assertEquals(error.codeName, "cudaErrorHostMemoryAlreadyRegistered");
          assertStringIncludes(error.hint!, "Other code may have registered");
          assertEquals(ledger.alive, before);
        }
        assertSame(tensor.bytes().slice(), bytes, "the host's bytes");
      } finally {
        assertEquals(cuda.within(() => raw.cudaHostUnregister(tensor.rawHandle)), 0);
      }
      using mapped = graph.map(tensor, cuda);
      assertKernelReads(cuda, mapped, bytes);
    }),
);

gpuTest(
  "registration: what cannot be registered is copied there and back, where that is allowed",
  () =>
    withCuda((cuda) => {
      using graph = new MapperGraph([host, cuda]);
      using file = new MappedFile(random(4096));
      for (const make of [() => oddMemory(BYTES), () => host.wrap(file.address, { shape: [4096], dtype: "u8" })]) {
        using tensor = make();
        const bytes = random(tensor.layout.byteLength);
        tensor.bytes().set(bytes);
        assertThrows(() => graph.map(tensor, cuda), NoRouteError, "it would copy");
        {
          using mapped = graph.map(tensor, cuda, COPY);
          assertEquals(mapped.route.steps.map(({ transfer }) => transfer), ["copy"]);
          add(cuda, mapped, mapped);
        }
        assertSame(tensor.bytes().slice(), bytes.map((byte) => byte + 1), "what a kernel has written");
        const copied = cuda.bytesCopied;
        {
          using mapped = graph.map(tensor, cuda, { access: "read", ...COPY });
          assertKernelReads(cuda, mapped, bytes.map((byte) => byte + 1));
        }
        assertEquals(cuda.bytesCopied - copied, 2 * bytes.length); // there, and what the kernel has read
      }
    }),
  1,
  unless("pageableMemoryAccess", 0), // else it reaches any memory
);

gpuTest("registration: pinned memory is what it was asked to be, of all eight kinds", () =>
  withCuda((cuda) => {
    const { unifiedAddressing } = cuda.device.attributes;
    const always = unifiedAddressing === 1 ? ["cudaHostAllocPortable", "cudaHostAllocMapped"] : [];
    for (let kind = 0; kind < 8; kind++) {
      const [portable, mapped, writeCombined] = [1, 2, 4].map((bit) => (kind & bit) !== 0);
      using tensor = cuda.pinned.allocate({ ...BYTES, portable, mapped, writeCombined });
      const asked = Object.entries({
        cudaHostAllocPortable: portable,
        cudaHostAllocMapped: mapped,
        cudaHostAllocWriteCombined: writeCombined,
      }).filter(([, flag]) => flag).map(([name]) => name);
      const flags = cuda.pinned.flagsOf(tensor);
      for (const name of asked) assert(flags.includes(name), `${name} of ${asked} is not among ${flags}`);
      for (const name of flags) assert([...asked, ...always].includes(name), `${name} was not asked for: ${asked}`);
    }
  }));
