import {
  AccessError,
  ArgumentError,
  DisposedError,
  type Frame,
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
import { OnnxRuntimeContext, type OnnxRuntimeSession, type OnnxRuntimeTensor } from "@samepage/interop/onnxruntime";
import { onnxModel, unary } from "../../inference/onnx.ts";
import { LIBRARY, openOnnxRuntime } from "../../onnxruntime/open.ts";
import { any, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const SIGMOID = unary("Sigmoid", "f32", [1, 4]);

/** Two inputs and a sum. */
const ADD = onnxModel({
  inputs: ["a", "b"].map((name) => ({ name, type: "f32", shape: [4] })),
  outputs: [{ name: "c", type: "f32", shape: [4] }],
  nodes: [{ op: "Add", inputs: ["a", "b"], outputs: ["c"] }],
});

/** A row with a context. */
function row(use: (ort: OnnxRuntimeContext) => unknown, fails?: Failure): Row {
  return {
    async run() {
      using ort = openOnnxRuntime();
      await use(ort);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

interface There {
  readonly ort: OnnxRuntimeContext;
  readonly session: OnnxRuntimeSession;
  /** Two tensors that fit. */
  readonly x: OnnxRuntimeTensor;
  readonly y: OnnxRuntimeTensor;
}

/** A row with a session of a sigmoid. */
function sessionRow(use: (there: There) => unknown, fails?: Failure, threads = 2): Row {
  return row(async (ort) => {
    using session = ort.compileSync(SIGMOID, { threads });
    using x = ort.allocate({ shape: [1, 4], dtype: "f32" });
    using y = ort.allocate({ shape: [1, 4], dtype: "f32" });
    await use({ ort, session, x, y });
  }, fails);
}

const wrong = (argument: string, message: RegExp, hint?: RegExp): Failure => ({
  ...{ error: ArgumentError, api: "onnxruntime", argument, message },
  ...hint && { hint },
});
const unfit = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { ...wrong(argument, message, hint), error: LayoutError }
);
const option = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { ...wrong(argument, message, hint), api: "core" }
);
const gone = (message: RegExp): Failure => ({ error: DisposedError, api: "core", message });

const MAP = /graph\.map\(tensor, context\)/;

export default table(import.meta, {
  "a library that is not there": {
    run: () => OnnxRuntimeContext.open(),
    flags: ["--allow-ffi", "--allow-env"],
    env: { SAMEPAGE_LIB_ONNXRUNTIME: "/nonesuch/libonnxruntime.so" },
    fails: {
      ...{ error: LibraryNotFoundError, api: "onnxruntime", fn: "dlopen", message: /nonesuch/ },
      ...{ hint: /SAMEPAGE_LIB_ONNXRUNTIME names it/, has: { attempts: /nonesuch/ } },
    },
  },
  "a path that is another library": row(
    () => void OnnxRuntimeContext.open({ library: "/nonesuch/libonnxruntime.so" }),
    wrong("library", /libonnxruntime\.so\.\S+ is open, and a process has one/, /Leave it out/),
  ),
  "a library's folder in place of its path": {
    run: () => OnnxRuntimeContext.open({ library: LIBRARY!.replace(/[^/]*$/, "") }),
    alone: true,
    fails: {
      ...{ error: LibraryNotFoundError, api: "onnxruntime", fn: "dlopen", message: /tried \S+capi/ },
      ...{ hint: /pip install onnxruntime/, has: { attempts: /capi/ } },
    },
  },
  "an option that there is not": row(
    () => void OnnxRuntimeContext.open(any({ device: "CPU" })),
    option("choice", /unknown property device/, /library/),
  ),
  "a model that is a number": row(
    (ort) => ort.compile(any(7)),
    wrong("source", /a path, a file: URL, or bytes, got a number/),
  ),
  "a model in a file that may not be read": row(
    (ort) => ort.compile("/tmp/model.onnx"),
    {
      ...{ error: PermissionError, api: "onnxruntime", argument: "source", message: /to read/ },
      ...{ hint: /--allow-read/, has: { flag: /allow-read/ } },
    },
  ),
  "a model on the web": row(
    (ort) => ort.compile(any(new URL("https://example.com/model.onnx"))),
    wrong("source", /got the URL https/, /pass its bytes/),
  ),
  "a model without bytes": row((ort) => ort.compile(new Uint8Array(0)), wrong("model", /it is empty/)),
  "a model that is none": row((ort) => void ort.compileSync(new Uint8Array(64)), {
    ...{ error: NativeCallError, api: "onnxruntime", fn: "CreateSessionFromArray", message: /./ },
    ...{ code: 7, codeName: "ORT_INVALID_PROTOBUF", hint: /Is it an ONNX model/ },
  }),
  "a model of texts": row(
    (ort) => ort.compile(unary("Identity", "string", [2])),
    {
      ...{ error: InteropError, api: "onnxruntime", fn: "CreateSessionFromArray" },
      ...{ message: /inputs\.x has elements that no tensor has: STRING/, hint: /Convert the model/ },
    },
  ),
  "no threads": row(
    (ort) => ort.compile(SIGMOID, { threads: 0 }),
    wrong("threads", /an integer from 1 to 1024, got 0/),
  ),
  "one thread, and runAsync()": sessionRow(
    async ({ session, x }) => void await session.runAsync({ x }),
    {
      ...{ error: NativeCallError, api: "onnxruntime", fn: "RunAsync", message: /intra op thread pool/ },
      ...{ code: 2, codeName: "ORT_INVALID_ARGUMENT", hint: /threads: 2/ },
    },
    1,
  ),
  "an input that is missing": row((ort) => {
    using session = ort.compileSync(ADD);
    using a = ort.allocate({ shape: [4], dtype: "f32" });
    session.run({ a });
  }, wrong("inputs.b", /it is missing/, /a tensor for each input/)),
  "an input that the model does not have": sessionRow(
    ({ session, x }) => void session.run({ x, z: x }),
    wrong("inputs", /the model has no z/, /It has x/),
  ),
  "an output that the model does not have": sessionRow(
    ({ session, x, y }) => void session.run({ x }, { x: y }),
    wrong("outputs", /the model has no x/, /It has y/),
  ),
  "a tensor of the host's, not mapped": sessionRow(({ session }) => {
    using tensor = host.allocate({ shape: [1, 4], dtype: "f32" });
    session.run(any({ x: tensor }));
  }, wrong("inputs.x", /host tensor \[1,4\] f32 is not of this context/, MAP)),
  "a tensor of another context": sessionRow(({ session }) => {
    using other = openOnnxRuntime();
    using x = other.allocate({ shape: [1, 4], dtype: "f32" });
    session.run({ x });
  }, wrong("inputs.x", /is not of this context/, MAP)),
  "a view in place of its tensor": sessionRow(
    ({ session }) => void session.run(any({ x: new Float32Array(4) })),
    wrong("inputs.x", /expected a tensor, got a Float32Array/),
  ),
  "a list of tensors in place of names": sessionRow(
    ({ session, x }) => void session.run(any([x])),
    wrong("inputs", /the model has no 0/, /It has x/),
  ),
  "an input of other elements": sessionRow(({ ort, session }) => {
    using x = ort.allocate({ shape: [1, 4], dtype: "f64" });
    session.run({ x });
  }, unfit("inputs.x", /expected f32, got f64/)),
  "an input of another shape": sessionRow(({ ort, session }) => {
    using x = ort.allocate({ shape: [1, 5], dtype: "f32" });
    session.run({ x });
  }, unfit("inputs.x", /expected the shape \[1,4\], got \[1,5\]/)),
  "an output that is the input": sessionRow(
    ({ session, x }) => void session.run({ x }, { y: x }),
    wrong("outputs.y", /it shares bytes with inputs\.x/),
  ),
  "an output that may only be read": sessionRow(({ ort, session, x }) => {
    using graph = new MapperGraph([host, ort]);
    using tensor = host.allocate({ shape: [1, 4], dtype: "f32" });
    using y = graph.map(tensor, ort, { access: "read" });
    session.run({ x }, { y });
  }, { error: AccessError, api: "core", argument: "access", message: /lent for "read"/, hint: /read-write/ }),
  "an input that is lent to the host": sessionRow(({ ort, session, x }) => {
    using graph = new MapperGraph([host, ort]);
    using _ = graph.map(x, host);
    session.run({ x });
  }, { error: AccessError, api: "core", argument: "inputs.x", message: /lent/, hint: /Dispose that first/ }),
  "an input that was disposed": sessionRow(({ session, x }) => {
    x[Symbol.dispose]();
    session.run({ x });
  }, { ...gone(/ortvalue/), argument: "inputs.x" }),
  "a handle of a tensor that was disposed": sessionRow(({ x }) => {
    x[Symbol.dispose]();
    say(`${x.handle}`);
  }, gone(/ortvalue tensor \[1,4\] f32/)),
  "a session that was disposed": sessionRow(({ session, x }) => {
    if (!/x \[1,4\] f32 → y/.test(String(session))) throw new Error(String(session));
    session[Symbol.dispose]();
    session[Symbol.dispose]();
    session.run({ x });
  }, gone(/session/)),
  "a context that was disposed": row((ort) => {
    if (ort.providers.length === 0) throw new Error("no provider");
    ort[Symbol.dispose]();
    ort.compileSync(SIGMOID);
  }, gone(/onnxruntime context/)),
  "a map to a context that was disposed": row((ort) => {
    using graph = new MapperGraph([host, ort]);
    using tensor = host.allocate({ shape: [4], dtype: "f32" });
    ort.is(tensor as never);
    ort[Symbol.dispose]();
    graph.map(tensor, ort);
  }, gone(/onnxruntime context|ONNX Runtime/)),
  "memory with gaps": row((ort) => {
    using graph = new MapperGraph([host, ort]);
    using padded = host.allocate({ shape: [4, 3], dtype: "f32", rowAlign: 64 });
    graph.map(padded, ort);
  }, {
    ...{ error: NoRouteError, api: "core", argument: "target", message: /there may be no gaps/ },
    ...{ hint: /Copy it/ },
  }),
  "a frame in place of a tensor": sessionRow(({ ort, session }) => {
    using graph = new MapperGraph([host, ort]);
    using picture = host.allocateFrame(imageInfo({ format: "GRAY8", width: 4, height: 1 }));
    using mapped = graph.map(picture, ort) as Frame<OnnxRuntimeTensor>;
    session.run({ x: mapped });
  }, wrong("inputs.x", /expected a tensor, got a Frame/)),
  "a signal that is none": sessionRow(
    async ({ session, x }) => void await session.runAsync({ x }, {}, { signal: any({}) }),
    wrong("signal", /expected an AbortSignal, got an? [oO]bject/),
  ),
  "a signal that was aborted before": sessionRow(
    async ({ session, x }) => {
      const signal = AbortSignal.abort(new InteropError("enough", { api: "core" }));
      await session.runAsync({ x }, {}, { signal });
    },
    { error: InteropError, api: "core", message: /enough/ },
  ),
  "an output that a run has made, after its context": {
    run() {
      const ort = openOnnxRuntime();
      using x = ort.allocate({ shape: [1, 4], dtype: "f32" });
      const { y } = ort.compileSync(SIGMOID).run({ x });
      ort[Symbol.dispose]();
      say(`${y.handle}`);
    },
    fails: gone(/ortvalue output y/),
  },
});
