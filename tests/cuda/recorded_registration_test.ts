import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { host, ledger, MapperGraph } from "../../mod.ts";
import * as constants from "../../ffi/cuda_runtime/constants.ts";
import * as cu from "../../ffi/cuda_driver/constants.ts";
import { CUDA_ERROR_INVALID_VALUE } from "../../ffi/cuda_driver/errors.ts";
import { cudaErrorMemoryAllocation, cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import { mapBlock, type MappedBlock, PAGE } from "../../src/core/native/blocks.ts";
import { ArgumentError, DisposedError, NativeCallError, NoRouteError } from "../../src/core/errors.ts";
import { cudaMemoryClass } from "../../src/cuda/alias/classes.ts";
import { CudaContext, type CudaTensor, type RegisterOptions } from "../../src/cuda/mod.ts";
import { isRegistered } from "../../src/cuda/memory/registered.ts";
import { Frame } from "../../src/core/tensors/frame.ts";
import { imageInfo, planeLayouts } from "../../src/core/layout/frame_info.ts";
import { bytesAt } from "../conformance/bytes.ts";
import { warningsOf } from "../warnings.ts";
import type { Fakes } from "./kernels/recording.ts";
import { recordedTests } from "./recorded.ts";
import { MappedFile } from "./mapped_file.ts";
import { oddMemory } from "./odd_memory.ts";

const INIT = { shape: [1024], dtype: "u8" } as const;
const COPY = { copy: "allow" } as const;

/** A device that registers all there is, with unified addressing; a test may want another. */
const ATTRIBUTES = {
  cudaDevAttrUnifiedAddressing: 1,
  cudaDevAttrCanMapHostMemory: 1,
  cudaDevAttrHostRegisterSupported: 1,
  cudaDevAttrHostRegisterReadOnlySupported: 1,
} as const;

type Attributes = Partial<Record<keyof typeof constants, number>>;

let attributes: Attributes = ATTRIBUTES;
/** What is recorded of each call that matters here. */
const told: string[] = [];
/** How far the device has come: are events reached? */
let idle = true;
/** The next call of this name fails. */
let failing: string | undefined;
/** The device's memory. */
const blocks = new Map<bigint, MappedBlock>();

const NAMES = new Map(
  Object.entries(constants).filter(([name]) => name.startsWith("cudaDevAttr")).map(([n, v]) => [v, n]),
);

function answered(name: string, line: string = name): number {
  told.push(line);
  return failing === name ? cudaErrorMemoryAllocation : 0;
}

/** Memory that other code has locked. */
let locked: { readonly start: bigint; readonly byteLength: bigint } | undefined;
/** How often the driver was asked whether other code has locked memory. */
let asked = 0;

const FAKES: Fakes = {
  cuPointerGetAttribute: (out: BigUint64Array, attribute: number, address: bigint) => {
    if (locked === undefined || address < locked.start || address >= locked.start + locked.byteLength) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (attribute === cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE) [out[0], asked] = [BigInt(cu.CU_MEMORYTYPE_HOST), asked + 1];
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_DEVICE_POINTER) out[0] = address + 0x2000_0000_0000n;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) out[0] = locked.start + 0x2000_0000_0000n;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE) out[0] = locked.byteLength;
    else throw new Error(`attribute ${attribute}`);
    return 0;
  },
  cudaHostGetFlags: (flags: Uint32Array, address: bigint) => {
    flags[0] = constants.cudaHostAllocMapped;
    return answered("cudaHostGetFlags", `flags of ${address}`);
  },
  cudaDeviceGetAttribute: (value: Int32Array, attribute: number) => {
    value[0] = attributes[NAMES.get(attribute) as keyof typeof constants] ?? 0;
    return 0;
  },
  cudaEventQuery: () => idle ? 0 : cudaErrorNotReady,
  cudaEventSynchronize: () => {
    idle = true;
    return 0;
  },
  cudaHostRegister: (_: bigint, bytes: bigint, flags: number) =>
    answered("cudaHostRegister", `register ${bytes} ${flags}`),
  cudaHostUnregister: () => answered("cudaHostUnregister", "unregister"),
  cudaHostAlloc: (out: BigUint64Array, _: bigint, flags: number) => {
    out[0] = 0x5000_0000n;
    return answered("cudaHostAlloc", `cudaHostAlloc ${flags}`);
  },
  cudaMallocHost: (out: BigUint64Array) => {
    out[0] = 0x5000_0000n;
    return answered("cudaMallocHost");
  },
  cudaHostGetDevicePointer: (out: BigUint64Array, address: bigint) => {
    out[0] = address + 0x1000_0000_0000n;
    return answered("cudaHostGetDevicePointer");
  },
  // Memory that is there, so that copies are copies.
  cudaMalloc: (out: BigUint64Array) => {
    const code = answered("cudaMalloc");
    if (code !== 0) return code;
    const block = mapBlock({ byteLength: PAGE, align: PAGE, sharable: false, guard: false });
    blocks.set(out[0] = block.address, block);
    return 0;
  },
  cudaFree: (address: bigint) => {
    blocks.get(address)!.free("unused");
    blocks.delete(address);
    return answered("cudaFree");
  },
  cudaMemcpyAsync: (to: bigint, from: bigint, length: bigint) => {
    const code = answered("cudaMemcpyAsync");
    if (code === 0) bytesAt(to, Number(length)).set(bytesAt(from, Number(length)));
    return code;
  },
  cudaMemset2DAsync: (to: bigint, _: bigint, byte: number, width: bigint, rows: bigint) => {
    bytesAt(to, Number(width * rows)).fill(byte);
    return answered("cudaMemset2DAsync");
  },
} as Record<string, (...args: never[]) => number>;

