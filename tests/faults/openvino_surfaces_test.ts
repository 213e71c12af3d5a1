/** Every native call for models on surfaces of video fails once: library and driver are of the tests. */
import { assert } from "@std/assert";
import { MapperGraph } from "../../mod.ts";
import { OpenVINOContext } from "../../src/openvino/mod.ts";
import { simulated } from "../openvino/gpu.ts";
import { unary } from "../openvino/models.ts";
import { missing } from "../openvino/help.ts";
import { driverTest } from "../vaapi/help.ts";
import { picture } from "../vaapi/pixels.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

const PLANAR = unary("Relu", "f32", [1, 3, 32, 64]);
const COMPILE = { preprocess: { x: { format: "NV12", dtype: "u8", modelLayout: "NCHW" } }, copy: "allow" } as const;

installTap();
driverTest(
  "faults: a surface in a context on its display, and a model that takes it",
  [],
  async ({ va }) => {
    await using surface = va.allocateFrame(picture("NV12"));
    using ov = OpenVINOContext.open({ library: simulated(), on: va });
    const faults = [
      ...await sweep(() => {
        using ov = OpenVINOContext.open({ library: simulated(), on: va });
        using graph = new MapperGraph([va, ov]);
        using x = graph.map(surface, ov, { access: "read" });
        for (const plane of x.planes) void plane.handle;
      }),
      ...await sweep(() => ov.compileSync(PLANAR, COMPILE)[Symbol.dispose]()),
    ];
    const made = new Set(faults.map(({ call }) => call));
    for (
      const fn of [
        ...["openvino.ov_core_create_context", "openvino.ov_remote_context_create_tensorOfSurface"],
        ...["openvino.ov_preprocess_input_tensor_info_set_memory_type", "vaapi.vaSyncSurface"],
      ]
    ) assert(made.has(fn), fn);
  },
  0,
  missing,
);
