import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  imageInfo,
  InteropError,
  LayoutError,
  LibraryNotFoundError,
  MapperGraph,
  NativeCallError,
  NoRouteError,
  PermissionError,
} from "@samepage/interop";
import { OpenVINOContext, type OpenVINOSession, type OpenVINOTensor } from "@samepage/interop/openvino";
import { binary, irModel, parameter, unary } from "../../openvino/models.ts";
import { LIBRARY, openOpenVINO } from "../../openvino/open.ts";
import { any, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

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

interface There {
  readonly ov: OpenVINOContext;
  readonly session: OpenVINOSession;
  /** Two tensors that fit. */
  readonly x: OpenVINOTensor;
  readonly y: OpenVINOTensor;
}

/** A row with a session of a sigmoid. */
function sessionRow(use: (there: There) => unknown, fails?: Failure): Row {
  return row(async (ov) => {
    using session = ov.compileSync(SIGMOID);
    using x = ov.allocate({ shape: [1, 4], dtype: "f32" });
    using y = ov.allocate({ shape: [1, 4], dtype: "f32" });
    await use({ ov, session, x, y });
  }, fails);
}

/** A row with what preprocessing is told of a model's input. */
function preprocessRow(preprocess: unknown, fails: Failure): Row {
  return row((ov) => void ov.compileSync(PLANAR, { preprocess: any(preprocess) }), fails);
}

const wrong = (argument: string, message: RegExp, hint?: RegExp): Failure => ({
  ...{ error: ArgumentError, api: "openvino", argument, message },
  ...hint && { hint },
});
const unfit = (argument: string, message: RegExp): Failure => ({ ...wrong(argument, message), error: LayoutError });
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
  "a library that is not there": {
    run: () => OpenVINOContext.open(),
    flags: ["--allow-ffi", "--allow-env"],
    env: { SAMEPAGE_LIB_OPENVINO: "/nonesuch/libopenvino_c.so" },
    fails: {
      ...{ error: LibraryNotFoundError, api: "openvino", fn: "dlopen", message: /nonesuch/ },
      ...{ hint: /SAMEPAGE_LIB_OPENVINO names it/, has: { attempts: /nonesuch/ } },
    },
  },
  "a path that is another library": row(
    () => void OpenVINOContext.open({ library: "/nonesuch/libopenvino_c.so" }),
    wrong("library", /libopenvino_c\.so\.\d+ is open, and a process has one/, /Leave it out/),
  ),
  "a library's folder in place of its path": {
    run: () => OpenVINOContext.open({ library: LIBRARY!.replace(/[^/]*$/, "") }),
    alone: true,
    fails: {
      ...{ error: LibraryNotFoundError, api: "openvino", fn: "dlopen", message: /tried \S+libs/ },
      ...{ hint: /pip install openvino/, has: { attempts: /libs/ } },
    },
  },
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
    fails("ov_core_get_property", /TPU/),
  ),
  "a property that is a number": row(
    () => void OpenVINOContext.open({ properties: any({ INFERENCE_NUM_THREADS: 1 }) }),
    wrong("properties.INFERENCE_NUM_THREADS", /expected a string, got a number/),
  ),
  "a property that there is not": row(
    () => void OpenVINOContext.open({ properties: { NONESUCH: "1" } }),
    fails("ov_core_set_property", /NONESUCH/),
  ),
  "a model that is a number": row(
    (ov) => ov.compile(any(7)),
    wrong("source", /a path, a file: URL, or bytes, got a number/),
  ),
  "a model in a file that may not be read": row((ov) => ov.compile("/tmp/model.xml"), {
    ...{ error: PermissionError, api: "openvino", argument: "source", message: /to read/ },
    ...{ hint: /--allow-read/, has: { flag: /allow-read/ } },
  }),
  "a model without bytes": row((ov) => ov.compile(new Uint8Array(0)), wrong("model", /it is empty/)),
  "a model that is none": row(
    (ov) => void ov.compileSync(new Uint8Array(64).fill(65)),
    fails("ov_core_read_model_from_memory_buffer", /./),
  ),
  "a model of texts": row((ov) => ov.compile(irModel([parameter("x", "string", [2])], [0])), {
    ...{ error: InteropError, api: "openvino", fn: "ov_port_get_element_type" },
    ...{ message: /inputs\.x has texts, which no tensor has/, hint: /Convert the model/ },
  }),
  "a model that OpenVINO converts": row(
    (ov) => ov.compile(unary("Relu", "i64", [4])),
    wrong("copy", /OpenVINO copies x, y through memory of its own/, /copy: "allow"/),
  ),
  "a copy that is neither allowed nor left out": row(
    (ov) => ov.compile(SIGMOID, { copy: any("never") }),
    option("copy", /expected "allow", got "never"/),
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
  "means that are no numbers": preprocessRow({ x: { mean: ["1"] } }, wrong("preprocess.x.mean", /expected numbers/)),
  "color without the model's layout": preprocessRow({ x: { format: "NV12", dtype: "u8" } }, fails(BUILD, /./)),
  "an input that is missing": row((ov) => {
    using session = ov.compileSync(binary("Add", "f32", [4]));
    using a = ov.allocate({ shape: [4], dtype: "f32" });
    session.run({ a });
  }, wrong("inputs.b", /it is missing/, /a tensor for each input/)),
  "an input that the model does not have": sessionRow(
    ({ session, x }) => void session.run({ x, z: x }),
    wrong("inputs", /the model has no z/, /It has x/),
  ),
  "a tensor of the host's, not mapped": sessionRow(({ session }) => {
    using tensor = host.allocate({ shape: [1, 4], dtype: "f32" });
    session.run(any({ x: tensor }));
  }, wrong("inputs.x", /is not of this context/, /graph\.map\(tensor, context\)/)),
  "a tensor of another context": sessionRow(({ session }) => {
    using other = openOpenVINO();
    using x = other.allocate({ shape: [1, 4], dtype: "f32" });
    session.run({ x });
  }, wrong("inputs.x", /is not of this context/, /graph\.map/)),
  "an input of other elements": sessionRow(({ ov, session }) => {
    using x = ov.allocate({ shape: [1, 4], dtype: "f64" });
    session.run({ x });
  }, unfit("inputs.x", /expected f32, got f64/)),
  "an input of another shape": sessionRow(({ ov, session }) => {
    using x = ov.allocate({ shape: [1, 5], dtype: "f32" });
    session.run({ x });
  }, unfit("inputs.x", /expected the shape \[1,4\], got \[1,5\]/)),
  "a slice with gaps": sessionRow(({ ov, session }) => {
    using whole = ov.allocate({ shape: [4, 4], dtype: "f32" });
    using x = whole.slice({ shape: [1, 4], strides: [16, 16], dtype: "f32" }) as OpenVINOTensor;
    session.run({ x });
  }, { ...unfit("inputs.x", /there are gaps between its elements/), hint: /no strides/ }),
  "an output that is the input": sessionRow(
    ({ session, x }) => void session.run({ x }, { y: x }),
    wrong("outputs.y", /it shares bytes with inputs\.x/),
  ),
  "an output that may only be read": sessionRow(({ ov, session, x }) => {
    using graph = new MapperGraph([host, ov]);
    using tensor = host.allocate({ shape: [1, 4], dtype: "f32" });
    using y = graph.map(tensor, ov, { access: "read" });
    session.run({ x }, { y });
  }, { error: AccessError, api: "core", argument: "access", message: /lent for "read"/, hint: /read-write/ }),
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
  "an input that was disposed": sessionRow(({ session, x }) => {
    x[Symbol.dispose]();
    session.run({ x });
  }, { ...gone(/openvino tensor/), argument: "inputs.x" }),
  "a session that was disposed": sessionRow(({ session, x }) => {
    if (!/x \[1,4\] f32 → y/.test(String(session))) throw new Error(String(session));
    session[Symbol.dispose]();
    session.run({ x });
  }, gone(/a model/)),
  "a context that was disposed": row((ov) => {
    if (ov.devices.length === 0 || ov.closedRemote.reason === "") throw new Error("it says nothing");
    ov[Symbol.dispose]();
    ov.compileSync(SIGMOID);
  }, gone(/openvino context/)),
  "a map to a context that was disposed": row((ov) => {
    using graph = new MapperGraph([host, ov]);
    using tensor = host.allocate({ shape: [4], dtype: "f32" });
    ov.is(tensor as never);
    ov[Symbol.dispose]();
    graph.map(tensor, ov);
  }, gone(/openvino context/)),
  "a signal that was aborted before": sessionRow(
    async ({ session, x }) => {
      const signal = AbortSignal.abort(new InteropError("enough", { api: "core" }));
      await session.runAsync({ x }, {}, { signal });
    },
    { error: InteropError, api: "core", message: /enough/ },
  ),
  "an output that a run has made, after its context": {
    run() {
      const ov = openOpenVINO();
      using x = ov.allocate({ shape: [1, 4], dtype: "f32" });
      const { y } = ov.compileSync(SIGMOID).run({ x });
      ov[Symbol.dispose]();
      say(`${y.handle}`);
    },
    fails: gone(/openvino output y/),
  },
});
