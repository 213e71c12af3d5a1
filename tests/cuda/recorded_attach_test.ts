/** Memory that others have made, and what the driver says of it: ranges of a recording. */
import { assertEquals, assertThrows } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import * as cu from "../../ffi/cuda_driver/constants.ts";
import { CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_INVALID_VALUE } from "../../ffi/cuda_driver/errors.ts";
import { AccessError, ArgumentError, DisposedError, LayoutError, NativeCallError } from "../../src/core/errors.ts";
import { mapBlock, PAGE } from "../../src/core/native/blocks.ts";
import { CudaContext } from "../../src/cuda/mod.ts";
import { recordedTests } from "./recorded.ts";

/** Where the first range begins. */
const START = 0x7000_0000_0000n;

/** Memory that the driver knows. */
interface Range {
  readonly start: bigint;
  readonly byteLength: number;
  readonly type: number;
  readonly ordinal: number;
  readonly hostAddress: bigint;
}

const ranges: Range[] = [];
const freed: bigint[] = [];
let current = 0n;
/** What the next query returns, if it fails. */
let failure = 0;

const recorded = recordedTests({
  cuCtxSetCurrent: (context: bigint) => {
    current = context;
    return 0;
  },
  cuPointerGetAttribute: (out: BigUint64Array, attribute: number, address: bigint) => {
    assertEquals(current, 0x1000n, "the device's context is current");
    if (failure !== 0) return failure;
    const range = ranges.find(({ start, byteLength }) => start <= address && address < start + BigInt(byteLength));
    if (range === undefined) return CUDA_ERROR_INVALID_VALUE;
    const words = new Uint32Array(out.buffer);
    if (attribute === cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE) words[0] = range.type;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) words[0] = range.ordinal;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) out[0] = range.start;
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE) out[0] = BigInt(range.byteLength);
    else if (attribute === cu.CU_POINTER_ATTRIBUTE_HOST_POINTER) out[0] = range.hostAddress;
    else throw new Error(`attribute ${attribute}`);
    return 0;
  },
  cudaFree: (address: bigint) => {
    freed.push(address);
    return 0;
  },
});

/** A test with the ranges that it adds, and one of 4096 bytes of the device. */
function test(name: string, run: (cuda: CudaContext) => void): void {
  recorded(name, () => {
    ranges.length = freed.length = failure = 0;
    known({});
    using cuda = CudaContext.open();
    current = 0n;
    run(cuda);
  });
}

/** The driver knows this memory from now on. */
function known(range: Partial<Range>): void {
  const memory = { start: START, byteLength: 4096, type: cu.CU_MEMORYTYPE_DEVICE, ordinal: 0 };
  ranges.unshift({ ...memory, hostAddress: 0n, ...range });
}

const bytes = (length: number, byteOffset = 0) => ({ shape: [length], dtype: "u8", byteOffset }) as const;

test("attach() takes memory that others made, and calls each owner once", (cuda) => {
  const ended: string[] = [];
  const part = { shape: [16], dtype: "f32" } as const;
  {
    using whole = cuda.attach(START, bytes(4096), { owner: () => void ended.push("whole") });
    {
      using peer = cuda.attach(START + 64n, part, { access: "read", owner: () => void ended.push("peer") });
      assertEquals([peer.handle, peer.grant.start, peer.grant.end, peer.access], [START + 64n, 64, 128, "read"]);
      assertEquals(peer.grant.allocation, whole.grant.allocation);
      using _lent = whole.borrow("read-write");
      assertThrows(() => peer.handle, AccessError);
    }
    assertEquals(ended, []); // "whole" uses its bytes
  }
  assertEquals([ended.sort(), freed], [["peer", "whole"], []]);
});

test("attach() makes an address of our own memory a peer, as long as that is", (cuda) => {
  using own = cuda.allocate(bytes(1000));
  known({ start: own.handle });
  {
    using peer = cuda.attach(own.handle + 8n, bytes(988, 4));
    assertEquals([peer.grant.allocation, peer.grant.start], [own.grant.allocation, 12]);
    assertEquals(peer.handle, own.handle + 8n);
  }
  const error = assertThrows(() => cuda.attach(own.handle + 8n, bytes(989, 4)), LayoutError);
  assertEquals(error.message, "init: it reaches to byte 993; the memory has 992.");
});

test("attach() takes the range up to its last byte, counted with the offset, and no more", (cuda) => {
  let calls = 0;
  const attach = (address: bigint, length: number, byteOffset = 0) =>
    cuda.attach(address, bytes(length, byteOffset), { owner: () => void calls++ })[Symbol.dispose]();
  attach(START, 4096);
  attach(START + 4090n, 2, 4);
  attach(START + 4095n, 1);
  assertEquals(calls, 3);
  for (const [at, length, offset] of [[4090, 2, 5], [4090, 7, 0], [0, 4097, 0], [4095, 1, 1]] as const) {
    const error = assertThrows(() => attach(START + BigInt(at), length, offset), LayoutError, "the memory has");
    assertEquals(error.argument, "init");
  }
  assertEquals(calls, 7);
});

