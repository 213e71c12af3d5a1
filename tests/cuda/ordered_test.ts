import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, DisposedError, LayoutError } from "../../src/core/errors.ts";
import { launch } from "./cells/kernels.ts";
import { gpuTest, withCuda } from "./help.ts";

const INIT = { shape: [1 << 20], dtype: "u8" } as const;

gpuTest(
  "memory in the order of a stream: what is given back is had again, and other streams wait for it",
  () =>
    withCuda((cuda) => {
      using other = cuda.createStream();
      const seen: bigint[] = [];
      for (let i = 0; i < 10; i++) {
        using tensor = cuda.stream.allocate(INIT);
        seen.push(tensor.address);
        other.fill(tensor, i);
        const bytes = new Uint8Array(1 << 20);
        cuda.stream.read(tensor, bytes);
        assert(bytes.every((byte) => byte === i));
      }
      assert(new Set(seen).size < 10, "no address came again");
    }),
);

gpuTest(
  "memory in the order of a stream goes back without blocking, and the next has it at once",
  () =>
    withCuda(async (cuda) => {
      using pool = cuda.createPool({ releaseThreshold: 1 << 30 });
      const first = cuda.stream.allocate(INIT, { pool });
      const { address } = first;
      launch(cuda, "busy", 1, [first, 50_000_000]);
      const fence = cuda.stream.fence();
      first.disposeAfter(fence);
      using second = cuda.stream.allocate(INIT, { pool });
      assertEquals(second.address, address);
      cuda.stream.fill(second, 9);
      const bytes = new Uint8Array(1 << 20);
      cuda.stream.read(second, bytes);
      assertEquals([bytes[0], bytes.at(-1)], [9, 9]);
      await cuda.stream.finished();
    }),
);

gpuTest("a memory pool reports what it holds, and is trimmed", () =>
  withCuda((cuda) => {
    const pool = cuda.createPool({ releaseThreshold: 1 << 30 });
    const tensor = cuda.stream.allocate(INIT, { pool });
    assertEquals(pool.statistics.used, 1 << 20);
    assert(pool.statistics.reserved >= 1 << 20);
    tensor[Symbol.dispose]();
    assertEquals([pool.statistics.used, pool.statistics.usedHigh], [0, 1 << 20]);
    assert(pool.statistics.reserved > 0, "kept, below the threshold");
    cuda.stream.finish();
    pool.trim();
    assertEquals(pool.statistics.reserved, 0);
    const last = cuda.stream.allocate(INIT, { pool });
    pool[Symbol.dispose]();
    assertThrows(() => last.handle, DisposedError);
    assertThrows(() => pool.statistics, DisposedError);
    assertThrows(() => cuda.stream.allocate(INIT, { pool }), DisposedError);
    assertThrows(() => cuda.stream.allocate(INIT, { pool: {} as never }), ArgumentError);
    assertThrows(() => cuda.createPool({ maxBytes: -1 }), LayoutError);
  }));

gpuTest("a stream's memory ends before the stream", () =>
  withCuda((cuda) => {
    const stream = cuda.createStream();
    const tensor = stream.allocate(INIT);
    stream.fill(tensor, 1);
    stream[Symbol.dispose]();
    assertThrows(() => tensor.handle, DisposedError);
  }));

gpuTest("pitched memory has rows where the device likes them", () =>
  withCuda((cuda) => {
    using tensor = cuda.allocate({ shape: [100, 33, 3], dtype: "u8", pitch: true });
    const [pitch, ...inner] = tensor.layout.strides;
    assertEquals(inner, [3, 1]);
    assert(pitch >= 99 && pitch % 32 === 0, `a pitch of ${pitch}`);
    using plain = cuda.pinned.allocate({ shape: [100, 33, 3], dtype: "u8" });
    const bytes = crypto.getRandomValues(new Uint8Array(9900));
    cuda.stream.write(plain, bytes);
    cuda.stream.copy(plain, tensor);
    cuda.stream.fill(plain, 0);
    cuda.stream.copy(tensor, plain);
    const read = new Uint8Array(9900);
    cuda.stream.read(plain, read);
    assertEquals(read, bytes);
    for (
      const wrong of [
        { shape: [5], dtype: "u8", pitch: true },
        { shape: [5, 5], dtype: "u8", pitch: true, rowAlign: 64 },
        { shape: [5, 5], dtype: "u8", pitch: true, byteOffset: 1 },
        { shape: [5, 5], dtype: "u8", pitch: true, strides: [5, 1] },
        { shape: [5, 5], dtype: "u8", pitch: "yes" },
      ]
    ) {
      assertThrows(() => cuda.allocate(wrong as never), ArgumentError);
    }
  }));
