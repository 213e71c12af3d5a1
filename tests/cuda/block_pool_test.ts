import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import type { Address } from "../../ffi/address.ts";
import { AccessError, DisposedError, LayoutError } from "../../src/core/errors.ts";
import { ledger } from "../../src/core/life/ledger.ts";
import type { CudaBlock } from "../../src/cuda/memory/block.ts";
import { BlockPool, classOf } from "../../src/cuda/memory/block_pool.ts";
import type { HostTensor } from "../../src/host/tensor.ts";
import { launch } from "./cells/kernels.ts";
import { Held } from "./held.ts";
import { gpuTest, withCuda } from "./help.ts";

/** Makes blocks at addresses that are never aligned, and remembers which were freed, and how. */
function fakes(fails = Infinity) {
  const freed: [address: bigint, fate: string][] = [];
  let made = 0;
  const make = (byteLength: number): CudaBlock => {
    if (made >= fails) throw new Error("no more");
    const address = BigInt(0x10_0000 * ++made + 8) as Address;
    const rest = { kind: "cuda.pinned", memory: "pinned", ordinal: 0, flags: [] } as const;
    const free = (fate: string) => void freed.push([address, fate]);
    return { ...rest, byteLength, address, hostAddress: address, deviceAddress: address + 0x5000n as Address, free };
  };
  return { make, freed };
}

Deno.test("block pool: size classes are powers of two, from a page on", () => {
  assertEquals([1, 4096, 4097, 8192, 2 ** 20 + 1, 2 ** 49 + 1].map(classOf), [
    4096,
    4096,
    8192,
    8192,
    2 ** 21,
    2 ** 50,
  ]);
});

Deno.test("block pool: blocks are aligned, come back, and are handed out again", () => {
  const { make, freed } = fakes();
  const before = ledger.alive;
  const pool = new BlockPool({ make, alignment: 4096, maxBytes: Infinity });
  const one = pool.take(5000);
  assertEquals([one.address! % 4096n, one.deviceAddress - one.hostAddress!, one.byteLength], [0n, 0x5000n, 5000]);
  const other = pool.take(6000);
  one.free("unused");
  const again = pool.take(8192);
  assertEquals([again.address, again.byteLength], [one.address, 8192]);
  const { made, reused, lent, idle } = pool.statistics;
  assertEquals([made, reused, lent.blocks, lent.bytes, idle.blocks], [2, 1, 2, 2 * (8192 + 4096), 0]);
  again.free("unused");
  other.free("unused");
  assertEquals(freed, []);
  pool.close();
  assertEquals([freed.length, pool.statistics.idle], [2, { blocks: 0, bytes: 0 }]);
  assertEquals(ledger.alive, before);
});

Deno.test("block pool: a block whose view has escaped is dropped; one that comes back late is freed", () => {
  const { make, freed } = fakes();
  const before = ledger.alive;
  const pool = new BlockPool({ make, alignment: 64, maxBytes: Infinity });
  const [escaped, late] = [pool.take(10), pool.take(10)];
  escaped.free("escaped");
  assertEquals([pool.statistics.quarantined.blocks, pool.statistics.idle.blocks], [1, 0]);
  pool.close();
  late.free("unused");
  assertEquals(freed.map(([, fate]) => fate), ["escaped", "unused"]);
  assertEquals(ledger.alive, before);
});

Deno.test("block pool: idle blocks of other sizes make room; what is handed out does not", () => {
  const { make, freed } = fakes();
  const pool = new BlockPool({ make, alignment: 64, maxBytes: 20_000 });
  pool.take(4096).free("unused");
  pool.take(4096).free("unused");
  const large = pool.take(16_000);
  assertEquals([freed.length, pool.statistics.lent.blocks], [1, 1]);
  assertThrows(() => pool.take(4096), AccessError, "in use");
  large.free("unused");
  pool.take(4096).free("unused");
  pool.close();
});

Deno.test("block pool: where no block can be made, it is as it was", () => {
  const { make } = fakes(1);
  const before = ledger.alive;
  const pool = new BlockPool({ make, alignment: 64, maxBytes: Infinity });
  const one = pool.take(1);
  const { statistics } = pool;
  assertThrows(() => pool.take(1), Error, "no more");
  assertEquals(pool.statistics, statistics);
  one.free("unused");
  pool.close();
  assertEquals(ledger.alive, before);
});

gpuTest("a pinned pool hands tensors out, and has them back after their work", () =>
  withCuda(async (cuda) => {
    await using pool = cuda.pinned.pool({ byteLength: 1 << 16, count: 2, alignment: 4096 });
    assertEquals(pool.statistics.made, 2);
    for (let i = 0; i < 20; i++) {
      using one = pool.take({ shape: [1 << 14], dtype: "f32" });
      using other = pool.take({ shape: [100, 300], dtype: "u8" });
      assertEquals(one.hostHandle! % 4096n, 0n);
      launch(cuda, "busy", 1, [other, 1_000_000]);
      cuda.stream.fill(one, i);
    }
    assertEquals([pool.statistics.made, pool.statistics.lent.blocks], [3, 0]); // 300 × 100 is a class of its own
    using graph = new MapperGraph([host, cuda]);
    using kept = pool.take({ shape: [64], dtype: "u8" });
    cuda.stream.fill(kept, 7);
    {
      using seen = graph.map(kept, host) as HostTensor;
      assertEquals(seen.view()[63], 7);
    }
    pool[Symbol.dispose]();
    assertThrows(() => kept.handle, DisposedError);
    assertThrows(() => pool.take({ shape: [1], dtype: "u8" }), DisposedError);
  }));

gpuTest(
  "a tensor comes back to its pool without blocking; anything but a pool is refused",
  () =>
    withCuda(async (cuda) => {
      for (const wrong of [{ byteLength: 0 }, { byteLength: 1, alignment: 3 }, { byteLength: 1, count: -1 }]) {
        assertThrows(() => cuda.pinned.pool(wrong), LayoutError);
      }
      using pool = cuda.pinned.pool({ byteLength: 4096, maxBytes: 3 * 4096 });
      const tensor = pool.take({ shape: [4096], dtype: "u8" });
      // Work behind which it comes back, without blocking.
      using held = new Held(cuda);
      held.start(tensor);
      tensor.disposeAfter(cuda.stream.fence());
      assertEquals(pool.statistics.lent.blocks, 1);
      held.open();
      await cuda.stream.finished();
      for (let i = 0; i < 30_000 && pool.statistics.lent.blocks > 0; i++) await new Promise((go) => setTimeout(go, 1));
      assertEquals([pool.statistics.lent.blocks, pool.statistics.idle.blocks], [0, 1]);
      await assertRejects(async () => {
        await Promise.resolve();
        using _all = pool.take({ shape: [4096], dtype: "u8" });
        using _more = pool.take({ shape: [8192], dtype: "u8" });
      }, AccessError);
    }),
);