const over = recordedTests(FAKES);

function recordedTest(
  name: string,
  run: (cuda: CudaContext, graph: MapperGraph) => unknown,
  device: Attributes = {},
): void {
  over(name, async () => {
    attributes = { ...ATTRIBUTES, ...device };
    [idle, failing, locked] = [true, undefined, undefined];
    using cuda = CudaContext.open();
    using graph = new MapperGraph([host, cuda]);
    await proveNothing(cuda);
    told.length = 0;
    await run(cuda, graph);
    [idle, failing] = [true, undefined];
  });
}

/** A device that runs nothing proves nothing: it says so the first time. */
async function proveNothing({ proofs, device }: CudaContext): Promise<void> {
  await warningsOf(() => proofs.tryToProve(cudaMemoryClass("registered", device)));
}

recordedTest("memory is registered with the flags that are asked for", (cuda) => {
  using tensor = host.allocate(INIT);
  const flags = (options?: RegisterOptions) => {
    told.length = 0;
    cuda.register(tensor, options)[Symbol.dispose]();
    assertEquals(told[1], "unregister");
    return Number(told[0].split(" ")[2]);
  };
  const { cudaHostRegisterPortable: portable, cudaHostRegisterMapped: mapped } = constants;
  assertEquals(flags(), portable | mapped);
  assertEquals(flags({ portable: false }), mapped);
  assertEquals(flags({ mapped: false }), portable);
  assertEquals(flags({ portable: false, mapped: false }), constants.cudaHostRegisterDefault);
  assertEquals(flags({ readOnly: true }), portable | mapped | constants.cudaHostRegisterReadOnly);
  assertEquals(flags({ mapped: false, ioMemory: true }), portable | constants.cudaHostRegisterIoMemory);
});

recordedTest("a map takes the registration that there is; its pages stay for as long as either", (cuda, graph) => {
  using tensor = host.allocate(INIT);
  const registration = cuda.register(tensor, { portable: false });
  const mapped = graph.map(tensor, cuda);
  assertEquals(told, ["register 4096 2", "cudaHostGetDevicePointer"]);
  assertThrows(() => cuda.register(tensor), ArgumentError, "with other flags");
  using _same = cuda.register(tensor, { portable: false });
  registration[Symbol.dispose]();
  _same[Symbol.dispose]();
  assert(isRegistered(tensor.grant.allocation));
  assertThrows(() => cuda.register(tensor), ArgumentError, "with other flags");
  mapped[Symbol.dispose]();
  assertEquals(told.at(-1), "unregister");
  using _map = graph.map(tensor, cuda);
  assertEquals(told.at(-2), "register 4096 3");
  assertThrows(() => cuda.register(tensor, { readOnly: true }), ArgumentError, "with other flags");
});

