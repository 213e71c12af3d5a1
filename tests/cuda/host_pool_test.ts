// The pool of page-locked blocks that native code takes by itself: its machine code, over C functions that stand for CUDA.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { ENOMEM } from "../../ffi/libc/errors.ts";
import { until } from "../conformance/bytes.ts";
import { guardTest } from "../guard/cxx.ts";
import { lockedBlocks } from "./locked_blocks.ts";

const TAKE = { parameters: ["buffer", "usize", "usize"], result: "i32" } as const;
const ELSEWHERE = { ...TAKE, nonblocking: true } as const;
const GIVE = { parameters: ["u64"], result: "void" } as const;

/** The pool's two functions, as native code calls them. */
function callsOf({ take, give }: { readonly take: bigint; readonly give: bigint }) {
  const out = new BigUint64Array(1);
  const taking = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof TAKE>(take)!, TAKE);
  const giving = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof GIVE>(give)!, GIVE);
  return {
    take: (size: bigint) => [taking.call(out, 4096n, size), out[0]] as const,
    give: (block: bigint) => giving.call(block),
  };
}

guardTest("host pool: a block begins at a page, has room for its size, and is taken again", async () => {
  const { pool, blocks, wrong } = await lockedBlocks();
  const { take, give } = callsOf(pool);
  const before = blocks();
  for (const size of [1n, 4095n, 4096n, 4097n, 33_177_600n]) {
    const [code, block] = take(size);
    assertEquals([code, block % 4096n], [0, 0n]);
    const whole = 1n << BigInt(Math.max(12, (size - 1n).toString(2).length));
    assertEquals(pool.statistics.lentBytes, Number(whole), `${size} bytes`);
    const pointer = Deno.UnsafePointer.create(block)!;
    new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(pointer, Number(whole))).fill(7);
    const [, other] = take(size);
    assertNotEquals(other, block);
    give(other);
    give(block);
    assertEquals(take(size), [0, block]);
    give(block);
    assertEquals(pool.statistics.lentBytes, 0);
  }
  give(0n);
  pool.trim();
  assertEquals(pool.statistics, { lentBytes: 0, idleBytes: 0 });
  assertEquals([blocks(), wrong()], [before, 0]);
});

guardTest(
  "host pool: without a context, memory or room it has no block, and the thread's context is put back",
  async () => {
    const { pool, blocks, wrong, refuse } = await lockedBlocks();
    const { take, give } = callsOf(pool);
    for (const what of [1, 2]) {
      refuse(what);
      assertEquals(take(100n)[0], ENOMEM);
    }
    refuse(0);
    for (const size of [0n, 1n << 48n, 2n ** 64n - 1n]) assertEquals(take(size)[0], ENOMEM, `${size} bytes`);
    assertEquals([pool.statistics, wrong()], [{ lentBytes: 0, idleBytes: 0 }, 0]);

    const [, idle] = take(100n);
    const [, lent] = take(100n);
    give(idle);
    pool.open = false;
    assertEquals(take(100n), [0, idle]);
    assertEquals(take(100n)[0], ENOMEM);
    pool.open = true;
    const [code, more] = take(100n);
    assertEquals(code, 0);
    for (const block of [idle, lent, more]) give(block);
    assertEquals(pool.statistics, { lentBytes: 0, idleBytes: 3 * 4096 });
    pool.trim();
    assertEquals([blocks(), wrong()], [0, 0]);
  },
);

guardTest("take() counts a block as lent while CUDA makes it, and no more where that fails", async () => {
  const { pool, blocks, wrong, refuse, hold, making } = await lockedBlocks();
  const { give } = callsOf(pool);
  const taking = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof ELSEWHERE>(pool.take)!, ELSEWHERE);
  const out = new BigUint64Array(1);
  for (const fails of [false, true]) {
    pool.open = true;
    hold(1);
    const taken = taking.call(out, 4096n, 100n);
    assert(await until(() => making() === 1), "nobody makes a block");
    pool.open = false;
    assertEquals(pool.statistics, { lentBytes: 4096, idleBytes: 0 });
    refuse(fails ? 2 : 0);
    hold(0);
    assertEquals(await taken, fails ? ENOMEM : 0);
    assertEquals(pool.statistics, { lentBytes: fails ? 0 : 4096, idleBytes: 0 });
    if (!fails) give(out[0]);
    pool.trim();
  }
  refuse(0);
  assertEquals([blocks(), wrong()], [0, 0]);
});

guardTest("host pool: threads never have the same block", async () => {
  const { pool, blocks, wrong, take_and_give } = await lockedBlocks();
  assertEquals(take_and_give(pool.take, pool.give, 8, 2000), 0);
  assertEquals([pool.statistics.lentBytes, wrong()], [0, 0]);
  assert(blocks() <= 3 * 64 && blocks() > 0, `${blocks()} blocks`); // three sizes, and 64 blocks at once
  pool.trim();
  assertEquals([blocks(), wrong()], [0, 0]);
});

guardTest("close() frees what is idle, and says whether native code has a block, or may still have one", async () => {
  const { pool, blocks, wrong, churn, churned } = await lockedBlocks();
  churn(pool.take, pool.give, 3);
  let empty = 0;
  const close = (round: number) =>
    pool.close(() => {
      empty++;
      for (let look = 0; look < 20; look++) assertEquals(blocks(), 0, `round ${round}`);
    });
  const pause = new Int32Array(new SharedArrayBuffer(4));
  try {
    for (let round = 0; round < 1_000; round++) {
      pool.open = true;
      for (let delay = round % 64; delay > 0; delay--) blocks();
      close(round);
    }
    // On a busy machine a thread may sleep with a block in its hand: it has the time to give it back, and gets no other.
    for (const end = performance.now() + 30_000; empty === 0 && performance.now() < end;) {
      Atomics.wait(pause, 0, 0, 20);
      close(1_000);
    }
  } finally {
    churned();
  }
  assert(empty > 0, "it was never empty");
  pool.close(() => empty++);
  assertEquals([blocks(), wrong()], [0, 0]);
});
