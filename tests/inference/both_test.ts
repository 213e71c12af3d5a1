/** Both runtimes in one process with OpenCV and OpenCL, whichever is opened first: they bring a TBB of one name each. */
import { assertEquals } from "@std/assert";
import { LIBRARY as ONNX_RUNTIME } from "../onnxruntime/open.ts";
import { LIBRARY as OPENVINO } from "../openvino/open.ts";
import { HERE } from "../opencl/help.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
import { deno } from "../process.ts";

const ORDERS = [
  ["opencv", "openvino", "onnxruntime", "opencl"],
  ["openvino", "opencv", "opencl", "onnxruntime"],
  ["onnxruntime", "opencl", "openvino", "opencv"],
];

const isHere = ONNX_RUNTIME !== undefined && OPENVINO !== undefined && hasOpenCV && HERE.length > 0;

for (const order of ORDERS) {
  Deno.test({
    name: `one block goes through all of them, opened as ${order.join(", ")}`,
    ignore: !isHere,
    async fn() {
      const program = new URL("both.ts", import.meta.url).pathname;
      const ended = await deno(["run", "-A", "--no-check", "-q", program, ...order]);
      assertEquals([ended.signal, ended.code, ended.stderr], [null, 0, ""], ended.stdout);
      assertEquals(ended.stdout.trim(), "{}");
    },
  });
}