for (const pageable of [0, 1]) {
  recordedTest(
    `what others have locked is used where the driver says it is, pageableMemoryAccess ${pageable}`,
    async (cuda, graph) => {
      await warningsOf(() => cuda.proofs.tryToProve(cudaMemoryClass("pinned", cuda.device)));
      const block = mapBlock({ byteLength: 2 * PAGE, align: PAGE, sharable: false, guard: false });
      const at = block.address + 512n; // in the middle of a page, as small blocks of CUDA's may be
      locked = { start: block.address, byteLength: BigInt(PAGE) };
      [told.length, asked] = [0, 0];
      {
        using tensor = host.wrap(Deno.UnsafePointer.create(at)!, INIT);
        using mapped = graph.map(tensor, cuda, { access: "read" }) as CudaTensor;
        assertEquals([mapped.memory, mapped.address], ["pinned", at + 0x2000_0000_0000n as typeof mapped.address]);
        assertEquals(asked, 2, "the driver is asked to find the route, and to take it");
        using slice = tensor.slice({ shape: [8], dtype: "u8", byteOffset: 64 }, { access: "read" });
        using part = graph.map(slice, cuda, { access: "read" }) as CudaTensor;
        assertEquals(part.address, mapped.address + 64n as typeof part.address);
        assertEquals(told, []);
        assertEquals(cuda.pinned.flagsOf(mapped), ["cudaHostAllocMapped"]);
        assertEquals(told, [`flags of ${at}`]);
      }
      {
        // Not all of it is locked.
        using tensor = host.wrap(Deno.UnsafePointer.create(block.address)!, { shape: [2 * PAGE], dtype: "u8" });
        using mapped = graph.map(tensor, cuda, { access: "read" }) as CudaTensor;
        assertEquals(mapped.memory, pageable === 1 ? "pageable" : "registered");
        using again = graph.map(tensor, cuda, { access: "read" }) as CudaTensor; // our own registration is not another's
        assertEquals(again.memory, mapped.memory);
      }
      block.free("unused");
    },
    { cudaDevAttrPageableMemoryAccess: pageable },
  );
}

recordedTest("what is registered to be only read is mapped for reading, and refused for writing", (cuda, graph) => {
  using tensor = host.allocate(INIT);
  {
    using _registration = cuda.register(tensor, { readOnly: true });
    using _mapped = graph.map(tensor, cuda, { access: "read" });
    _mapped[Symbol.dispose]();
    told.length = 0;
    for (const access of ["write", "read-write"] as const) {
      const error = assertThrows(() => graph.map(tensor, cuda, { access, ...COPY }), NoRouteError);
      assertStringIncludes(error.message, "cudaHostRegisterReadOnly");
      assertStringIncludes(error.hint!, 'access: "read"');
    }
    assertStringIncludes(graph.explain(tensor, cuda).toString(), "cudaHostRegisterReadOnly");
    assertEquals(told, []);
  }
  using _mapped = graph.map(tensor, cuda);
});

recordedTest(
  "what is registered unmapped is refused where addresses are the device's own",
  async (cuda, graph) => {
    using tensor = host.allocate(INIT);
    const registration = cuda.register(tensor, { mapped: false });
    const error = assertThrows(() => graph.map(tensor, cuda), NoRouteError);
    assertStringIncludes(error.message, "without cudaHostRegisterMapped");
    registration[Symbol.dispose]();
    using _kept = cuda.register(tensor, { portable: false });
    using mapped = graph.map(tensor, cuda) as CudaTensor;
    assertEquals(mapped.address, tensor.rawHandle + 0x1000_0000_0000n as typeof mapped.address);
    mapped[Symbol.dispose]();
    using other = CudaContext.open({ ordinal: 1 });
    using elsewhere = new MapperGraph([host, other]);
    await proveNothing(other);
    assertThrows(() => elsewhere.map(tensor, other), NoRouteError, "without cudaHostRegisterPortable");
  },
  { cudaDevAttrUnifiedAddressing: 0 },
);

recordedTest("a device that uses the host's own pointers needs nothing mapped", (cuda, graph) => {
  using tensor = host.allocate(INIT);
  using _kept = cuda.register(tensor, { mapped: false });
  using mapped = graph.map(tensor, cuda) as CudaTensor;
  assertEquals(mapped.address, tensor.rawHandle);
  assert(!told.includes("cudaHostGetDevicePointer"));
}, { cudaDevAttrUnifiedAddressing: 0, cudaDevAttrCanUseHostPointerForRegisteredMem: 1 });

