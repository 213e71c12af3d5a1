import { assert, assertEquals } from "@std/assert";
import { ArgumentError, host } from "@samepage/interop";
import type { ItemRange } from "@samepage/interop/opencl";
import { bench, testEach, thrown } from "./help.ts";

testEach("work sizes outside of what the device takes are refused, by name", (platform) => {
  using b = bench(platform);
  const { maxWorkGroupSize, maxWorkItemSizes } = b.cl.device;
  using source = host.allocate({ shape: [64], dtype: "u8" });
  using mapped = b.graph.map(source, b.cl);
  const wrong: [number[], Omit<ItemRange, "items">, string][] = [
    [[], {}, "items"],
    [[1, 1, 1, 1], {}, "items"],
    [[0], {}, "items[0]"],
    [[-1], {}, "items[0]"],
    [[0.5], {}, "items[0]"],
    [[NaN], {}, "items[0]"],
    [[Infinity], {}, "items[0]"],
    [[2 ** 64], {}, "items[0]"],
    [[64, 0], {}, "items[1]"],
    [["64" as unknown as number], {}, "items[0]"],
    [[64], { groupSize: [] }, "groupSize"],
    [[64], { groupSize: [8, 8] }, "groupSize"],
    [[64], { groupSize: [0] }, "groupSize[0]"],
    [[64], { groupSize: [-8] }, "groupSize[0]"],
    [[64], { groupSize: [NaN] }, "groupSize[0]"],
    [[64], { groupSize: [7] }, "groupSize[0]"],
    [[4], { groupSize: [8] }, "groupSize[0]"],
    [[64], { offset: [] }, "offset"],
    [[64], { offset: [-1] }, "offset[0]"],
    [[64], { offset: [NaN] }, "offset[0]"],
    [[64], { offset: [0, 0] }, "offset"],
    [[4 * maxWorkGroupSize], { groupSize: [2 * maxWorkGroupSize] }, "groupSize[0]"],
    [[maxWorkGroupSize, 2], { groupSize: [maxWorkGroupSize, 2] }, "groupSize"],
    [[2 * maxWorkItemSizes[0]], { groupSize: [2 * maxWorkItemSizes[0]] }, "groupSize[0]"],
  ];
  for (const [items, others, argument] of wrong) {
    const error = thrown(ArgumentError, () => b.kernels.add.run({ items, ...others }, [mapped, 1]));
    assertEquals(error.argument, argument, `${items} ${JSON.stringify(others)}`);
  }
});

testEach("sizes that were refused leave nothing behind for the next run", (platform) => {
  using b = bench(platform);
  using source = host.allocate({ shape: [64], dtype: "u8" });
  {
    using mapped = b.graph.map(source, b.cl);
    b.kernels.add.run({ items: [32] }, [mapped, 1]);
    thrown(ArgumentError, () => b.kernels.add.run({ items: [64, 2 ** 31, 0] }, [mapped, 1]));
    b.kernels.add.run({ items: [64] }, [mapped, 1]); // not 64 times 2^31 of them
  }
  assertEquals([...source.view()], Array.from({ length: 64 }, (_, i) => i < 32 ? 2 : 1));
});

testEach("one to three dimensions, with and without groups and offsets", (platform) => {
  using b = bench(platform);
  using program = b.cl.program(`
    kernel void k(global uchar* x, uint w, uint h) {
      x[(get_global_id(2) * h + get_global_id(1)) * w + get_global_id(0)] += 1 + get_local_size(0);
    }`);
  using kernel = program.kernel("k");
  using source = host.allocate({ shape: [64], dtype: "u8" });
  {
    using mapped = b.graph.map(source, b.cl);
    kernel.run({ items: [64], groupSize: [1] }, [mapped, 64, 1]);
    kernel.run({ items: [8, 8], groupSize: [2, 4] }, [mapped, 8, 8]);
    kernel.run({ items: [4, 4, 4], groupSize: [4, 2, 1] }, [mapped, 4, 4]);
    kernel.run({ items: [4], groupSize: [1], offset: [60] }, [mapped, 64, 1]);
  }
  assertEquals([...source.view()], Array.from({ length: 64 }, (_, i) => i < 60 ? 10 : 12));
});

testEach("a kernel's required group is used, and no other", (platform) => {
  using b = bench(platform);
  using program = b.cl.program(`
    kernel __attribute__((reqd_work_group_size(8, 1, 1)))
    void k(global uchar* x) { x[get_global_id(0)] = get_local_size(0); }`);
  using kernel = program.kernel("k");
  using source = host.allocate({ shape: [64], dtype: "u8" });
  {
    using mapped = b.graph.map(source, b.cl);
    kernel.run({ items: [64] }, [mapped]);
    kernel.run({ items: [64], groupSize: [8] }, [mapped]);
    const error = thrown(ArgumentError, () => kernel.run({ items: [64], groupSize: [4] }, [mapped]));
    assert(error.message.includes("8 × 1 × 1") || error.message.includes("groups of 8"), error.message);
    assertEquals(thrown(ArgumentError, () => kernel.run({ items: [60] }, [mapped])).argument, "groupSize[0]");
  }
  assertEquals([...source.view()], Array(64).fill(8));
});
