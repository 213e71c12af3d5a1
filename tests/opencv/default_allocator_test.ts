// OpenCV's default allocator over a program's own functions. Those here are the machine code of CUDA's pool, over C
// functions that stand for CUDA's.

import { assertEquals } from "@std/assert";
import { host, ledger, MapperGraph } from "@samepage/interop";
import { OpenCVContext } from "@samepage/interop/opencv";
import { NativeObject } from "../../src/core/life/native_object.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { core } from "../../src/opencv/library.ts";
import { lockedBlocks } from "../cuda/locked_blocks.ts";
import { cxx, cxxTest, isDefault, isPaged, Own, said, testPages } from "./allocator_help.ts";
import { pattern } from "./help.ts";

cxxTest("default allocator: what OpenCV makes lies in the program's memory, and goes back there", async () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  const { pool, blocks, wrong } = await lockedBlocks();
  using memory = cv.defaultAllocator(pool);
  using image = cv.mat.create({ shape: [480, 640], dtype: "u8" });
  const png = cv.imencode(".png", image);
  {
    using read = cv.imdecode(png, "grayscale");
    assertEquals(pool.statistics.lentBytes, 2 ** 19); // 480 × 640 bytes
    using seen = graph.map(read, host, { access: "read" });
    assertEquals([seen.address, seen.address % 4096n], [read.address, 0n]);
    using mat = new Own([3, 5]);
    using standard = new Own();
    core().Mat_create(standard.slot.header, 2, Int32Array.of(3, 5), 0);
    assertEquals([mat.data.currAllocator, isPaged(mat)], [memory.address, true]);
    assertEquals(said(mat), { ...said(standard) });
  }
  assertEquals(pool.statistics.lentBytes, 0);
  pool.trim();
  assertEquals([blocks(), wrong()], [0, 0]);
});

cxxTest("default allocator: Mats outlive it, and the pool behind it", async () => {
  using cv = OpenCVContext.open();
  const { pool, blocks, wrong } = await lockedBlocks();
  using mat = new Own();
  {
    using _memory = cv.defaultAllocator(pool);
    core().Mat_create(mat.slot.header, 2, Int32Array.of(40, 50), 0);
  }
  assertEquals(isDefault(), false);
  pool.open = false;
  pool.trim();
  assertEquals([blocks(), pool.statistics], [1, { lentBytes: 4096, idleBytes: 0 }]);
  mat.bytes.set(pattern(2000));
  assertEquals(mat.bytes, pattern(2000));
  core().Mat_destruct(mat.slot.header); // it comes back, and is the next one's
  assertEquals(pool.statistics, { lentBytes: 0, idleBytes: 4096 });
  pool.open = true;
  pool.trim();
  assertEquals([blocks(), wrong()], [0, 0]);
});

cxxTest("default allocator: OpenCV's threads take blocks and give them back, and none is had by two", async () => {
  using cv = OpenCVContext.open();
  const { make_in_parallel, drop_kept } = await cxx();
  const { pool, blocks, wrong } = await lockedBlocks();
  {
    using _memory = cv.defaultAllocator(pool);
    for (let i = 0; i < 5; i++) assertEquals(make_in_parallel(10_000, true), 0);
  }
  drop_kept();
  assertEquals([pool.statistics.lentBytes, wrong()], [0, 0]);
  pool.trim();
  assertEquals(blocks(), 0);
});

cxxTest("default allocator: where there is no block, OpenCV's own allocator makes the Mat", async () => {
  using cv = OpenCVContext.open();
  const { pool, refuse } = await lockedBlocks();
  using _memory = cv.defaultAllocator(pool);
  refuse(2);
  try {
    using mat = new Own([3, 5]);
    assertEquals(mat.data.currAllocator, core().Mat_getStdAllocator());
  } finally {
    refuse(0);
  }
});

cxxTest("default allocator: it ends before what is behind its functions", async () => {
  const before = ledger.alive;
  using cv = OpenCVContext.open();
  const { pool: { take, give } } = await lockedBlocks();
  class Memory extends NativeObject {
    readonly take = take;
    readonly give = give;
    readonly resource = new Resource({ name: "the program's memory", undo: [() => ended.push(isDefault())] });
  }
  const ended: boolean[] = [];
  const memory = new Memory();
  const allocator = cv.defaultAllocator(memory);
  assertEquals(isDefault(), true);
  memory[Symbol.dispose]();
  assertEquals([ended, allocator.resource.isLive], [[false], false]);
  cv[Symbol.dispose]();
  assertEquals(ledger.alive, before);
});

testPages("default allocator: those that end out of order leave OpenCV's own", () => {
  using cv = OpenCVContext.open();
  const [take, free, another] = ["posix_memalign", "free", "malloc_usable_size"].map(addressOf);
  const first = cv.defaultAllocator({ take, give: free });
  const second = cv.defaultAllocator({ take, give: another });
  const third = cv.pageAllocator();
  assertEquals(new Set([first.address, second.address, third.address]).size, 3);
  first[Symbol.dispose]();
  second[Symbol.dispose]();
  assertEquals(core().Mat_getDefaultAllocator(), third.address);
  third[Symbol.dispose]();
  assertEquals(isDefault(), false);
});

/** Where a function of the C library lies. */
function addressOf(name: string): Deno.PointerValue {
  return Deno.dlopen("libc.so.6", { [name]: { type: "pointer" } }).symbols[name] as Deno.PointerValue;
}