recordedTest("what a device cannot register so is refused before the call", (cuda, graph) => {
  using tensor = host.allocate(INIT);
  const readOnly = assertThrows(() => cuda.register(tensor, { readOnly: true, mapped: false }), ArgumentError);
  assertEquals([readOnly.argument, readOnly.fn], ["readOnly", "cudaHostRegister"]);
  assertStringIncludes(readOnly.message, "hostRegisterReadOnlySupported is 0");
  const mapped = assertThrows(() => cuda.register(tensor), ArgumentError);
  assertEquals([mapped.argument, mapped.hint], ["mapped", "Pass { mapped: false }."]);
  assertEquals(told, []);
  using _kept = cuda.register(tensor, { mapped: false }); // for copies
  assertStringIncludes(graph.explain(tensor, cuda).toString(), "canMapHostMemory is 0");
}, { cudaDevAttrHostRegisterReadOnlySupported: 0, cudaDevAttrCanMapHostMemory: 0 });

recordedTest("a file is never registered, and every way says so", (cuda, graph) => {
  using file = new MappedFile(new Uint8Array(4096).fill(3));
  using tensor = host.wrap(file.address, INIT);
  assertStringIncludes(graph.explain(tensor, cuda).toString(), `its bytes are the file ${file.path}`);
  const error = assertThrows(() => graph.map(tensor, cuda), NoRouteError);
  assertStringIncludes(error.message, `its bytes are the file ${file.path}`);
  assertStringIncludes(error.message, "MAP_PRIVATE");
  assertThrows(() => cuda.register(tensor), ArgumentError, `its bytes are the file ${file.path}`);
  assertEquals(told, []);
  using mapped = graph.map(tensor, cuda, COPY) as CudaTensor;
  assertEquals([mapped.memory, mapped.route.steps[0].transfer], ["device", "copy"]);
  cuda.stream.fill(mapped, 9);
  mapped[Symbol.dispose]();
  assertEquals(Deno.readFileSync(file.path)[1023], 9);
});

recordedTest("what cannot be registered is copied, where that is allowed, and back", (cuda, graph) => {
  using tensor = oddMemory(INIT);
  tensor.bytes().fill(1);
  const error = assertThrows(() => graph.map(tensor, cuda), NoRouteError);
  assertMatch(error.message, /it would copy 2048 bytes .* in the middle of a page.* host\.allocate\(\)/);
  assertStringIncludes(error.hint!, 'copy: "allow"');
  assertEquals(told, []);
  {
    using mapped = graph.map(tensor, cuda, COPY) as CudaTensor;
    const [step] = mapped.route.steps;
    assertEquals([step.edge, step.transfer, step.bytesMoved], ["host→cuda", "copy", 2048]);
    assertStringIncludes(step.evidence!, "in the middle of a page");
    assertEquals([mapped.memory, mapped.hostHandle], ["device", undefined]);
    assertEquals(bytesAt(mapped.address, 1024), new Uint8Array(1024).fill(1));
    cuda.stream.fill(mapped, 7);
    assertEquals(told, ["cudaMalloc", "cudaMemcpyAsync", "cudaMemset2DAsync"]);
  }
  assertEquals(told.slice(3), ["cudaMemcpyAsync", "cudaFree"]);
  assertEquals(tensor.bytes().slice(), new Uint8Array(1024).fill(7));
  assertEquals(cuda.bytesCopied, 2048);
});

recordedTest("a copy goes only the ways that are needed", (cuda, graph) => {
  using tensor = oddMemory({ shape: [1030], dtype: "u8" });
  tensor.bytes().fill(1);
  using part = tensor.slice({ shape: [1024], dtype: "u8", strides: [1], byteOffset: 5, byteLength: 1024 });
  const copies = (access: "read" | "write") => {
    told.length = 0;
    using mapped = graph.map(part, cuda, { access, ...COPY }) as CudaTensor;
    assertEquals(mapped.route.bytesMoved, 1024);
    bytesAt(mapped.address, 1024).fill(2);
    mapped[Symbol.dispose]();
    return told;
  };
  assertEquals(copies("read"), ["cudaMalloc", "cudaMemcpyAsync", "cudaFree"]);
  assertEquals(part.bytes()[0], 1);
  assertEquals(copies("write"), ["cudaMalloc", "cudaMemcpyAsync", "cudaFree"]);
  part[Symbol.dispose]();
  assertEquals([4, 5, 1028, 1029].map((i) => tensor.bytes()[i]), [1, 2, 2, 1]);
});

