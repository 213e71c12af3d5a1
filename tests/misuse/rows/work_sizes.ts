import { ArgumentError } from "@samepage/interop";
import { any, open, safe, same, sleep, withKernel } from "../kit.ts";
import { type Row, type Rows, table } from "../row.ts";

/** A run with these work sizes, and what is wrong with them: no driver is asked. */
function refused(items: unknown, others: object, argument: string, message: RegExp, hint?: RegExp): Row {
  return {
    opencl: "Portable",
    run: withKernel(({ k, good }) => k.run(any({ items, ...others }), good)),
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

const huge: Rows = Object.fromEntries(HUGE.map((items) => [
  `${items.join(" × ")} work-items, which run or are refused`,
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
        program.kernel("k").run({ items }, [o]);
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
    { groupSize: [2 ** 20] },
    "groupSize[0]",
    /expected a whole number from 1 to \d+, got 1048576/,
  ),
  "a work-group that does not divide the work": refused(
    [10],
    { groupSize: [4] },
    "groupSize[0]",
    /4 does not divide the 10/,
    /Round the items up/,
  ),
  "a work-group of other dimensions": refused(
    [4, 4],
    { groupSize: [4] },
    "groupSize",
    /expected the 2 dimensions of items, got 1/,
  ),
  "no dimensions": refused([], {}, "items", /expected 1 to 3 dimensions, got 0/),
  "four dimensions": refused([1, 1, 1, 1], {}, "items", /expected 1 to 3 dimensions, got 4/),
  "no array": refused(64, {}, "items", /expected an array, got a number/, /Pass a number for each dimension/),
  "NaN": refused([NaN], {}, "items[0]", /expected a whole number from 1 to \d+, got NaN/),
  "a negative number": refused([-1], {}, "items[0]", /expected a whole number .*, got -1/),
  "0": refused([0], {}, "items[0]", /expected a whole number .*, got 0/),
  "2^64": refused([2 ** 64], {}, "items[0]", /expected a whole number .*, got 18446744073709552000/),
  "a bigint": refused([64n], {}, "items[0]", /expected a whole number .*, got 64/),
  "2^63 groups": refused([2 ** 21, 2 ** 21, 2 ** 21], {}, "items", /groups are more than/, /Give larger groups/),
  "an offset of NaN": refused([1], { offset: [NaN] }, "offset[0]", /expected a whole number .*, got NaN/),
  "a negative offset": refused([1], { offset: [-1] }, "offset[0]", /expected a whole number .*, got -1/),
  "groups other than the kernel requires": {
    opencl: true,
    run() {
      using cl = open();
      using program = cl.program(
        "kernel void k() __attribute__((reqd_work_group_size(4, 1, 1)));" +
          "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void k() {}",
      );
      program.kernel("k").run({ items: [8], groupSize: [2] }, []);
    },
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clEnqueueNDRangeKernel", argument: "groupSize" },
      message: /requires groups of 4/,
    },
  },
});
