/** Streams and memory that other code has made: by libcudart itself, which this opens once more. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, DisposedError, host, LayoutError } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { openingOf } from "../../src/core/native/library.ts";
import { assertSame } from "../conformance/bytes.ts";
import { Held } from "./held.ts";
import { OwnersMemory } from "./owners_memory.ts";
import { gpuTest, withCuda } from "./help.ts";

const SIZE = 4096;
const BYTES = { shape: [SIZE], dtype: "u8" } as const;

const SYMBOLS = {
  cudaStreamCreateWithFlags: { parameters: ["buffer", "u32"], result: "u32" },
  cudaStreamQuery: { parameters: ["u64"], result: "u32" },
  cudaStreamSynchronize: { parameters: ["u64"], result: "u32" },
  cudaStreamDestroy: { parameters: ["u64"], result: "u32" },
} as const;

/** The code of a stream that is at work. */
const NOT_READY = 600;

/** A stream of a context's device, and libcudart's own functions for it. */
class OwnersStream implements Disposable {
  readonly #library: Deno.DynamicLibrary<typeof SYMBOLS>;
  readonly handle: bigint;

  constructor(cuda: CudaContext) {
    this.#library = Deno.dlopen(openingOf("cudart")!.path!, SYMBOLS);
    const out = new BigUint64Array(1);
    const nonBlocking = 1;
    cuda.within(() => assertEquals(this.#library.symbols.cudaStreamCreateWithFlags(out, nonBlocking), 0));
    this.handle = out[0];
  }

  get busy(): boolean {
    const code = this.#library.symbols.cudaStreamQuery(this.handle);
    assert(code === 0 || code === NOT_READY, String(code));
    return code === NOT_READY;
  }

  finish(): void {
    assertEquals(this.#library.symbols.cudaStreamSynchronize(this.handle), 0);
  }

  [Symbol.dispose](): void {
    assertEquals(this.#library.symbols.cudaStreamDestroy(this.handle), 0);
    this.#library.close();
  }
}

gpuTest("a stream of ours that ends takes along who attached to it", () =>
  withCuda((cuda) => {
    using tensor = cuda.allocate(BYTES);
    for (let i = 0; i < 20; i++) {
      const stream = cuda.createStream();
      const attached = cuda.attachStream(stream.handle);
      attached.fill(tensor, i);
      stream[Symbol.dispose]();
      assertThrows(() => attached.finish(), DisposedError);
    }
    const seen = new Uint8Array(SIZE);
    cuda.stream.read(tensor, seen);
    assertEquals(new Set(seen), new Set([19]));
  }));

gpuTest("work on a stream of other code's is ordered, and its owner keeps it", () =>
  withCuda((cuda) => {
    using owners = new OwnersStream(cuda);
    using held = new Held(cuda);
    using input = cuda.allocate(BYTES);
    using output = cuda.allocate(BYTES);
    {
      using stream = cuda.attachStream(owners.handle);
      using peer = cuda.attachStream(owners.handle); // there may be several: they are one stream
      assertEquals([stream.handle, peer.handle], [owners.handle, owners.handle]);
      held.start(input); // on the context's own stream
      held.add(output, input, stream); // behind it, though the program did not say so
      const fence = peer.fence();
      assert(owners.busy && !fence.reached());
      held.open();
      fence.waitSync();
      assert(!owners.busy);
      const seen = new Uint8Array(SIZE);
      stream.read(output, seen);
      assertSame(seen, new Uint8Array(SIZE).fill(8), "what the stream made of the other one's bytes");
    }
    owners.finish(); // it is still there
    using again = cuda.attachStream(owners.handle);
    again.fill(output, 5);
    again.finish();
    assert(!owners.busy);
  }));

gpuTest("a stream of another device is not attached to: both are named", async () => {
  await withCuda(async (first) => {
    await using second = CudaContext.open({ ordinal: 1 });
    for (const [cuda, other] of [[first, second], [second, first]]) {
      using owners = new OwnersStream(other);
      const error = assertThrows(
        () => cuda.attachStream(owners.handle),
        ArgumentError,
        `device ${other.device.ordinal} (`,
      );
      assert(error.message.includes(`device ${cuda.device.ordinal} (`), error.message);
      assertEquals(error.argument, "handle");
      using stream = other.attachStream(owners.handle);
      using tensor = other.allocate(BYTES);
      stream.fill(tensor, 1);
      stream.finish();
    }
  });
}, 2);

gpuTest("a device's context maps memory of the host, whatever the flags say", () =>
  withCuda((cuda) => {
    const mapHost = cuda.device.attributes.canMapHostMemory === 1;
    using same = CudaContext.open({ mapHost });
    assertThrows(() => CudaContext.open({ mapHost: !mapHost }), ArgumentError, "mapHost");
    assertEquals(same.flags, cuda.flags);
    assert(mapHost || !same.flags.includes("cudaDeviceMapHost"), String(same.flags));
    assertEquals(same.flags.filter((flag) => flag.startsWith("cudaDeviceSchedule")).length, 1);
  }));

gpuTest("attach() uses memory of other code's, and calls its owner once", () =>
  withCuda((cuda) => {
    using owners = new OwnersMemory(cuda, SIZE);
    using program = cuda.program(`extern "C" __global__ void put(unsigned char* x) { x[threadIdx.x] = threadIdx.x; }`);
    using put = program.kernel("put", ["unsigned char*"]);
    {
      using tensor = cuda.attach(owners.address, BYTES, { owner: () => owners.free() });
      put.run({ groups: [1], groupSize: [256] }, [tensor]);
      const seen = new Uint8Array(SIZE);
      cuda.stream.read(tensor, seen);
      assertEquals(seen.subarray(0, 256), Uint8Array.from({ length: 256 }, (_, i) => i));
      using peer = cuda.attach(owners.address + 16n, { shape: [16], dtype: "u8" });
      assertEquals(peer.grant.allocation, tensor.grant.allocation);
      const unaligned = () => cuda.attach(owners.address + 2n, { shape: [1], dtype: "f32" });
      assertThrows(unaligned, ArgumentError, "not a multiple of 4");
      assertThrows(() => cuda.attach(owners.address, { shape: [1 << 30], dtype: "u8" }), LayoutError, "the memory has");
      assertEquals(owners.freed, 0);
    }
    assertEquals(owners.freed, 1);
    assertThrows(() => cuda.attach(owners.address, BYTES), ArgumentError, "or was freed");
    using memory = host.allocate(BYTES);
    assertThrows(() => cuda.attach(memory.handle, BYTES), ArgumentError, "it is memory of the host");
  }));

gpuTest("attach() refuses memory of another device", () =>
  withCuda((cuda) =>
    withCuda((other) => {
      using memory = other.allocate(BYTES);
      assertThrows(() => cuda.attach(memory.handle, BYTES), ArgumentError, "it is memory of device 1");
    }, 1)
  ), 2);