recordedTest("a copy that is under way is waited for before its memory goes", (cuda, graph) => {
  using tensor = oddMemory(INIT);
  idle = false;
  const mapped = graph.map(tensor, cuda, { access: "read", ...COPY });
  assert(mapped.resource.busy);
  mapped.disposeAfter(cuda.stream.fence());
  assertEquals([mapped.resource.state, told.at(-1)], ["returning", "cudaMemcpyAsync"]);
  idle = true;
  mapped.resource.settle();
  assertEquals([mapped.resource.state, told.at(-1)], ["freed", "cudaFree"]);
});

recordedTest("a copy that fails leaves nothing behind, and the bytes as they are", (cuda, graph) => {
  using tensor = oddMemory(INIT);
  tensor.bytes().fill(1);
  graph.map(tensor, cuda, COPY)[Symbol.dispose](); // the context keeps an event from then on
  const before = ledger.alive;
  for (const name of ["cudaMalloc", "cudaMemcpyAsync"]) {
    failing = name;
    assertThrows(() => graph.map(tensor, cuda, COPY), NativeCallError, name);
    assertEquals(ledger.alive, before, name);
    tensor.assertUsable("read-write");
  }
  failing = undefined;
  const mapped = graph.map(tensor, cuda, COPY);
  failing = "cudaMemcpyAsync";
  assertThrows(() => mapped[Symbol.dispose](), NativeCallError);
  assertEquals(ledger.alive, before);
  assertEquals(tensor.bytes()[0], 1);
});

recordedTest("a device that registers nothing has all host memory copied", (cuda, graph) => {
  using tensor = host.allocate(INIT);
  const error = assertThrows(() => graph.map(tensor, cuda), NoRouteError);
  assertStringIncludes(error.message, "hostRegisterSupported is 0");
  using mapped = graph.map(tensor, cuda, COPY);
  assertEquals(mapped.route.steps.map(({ transfer }) => transfer), ["copy"]);
  assert(!told.some((call) => call.startsWith("register")));
}, { cudaDevAttrHostRegisterSupported: 0 });

recordedTest("a frame is registered where it is one block, and by its planes where it is several", (cuda) => {
  const info = imageInfo({ format: "NV12", width: 64, height: 32 });
  using whole = host.allocateFrame(info);
  cuda.register(whole)[Symbol.dispose]();
  told.length = 0;
  const planes = planeLayouts(info).map((plane) => host.allocate({ ...plane, byteOffset: 0 }));
  using frame = Frame.of(planes, info);
  assertThrows(() => cuda.register(frame), ArgumentError, "several blocks");
  assertEquals(told, []);
  for (const plane of planes) plane[Symbol.dispose]();
});

recordedTest("pinned memory without a flag is cudaMallocHost's", (cuda) => {
  const made = (flags: { portable?: boolean; mapped?: boolean; writeCombined?: boolean }) => {
    told.length = 0;
    using _ = cuda.pinned.allocate({ ...INIT, ...flags });
    return told[0];
  };
  assertEquals(made({}), "cudaHostAlloc 3");
  assertEquals(made({ portable: false, writeCombined: true }), "cudaHostAlloc 6");
  assertEquals(made({ portable: false, mapped: false, writeCombined: true }), "cudaHostAlloc 4");
  assertEquals(made({ portable: false, mapped: false }), "cudaMallocHost");
});

recordedTest("only pinned memory has flags", (cuda) => {
  using device = cuda.allocate(INIT);
  using plain = host.allocate(INIT);
  const pinned = cuda.pinned.allocate(INIT);
  pinned[Symbol.dispose]();
  told.length = 0;
  for (const given of [plain, {}, undefined, device]) {
    const error = assertThrows(() => cuda.pinned.flagsOf(given as never), ArgumentError);
    assertEquals([error.api, error.argument], ["cuda", "tensor"]);
  }
  assertThrows(() => cuda.pinned.flagsOf(pinned), DisposedError);
  assertEquals(told, []);
});
