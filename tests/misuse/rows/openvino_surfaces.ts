import { host, imageInfo, InteropError, MapperGraph, NoRouteError } from "@samepage/interop";
import { OpenVINOContext } from "@samepage/interop/openvino";
import { VaapiContext } from "@samepage/interop/vaapi";
import { SIMULATED } from "../../openvino/gpu.ts";
import { unary } from "../../openvino/models.ts";
import { behave, LIBRARY, NODE, useDriver } from "../../vaapi/driver.ts";
import { type Failure, failuresOf, ofCore, type Row, table } from "../row.ts";

const NV12 = imageInfo({ format: "NV12", width: 64, height: 32 });
const PLANAR = unary("Relu", "f32", [1, 3, 32, 64]);
const PREPROCESS = { x: { format: "NV12", dtype: "u8", modelLayout: "NCHW" } } as const;

interface There {
  readonly va: VaapiContext;
  readonly ov: OpenVINOContext;
  readonly graph: MapperGraph;
}

/** A row with a context on a display of the driver of the tests, in the library of the tests. */
function row(use: (there: There) => unknown, fails: Failure): Row {
  return {
    run() {
      useDriver();
      behave();
      using va = VaapiContext.open({ node: NODE });
      using ov = OpenVINOContext.open({ library: SIMULATED, on: va });
      using graph = new MapperGraph([host, va, ov]);
      use({ va, ov, graph });
    },
    nodes: [LIBRARY, SIMULATED],
    fails,
  };
}

const { wrong, unfit } = failuresOf("openvino");
const noRoute = (message: RegExp, hint: RegExp): Failure => (
  { ...ofCore(NoRouteError, message, { hint }), argument: "target" }
);

export default table(import.meta, {
  "a surface in a context on the CPU": row(
    ({ va }) => {
      using ov = OpenVINOContext.open({ library: SIMULATED });
      using graph = new MapperGraph([va, ov]);
      using surface = va.allocateFrame(NV12);
      graph.map(surface, ov);
    },
    noRoute(
      /models in this context do not run in the context that the memory belongs to/,
      /OpenVINOContext.open\(\{ on \}\)/,
    ),
  ),
  "a surface of another display": row(({ ov }) => {
    using other = VaapiContext.open({ node: NODE });
    using graph = new MapperGraph([other, ov]);
    using surface = other.allocateFrame(NV12);
    graph.map(surface, ov);
  }, noRoute(/belongs to another context than the one in which models run/, /Map it there first/)),
  "a surface that is not NV12": row(({ va, ov, graph }) => {
    using surface = va.allocateFrame(imageInfo({ format: "RGBA", width: 64, height: 32 }));
    graph.map(surface, ov);
  }, noRoute(/OpenVINO takes surfaces of NV12/, /Decode to NV12/)),
  "a frame of the host's where models take surfaces": row(({ ov, graph }) => {
    using frame = host.allocateFrame(NV12);
    graph.map(frame, ov);
  }, noRoute(/take frames that are surfaces/, /Pass \{ copy: "allow" \}/)),
  "a surface that OpenVINO is to show the CPU": row(({ va, ov, graph }) => {
    using surface = va.allocateFrame(NV12);
    using x = graph.map(surface, ov, { access: "read" });
    graph.map(x, host);
  }, noRoute(/whose bytes OpenVINO does not show to the CPU/, /Map the frame of the VaapiContext/)),
  "the address of a surface's plane": row(({ va, ov, graph }) => {
    using surface = va.allocateFrame(NV12);
    using x = graph.map(surface, ov, { access: "read" });
    void x.planes[0].address;
  }, {
    ...{ error: InteropError, api: "openvino", message: /has no address: only the driver knows/ },
    hint: /Map the surface to the host/,
  }),
  "a part of a surface's plane": row(({ va, ov, graph }) => {
    using surface = va.allocateFrame(NV12);
    using x = graph.map(surface, ov, { access: "read" });
    x.planes[0].slice({ shape: [2, 64], dtype: "u8" });
  }, unfit("init", /a surface's plane has no parts/, /OpenVINO takes all of it/)),
  "outputs that OpenVINO copies from the GPU": row(
    ({ ov }) => void ov.compileSync(PLANAR, { preprocess: PREPROCESS }),
    wrong("copy", /copies y through memory of its own: GPU has memory of its own/, /copy: "allow"/),
  ),
});
