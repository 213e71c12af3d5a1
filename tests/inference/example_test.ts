/** The example finds the sign that it has put into a photograph, with either runtime. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { LIBRARY as ONNX_RUNTIME } from "../onnxruntime/open.ts";
import { LIBRARY as OPENVINO } from "../openvino/open.ts";
import { HERE } from "../opencl/help.ts";
import { deno } from "../process.ts";

/** The edges of the box that each found. */
const found: number[][] = [];

const EDGES = ["left", "top", "right", "bottom"];

for (const [runtime, library] of [["onnxruntime", ONNX_RUNTIME], ["openvino", OPENVINO]] as const) {
  const missing = ONNX_RUNTIME === undefined || library === undefined
    ? runtime
    : HERE.length > 0
    ? undefined
    : "OpenCL";
  Deno.test({
    name: `example detect-text finds a sign with ${runtime}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      const { code, stdout, stderr } = await deno(
        ["run", "-A", "--no-check", "examples/detect-text/main.ts", `--runtime=${runtime}`],
      );
      assertEquals(code, 0, stdout + stderr);
      const read = (heading: string) => JSON.parse(new RegExp(`^${heading} +(.*)`, "m").exec(stdout)![1]);
      const [sign, text] = [read("sign"), read("text")];
      const edges = EDGES.map((edge) => Math.abs(sign[edge] - text[edge]));
      assert(edges.every((by) => by <= 10), `${JSON.stringify(text)} is not ${JSON.stringify(sign)}`);
      assertEquals([...stdout.matchAll(/^text /gm)].length, 1, "it finds text where there is none");
      assertMatch(stdout, /^copied +0 bytes/m);
      assertMatch(stdout, /^left +nothing/m);
      found.push(EDGES.map((edge) => text[edge]));
    },
  });
}

Deno.test({
  name: "example detect-text finds the same with both runtimes, but for rounding",
  ignore: ONNX_RUNTIME === undefined || OPENVINO === undefined || HERE.length === 0,
  fn() {
    const [one, other] = found; // OpenVINO may compute in bf16
    assert(one.every((edge, i) => Math.abs(edge - other[i]) <= 3), JSON.stringify(found));
  },
});
