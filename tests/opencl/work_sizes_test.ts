import { assert, assertEquals } from "@std/assert";
import { ArgumentError, host } from "@samepage/interop";
import type { RunOptions } from "@samepage/interop/opencl";
import { bench, testEach, thrown } from "./help.ts";

testEach("work sizes outside of what the device takes are refused, by name", (platform) => {
  using b = bench(platform);
  const { maxWorkGroupSize, maxWorkItemSizes } = b.cl.device;
  using source = host.allocate({ shape: [64], dtype: "u8" });
  using mapped = b.graph.map(source, b.cl);
  const wrong: [number[], RunOptions, string][] = [
    [[], {}, "global"],
    [[1, 1, 1, 1], {}, "global"],
    [[0], {}, "global[0]"],
    [[-1], {}, "global[0]"],
    [[0.5], {}, "global[0]"],
    [[NaN], {}, "global[0]"],
    [[Infinity], {}, "global[0]"],
    [[2 ** 64], {}, "global[0]"],
    [[64, 0], {}, "global[1]"],
    [["64" as unknown as number], {}, "global[0]"],
    [[64], { local: [] }, "local"],
    [[64], { local: [8, 8] }, "local"],
    [[64], { local: [0] }, "local[0]"],
    [[64], { local: [-8] }, "local[0]"],
    [[64], { local: [NaN] }, "local[0]"],
    [[64], { local: [7] }, "local[0]"],
    [[4], { local: [8] }, "local[0]"],
    [[64], { offset: [] }, "offset"],
    [[64], { offset: [-1] }, "offset[0]"],
    [[64], { offset: [NaN] }, "offset[0]"],
    [[64], { offset: [0, 0] }, "offset"],
    [[4 * maxWorkGroupSize], { local: [2 * maxWorkGroupSize] }, "local[0]"],
    [[maxWorkGroupSize, 2], { local: [maxWorkGroupSize, 2] }, "local"],
    [[2 * maxWorkItemSizes[0]], { local: [2 * maxWorkItemSizes[0]] }, "local[0]"],
  ];
  for (const [global, options, argument] of wrong) {
    const error = thrown(ArgumentError, () => b.kernels.add.run(global, [mapped, 1], options));
    assertEquals(error.argument, argument, `${global} ${JSON.stringify(options)}`);
  }
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
    kernel.run([64], [mapped, 64, 1], { local: [1] });
    kernel.run([8, 8], [mapped, 8, 8], { local: [2, 4] });
    kernel.run([4, 4, 4], [mapped, 4, 4], { local: [4, 2, 1] });
    kernel.run([4], [mapped, 64, 1], { local: [1], offset: [60] });
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
    kernel.run([64], [mapped]);
    kernel.run([64], [mapped], { local: [8] });
    const error = thrown(ArgumentError, () => kernel.run([64], [mapped], { local: [4] }));
    assert(error.message.includes("8 × 1 × 1") || error.message.includes("groups of 8"), error.message);
    assertEquals(thrown(ArgumentError, () => kernel.run([60], [mapped])).argument, "local[0]");
  }
  assertEquals([...source.view()], Array(64).fill(8));
});