test("attach() asks for the alignment that the elements need", (cuda) => {
  const attach = (address: bigint) =>
    cuda.attach(address, { shape: [1], dtype: "f64", byteOffset: 8 })[Symbol.dispose]();
  attach(START + 8n);
  assertThrows(() => attach(START + 4n), ArgumentError, "0x700000000004 is not a multiple of 8, the size of f64");
});

test("attach() refuses what is not the device's, and calls the owner", (cuda) => {
  let calls = 0;
  const attach = (address: bigint) => cuda.attach(address, bytes(16), { owner: () => void calls++ });
  assertThrows(() => attach(0x10n), ArgumentError, "CUDA does not know 0x10: it is memory of the host, or was freed");
  assertThrows(() => attach(0n), ArgumentError, "got null");
  known({ start: 0x1000_0000n, ordinal: 1 });
  assertThrows(() => attach(0x1000_0000n), ArgumentError, "it is memory of device 1");
  known({ start: 0x2000_0000n, type: cu.CU_MEMORYTYPE_ARRAY });
  assertThrows(() => attach(0x2000_0000n), ArgumentError, "expected memory of CUDA, got memory of type 3");
  failure = CUDA_ERROR_DEINITIALIZED;
  const error = assertThrows(() => attach(START), NativeCallError);
  assertEquals([error.fn, calls], ["cuPointerGetAttribute", 5]);
  failure = 0;
  cuda[Symbol.dispose]();
  assertThrows(() => attach(START), DisposedError);
  assertEquals(calls, 6);
});

test("attach() refuses memory where a tensor is of memory that was freed, or of the host's", (cuda) => {
  const attached = cuda.attach(START, bytes(16));
  known({ byteLength: 2048 });
  assertThrows(() => cuda.attach(START, bytes(16)), ArgumentError, "of memory that others have freed");
  known({ start: START - 1024n, byteLength: 8192 });
  assertThrows(() => cuda.attach(START, bytes(16)), ArgumentError, "of memory that others have freed");
  attached[Symbol.dispose]();
  using again = cuda.attach(START, bytes(16));
  assertEquals(again.grant.start, 1024);
  using memory = host.allocate(bytes(64));
  known({ start: memory.handle, byteLength: 64, type: cu.CU_MEMORYTYPE_HOST, hostAddress: memory.handle });
  assertThrows(() => cuda.attach(memory.handle, bytes(64)), ArgumentError, "it is memory of a tensor of the host");
});

test("attach() closes the device's memory to the CPU", (cuda) => {
  using _tensor = cuda.attach(START, bytes(16));
  assertThrows(() => host.wrap(START, bytes(16)), ArgumentError, "which the CPU cannot reach");
});

test("attach() takes pinned memory of any device, by the address of the device or of the host", (cuda) => {
  const block = mapBlock({ byteLength: PAGE, align: PAGE, sharable: false, guard: false });
  const seen = new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(block.address)!, PAGE));
  known({ byteLength: PAGE, type: cu.CU_MEMORYTYPE_HOST, ordinal: 1, hostAddress: block.address });
  let calls = 0;
  {
    using graph = new MapperGraph([host, cuda]);
    using tensor = cuda.attach(START + 8n, bytes(8, 8), { owner: () => void calls++ });
    using peer = cuda.attach(START + 12n, bytes(8));
    using onHost = host.wrap(block.address + 16n, bytes(4));
    assertEquals([peer, onHost].map(({ grant }) => grant.allocation), Array(2).fill(tensor.grant.allocation));
    assertEquals([tensor.memory, tensor.handle, tensor.hostHandle], ["pinned", START + 8n, block.address + 8n]);
    {
      using mapped = graph.map(tensor, host);
      mapped.bytes().set([1, 2, 3, 4, 5, 6, 7, 8]);
      for (const held of [peer, onHost]) assertThrows(() => held.handle, AccessError);
    }
    {
      using slice = tensor.slice({ shape: [3], dtype: "u8", byteOffset: 10 });
      using mapped = graph.map(slice, host, { access: "read" });
      assertEquals(mapped.bytes(), Uint8Array.of(3, 4, 5));
    }
    assertEquals(onHost.view(), Uint8Array.of(1, 2, 3, 4));
  }
  assertEquals([calls, seen.subarray(14, 26)], [1, Uint8Array.of(0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0)]);
  block.free("unused");
});
