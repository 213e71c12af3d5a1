/** Every native call for models on a `cl_context` fails once: the library is of the tests. */
import { assert } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import { OpenVINOContext } from "../../src/openvino/mod.ts";
import { HERE, open as openCL } from "../opencl/help.ts";
import { simulated } from "../openvino/gpu.ts";
import { test } from "../openvino/help.ts";
import { unary } from "../openvino/models.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

const SIGMOID = unary("Sigmoid", "f32", [64]);

test("faults: a model on a cl_context, and a run", async () => {
  using cl = openCL("pocl");
  installTap(); // OpenCL is open already: OpenVINO's functions alone are made to fail
  using hosts = new MapperGraph([host, cl]);
  using pixels = host.allocate({ shape: [64], dtype: "f32" });
  using results = host.allocate({ shape: [64], dtype: "f32" });
  using from = hosts.map(pixels, cl);
  using to = hosts.map(results, cl);
  const faults = await sweep(async () => {
    using ov = OpenVINOContext.open({ library: simulated(), on: cl });
    using graph = new MapperGraph([cl, ov]);
    using x = graph.map(from, ov, { access: "read" });
    using y = graph.map(to, ov, { access: "write" });
    using session = ov.compileSync(SIGMOID);
    session.run({ x }, { y });
    (await ov.compile(SIGMOID))[Symbol.dispose]();
  });
  const made = new Set(faults.map(({ call }) => call));
  for (
    const fn of [
      ...["ov_core_create_context", "ov_remote_context_create_tensor"],
      ...["ov_core_compile_model_with_context", "ov_core_compile_model_with_contextAsync"],
    ]
  ) assert(made.has(`openvino.${fn}`), fn);
}, HERE.includes("pocl") ? undefined : "PoCL");
