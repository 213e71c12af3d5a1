import {
  DisposedError,
  host,
  imageInfo,
  InteropError,
  MapperGraph,
  NativeCallError,
  NoRouteError,
} from "@samepage/interop";
import type { InferenceContext } from "@samepage/interop/onnxruntime";
import { OpenVINOContext } from "@samepage/interop/openvino";
import { STATEFUL, unary } from "../../openvino/models.ts";
import { LIBRARY, openOpenVINO } from "../../openvino/open.ts";
import { runtimeRows } from "../inference.ts";
import { any } from "../kit.ts";
import { type Failure, failuresOf, type Row, table } from "../row.ts";

const SIGMOID = unary("Sigmoid", "f32", [1, 4]);
const PLANAR = unary("Relu", "f32", [1, 3, 4, 4]);

/** A row with a context. */
function row(use: (ov: OpenVINOContext) => unknown, fails?: Failure): Row {
  return {
    async run() {
      using ov = openOpenVINO();
      await use(ov);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

/** A row with the options of preprocessing a model's input. */
function preprocessRow(preprocess: unknown, fails: Failure): Row {
  return row((ov) => void ov.compileSync(PLANAR, { preprocess: any(preprocess) }), fails);
}

const { wrong } = failuresOf("openvino");
const option = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { ...wrong(argument, message, hint), api: "core" }
);
const gone = (message: RegExp): Failure => ({ error: DisposedError, api: "core", message });
const fails = (fn: string, message: RegExp): Failure => (
  { error: NativeCallError, api: "openvino", fn, message, code: -1, codeName: "GENERAL_ERROR" }
);

const BY_NAME = "ov_preprocess_prepostprocessor_get_input_info_by_name";
const BUILD = "ov_preprocess_prepostprocessor_build";

export default table(import.meta, {
  ...runtimeRows({
    ...{ api: "openvino", kind: "openvino", typeFn: "ov_port_get_element_type", library: LIBRARY },
    open: (library: string = LIBRARY!) => OpenVINOContext.open({ library }),
    find: () => OpenVINOContext.open(),
    compile: (context: InferenceContext, model) => context.compileSync(model),
  }),
  "an option that there is not": row(
    () => void OpenVINOContext.open(any({ threads: 1 })),
    option("choice", /unknown property threads/, /device/),
  ),
  "a device that is a number": row(
    () => void OpenVINOContext.open({ device: any(0) }),
    wrong("device", /expected a string, got a number/),
  ),
  "a device that is not there": row(
    () => void OpenVINOContext.open({ device: "TPU" }),
    { ...fails("ov_core_get_property", /TPU/), hint: /`devices` of a context on the CPU lists them/ },
  ),
  "a context that is neither OpenCL's nor VA-API's to stand on": row(
    () => void OpenVINOContext.open({ on: host }),
    wrong("on", /runs nothing on host/, /Pass an OpenCLContext or a VaapiContext/),
  ),
  "a property that is a number": row(
    () => void OpenVINOContext.open({ properties: any({ INFERENCE_NUM_THREADS: 1 }) }),
    wrong("properties.INFERENCE_NUM_THREADS", /expected a string, got a number/),
  ),
  "a property that there is not": row(
    () => void OpenVINOContext.open({ properties: { NONESUCH: "1" } }),
    fails("ov_core_set_property", /NONESUCH/),
  ),
  "a model that is none": row(
    (ov) => void ov.compileSync(new Uint8Array(64).fill(65)),
    fails("ov_core_read_model_from_memory_buffer", /./),
  ),
  "a model that keeps a state": row((ov) => void ov.compileSync(STATEFUL), {
    ...{
      error: InteropError,
      api: "openvino",
      message: /keeps a state between its runs/,
      hint: /an input and an output/,
    },
  }),
  "a model that OpenVINO converts": row(
    (ov) => ov.compile(unary("Relu", "i64", [4])),
    wrong("copy", /OpenVINO copies x, y through memory of its own/, /copy: "allow"/),
  ),
  "a copy that is neither allowed nor left out": row(
    (ov) => ov.compile(SIGMOID, { copy: any("never") }),
    wrong("copy", /expected one of "allow", got "never"/),
  ),
  "preprocessing that there is not": preprocessRow(
    { x: { blur: 3 } },
    option("preprocess.x", /unknown property blur/, /resize/),
  ),
  "preprocessing of an input that the model lacks": preprocessRow({ z: { dtype: "u8" } }, fails(BY_NAME, /z/)),
  "pixels of a format that OpenVINO lacks": preprocessRow(
    { x: { format: "P010" } },
    wrong("preprocess.x.format", /expected one of "NV12", "RGB"/),
  ),
  "a color that the model cannot have": preprocessRow(
    { x: { format: "NV12", modelFormat: "NV12", modelLayout: "NCHW" } },
    wrong("preprocess.x.modelFormat", /expected one of "RGB", "BGR", got "NV12"/),
  ),
  "a size of nothing": preprocessRow(
    { x: { size: [0, 8], modelLayout: "NCHW" } },
    wrong("preprocess.x.size[0]", /an integer from 1 to 65536, got 0/),
  ),
  "means that are not numbers": preprocessRow({ x: { mean: ["1"] } }, wrong("preprocess.x.mean", /expected numbers/)),
  "color without the model's layout": preprocessRow({ x: { format: "NV12", dtype: "u8" } }, fails(BUILD, /./)),
  "a tensor in place of a frame": row((ov) => {
    using session = ov.compileSync(PLANAR, { preprocess: { x: { format: "NV12", dtype: "u8", modelLayout: "NCHW" } } });
    using x = ov.allocate({ shape: [4, 4], dtype: "u8" });
    session.run({ x });
  }, wrong("inputs.x", /expected a frame, got an OpenVINOTensor/)),
  "a frame whose rows have gaps": row((ov) => {
    using graph = new MapperGraph([host, ov]);
    using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 4, height: 4 }), { rowAlign: 64 });
    graph.map(frame, ov);
  }, {
    ...{ error: NoRouteError, api: "core", argument: "target", message: /there may be no gaps/ },
    ...{ hint: /Copy it/ },
  }),
  "a context that was disposed": row((ov) => {
    if (ov.devices.length === 0 || ov.closedRemote.reason === "") throw new Error("it says nothing");
    ov[Symbol.dispose]();
    ov.compileSync(SIGMOID);
  }, gone(/openvino context/)),
});
