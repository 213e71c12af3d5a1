import { ArgumentError } from "@samepage/interop";
import { any, open, safe, same, sleep, withKernel } from "../kit.ts";
import { type Row, type Rows, table } from "../row.ts";

/** A run with these work sizes, and what is wrong with them: no driver is asked. */
function refused(global: unknown, options: object, argument: string, message: RegExp, hint?: RegExp): Row {
  return {
    opencl: "Portable",
    run: withKernel(({ k, good }) => k.run(any(global), good, options)),
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueNDRangeKernel", argument, message },
      ...(hint === undefined ? {} : { hint }),
    },
  };
}

const HUGE: readonly (readonly number[])[] = [
  [2 ** 53 - 1],
  [2 ** 32, 2 ** 32],
  [2 ** 21, 2 ** 21, 2 ** 21],
  [2 ** 22, 2 ** 22, 2 ** 20],
  [2 ** 32],
  [2 ** 32 + 15],
];

const huge: Rows = Object.fromEntries(HUGE.map((global) => [
  `${global.join(" × ")} work-items, which run or are refused`,
  {
    opencl: true,
    leaves: true,
    faultsAtExit: "Portable", // rows/exits.ts has the evidence
    async run() {
      const cl = open();
      const program = cl.program("kernel void k(global int* o) { if (get_global_id(0) == 0) o[0] = 7; }");
      const o = cl.allocate({ shape: [4], dtype: "i32" });
      const out = new Int32Array(4);
      cl.queue.write(o, out);
      const accepted = safe("run", () => {
        program.kernel("k").run(global, [o]);
        return true;
      });
      if (accepted) {
        // It may run on for hours: that is the program's own wish, and it ends in the middle.
        await Promise.race([cl.queue.fence().wait().then(() => cl.queue.read(o, out)), sleep(1000)]);
        if (out[0] !== 0) same("the first work-item's mark", out[0], 7);
      }
      Deno.exit(0);
    },
  },
]));

export default table(import.meta, {
  ...huge,
  "a work-group larger than the kernel may have": refused(
    [2 ** 20],
    { local: [2 ** 20] },
    "local",
    /1048576 work-items are more than/,
  ),
  "a work-group that does not divide the work": refused(
    [10],
    { local: [4] },
    "local[0]",
    /4 does not divide the 10/,
    /Round the global size up/,
  ),
  "a work-group of other dimensions": refused([4, 4], { local: [4] }, "local", /1 dimensions; global has 2/),
  "no dimensions": refused([], {}, "global", /0 dimensions; it takes 1 to 3/),
  "four dimensions": refused([1, 1, 1, 1], {}, "global", /4 dimensions/),
  "no array": refused(64, {}, "global", /it is no array; got number/, /Pass a number for each dimension/),
  "NaN": refused([NaN], {}, "global[0]", /NaN is no whole number from 1/),
  "a negative number": refused([-1], {}, "global[0]", /-1 is no whole number/),
  "0": refused([0], {}, "global[0]", /0 is no whole number/),
  "2^64": refused([2 ** 64], {}, "global[0]", /18446744073709552000 is no whole number/),
  "a bigint": refused([64n], {}, "global[0]", /64 is no whole number/),
  "2^63 groups": refused([2 ** 21, 2 ** 21, 2 ** 21], {}, "global", /groups are more than/, /Give larger groups/),
  "an offset of NaN": refused([1], { offset: [NaN] }, "offset[0]", /NaN is no whole number/),
  "a negative offset": refused([1], { offset: [-1] }, "offset[0]", /-1 is no whole number/),
  "groups other than the kernel requires": {
    opencl: true,
    run() {
      using cl = open();
      using program = cl.program(
        "kernel void k() __attribute__((reqd_work_group_size(4, 1, 1)));" +
          "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void k() {}",
      );
      program.kernel("k").run([8], [], { local: [2] });
    },
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueNDRangeKernel", argument: "local" },
      message: /requires groups of 4/,
    },
  },
  "an argument that changes the number of dimensions": {
    opencl: true,
    run() {
      using cl = open();
      using program = cl.program("kernel void k(global int* o, int n) { o[0] = get_work_dim(); }");
      using t = cl.allocate({ shape: [4], dtype: "i32" });
      const global = [1];
      const args = [t, 0];
      Object.defineProperty(args, 1, {
        get() {
          global.push(1, 1);
          return 5;
        },
      });
      const out = new Int32Array(4);
      program.kernel("k").run(global, args);
      cl.queue.read(t, out);
      same("dimensions", out[0], 1);
    },
  },
});
