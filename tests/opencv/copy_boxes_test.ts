// copyTo and convertTo between Mats and UMats whose rows have gaps, on a driver that counts the last gap.

import { assertEquals } from "@std/assert";
import { strictBoxesEnv } from "../layer/mod.ts";
import { testLayered } from "../opencl/layered.ts";
import { linesOf } from "../opencl/subprocess.ts";
import { withOpenCL } from "./help.ts";

/** Shapes, and the strides of both ends: no buffer has room behind its last row. */
const PROGRAM = `
import { OpenCVContext } from "@samepage/interop/opencv";
using cl = help.open("pocl");
using cv = OpenCVContext.open();
using graph = new MapperGraph([host, cl, cv]);
const CASES = [
  [[8, 64], [160, 1], [64, 1]],
  [[8, 64], [64, 1], [160, 1]],
  [[8, 16], [160, 1], [200, 1]],
  [[1, 16], [160, 1], [16, 1]],
  [[2, 5], [7, 1], [9, 1]],
  [[2, 5, 3], [32, 3, 1], [48, 3, 1]],
  [[3, 5, 3], [17, 3, 1], [19, 3, 1]],
  [[9, 3, 4], [24, 6, 1], [32, 7, 1], 1],
  [[3, 4, 5], [100, 10, 1], [60, 12, 1], 1],
  [[2, 4, 5], [44, 10, 1], [41, 10, 1], 1],
  [[1, 4, 5], [44, 10, 1], [41, 10, 1], 1],
];
const ENDS = [["umat", "umat"], ["mat", "umat"], ["umat", "mat"]];
const wrong = [];
for (const [shape, from, to, channels] of CASES) {
  const targets = channels === undefined ? cv : { mat: cv.matOf({ channels }), umat: cv.umatOf({ channels }) };
  for (const [source, sink] of ENDS) {
    for (const name of ["copyTo", "convertTo"]) {
      const [a, b] = [from, to].map((strides) => host.allocate({ shape, strides, dtype: "u8" }));
      for (const [t, seed] of [[a, 7], [b, 11]]) t.view().forEach((_, i, all) => all[i] = i * seed + 3);
      const before = b.view().slice();
      const expected = before.slice();
      const visit = (level, x, y) => {
        if (level === shape.length) return void (expected[y] = a.view()[x]);
        for (let i = 0; i < shape[level]; i++) visit(level + 1, x + i * from[level], y + i * to[level]);
      };
      visit(0, 0, 0);
      try {
        using src = graph.map(a, targets[source]);
        using dst = graph.map(b, targets[sink]);
        if (name === "copyTo") cv.copyTo(src, dst);
        else cv.convertTo(src, dst, "u8");
      } catch (error) {
        wrong.push([shape, source, sink, name, error.message.slice(0, 200)].join(" "));
        continue;
      }
      const got = b.view();
      if (got.some((value, i) => value !== expected[i])) wrong.push([shape, source, sink, name, "other bytes"].join(" "));
      a[Symbol.dispose]();
      b[Symbol.dispose]();
    }
  }
}
console.log(wrong.length === 0 ? "right" : wrong.join("\\n"));
`;

const NAME = "copyTo() and convertTo() copy rows with gaps on a driver that counts the last gap";

if (withOpenCL) {
  testLayered(NAME, async () => {
    assertEquals(await linesOf(PROGRAM, { env: await strictBoxesEnv() }), ["right"]);
  });
} else Deno.test({ name: `${NAME} (not here: OpenCV and PoCL)`, ignore: true, fn() {} });
