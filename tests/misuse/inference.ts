/**
 * What programs do wrong with either runtime that runs models.
 *
 * @module
 */
import {
  AccessError,
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  imageInfo,
  InteropError,
  LibraryNotFoundError,
  MapperGraph,
  NoRouteError,
  PermissionError,
} from "@samepage/interop";
import type { InferenceContext, InferenceTensor, Session } from "@samepage/interop/onnxruntime";
import { onnxModel, unary } from "../inference/onnx.ts";
import { any, say } from "./kit.ts";
import { type Failure, failuresOf, ofCore, type Row } from "./row.ts";

/** A runtime, as its rows use it. */
export interface RuntimeOfRows {
  readonly api: string;
  /** The kind of its tensors, and the function that says what elements are. */
  readonly kind: string;
  readonly typeFn: string;
  /** The path of its library; undefined where there is none, and no row runs. */
  readonly library: string | undefined;
  /** Opens it, at a path; at the tests' own by default. */
  open(library?: string): InferenceContext;
  /** Opens it where it is found. */
  find(): unknown;
  /** A session that can run on another thread. */
  compile(context: InferenceContext, model: Uint8Array<ArrayBuffer>): Session;
}

/** A sigmoid of four numbers, and a sum of two tensors. */
export const SIGMOID = unary("Sigmoid", "f32", [1, 4]);
const ADD = onnxModel({
  inputs: ["a", "b"].map((name) => ({ name, type: "f32", shape: [4] })),
  outputs: [{ name: "c", type: "f32", shape: [4] }],
  nodes: [{ op: "Add", inputs: ["a", "b"], outputs: ["c"] }],
});

interface There {
  readonly context: InferenceContext;
  readonly session: Session;
  /** Two tensors that fit. */
  readonly x: InferenceTensor;
  readonly y: InferenceTensor;
}

const gone = (message: RegExp, fields?: Partial<Failure>) => ofCore(DisposedError, message, fields);

/** The rows of a runtime. */
export function runtimeRows(runtime: RuntimeOfRows): Readonly<Record<string, Row>> {
  const { api, kind, typeFn, library = "", open, find, compile } = runtime;
  const { wrong, unfit } = failuresOf(api);
  const [folder, file] = [library.replace(/[^/]*$/, ""), library.replace(/.*\//, "").replace(/\.so.*/, "")];
  const variable = `SAMEPAGE_LIB_${api.toUpperCase()}`;
  const MAP = /graph\.map\(tensor, context\)/;
  const TENSOR = new RegExp(`${kind} tensor \\[1,4\\] f32`);

  const row = (use: (context: InferenceContext) => unknown, fails?: Failure): Row => ({
    async run() {
      using context = open();
      await use(context);
    },
    ...(fails === undefined ? {} : { fails }),
  });
  const sessionRow = (use: (there: There) => unknown, fails?: Failure): Row =>
    row(async (context) => {
      using session = compile(context, SIGMOID);
      using x = context.allocate({ shape: [1, 4], dtype: "f32" });
      using y = context.allocate({ shape: [1, 4], dtype: "f32" });
      await use({ context, session, x, y });
    }, fails);
  const given = (dtype: "f32" | "f64", shape: number[], fails: Failure) =>
    sessionRow(({ context, session }) => {
      using x = context.allocate({ shape, dtype });
      session.run({ x });
    }, fails);

  return {
    "a library that is not there": {
      run: find,
      flags: ["--allow-ffi", "--allow-env"],
      env: { [variable]: `/nonesuch/${file}.so` },
      fails: {
        ...{ error: LibraryNotFoundError, api, fn: "dlopen", message: /nonesuch/ },
        ...{ hint: new RegExp(`${variable} names it`), has: { attempts: /nonesuch/ } },
      },
    },
    "a path that is another library": row(
      () => void open(`/nonesuch/${file}.so`),
      wrong("library", new RegExp(`${file}\\.so\\S+ is open already, and a process can open only one`), /Leave it out/),
    ),
    "a library's folder in place of its path": {
      run: () => open(folder),
      alone: true,
      fails: {
        ...{ error: LibraryNotFoundError, api, fn: "dlopen", message: new RegExp(`tried ${folder}`) },
        ...{ hint: new RegExp(`pip install ${api}`), has: { attempts: new RegExp(folder) } },
      },
    },
    "a model that is a number": row(
      (context) => context.compile(any(7)),
      wrong("source", /a path, a file: URL, or bytes, got a number/),
    ),
    "a model in a file that may not be read": row((context) => context.compile("/tmp/model.onnx"), {
      ...{ error: PermissionError, api, argument: "source", message: /to read/ },
      ...{ hint: /--allow-read/, has: { flag: /allow-read/ } },
    }),
    "a model on the web": row(
      (context) => context.compile(any(new URL("https://example.com/model.onnx"))),
      wrong("source", /got the URL https/, /pass its bytes/),
    ),
    "a model without bytes": row((context) => context.compile(new Uint8Array(0)), wrong("model", /it is empty/)),
    "a model of texts": row((context) => context.compile(unary("Identity", "string", [2])), {
      ...{ error: InteropError, api, fn: typeFn },
      ...{ message: /inputs\.x has strings, which no tensor has/, hint: /Convert the model/ },
    }),
    "an input that is missing": row((context) => {
      using session = compile(context, ADD);
      using a = context.allocate({ shape: [4], dtype: "f32" });
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
      using other = open();
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
    "a frame in place of a tensor": sessionRow(({ context, session }) => {
      using graph = new MapperGraph([host, context]);
      using picture = host.allocateFrame(imageInfo({ format: "GRAY8", width: 4, height: 1 }));
      using mapped = graph.map(picture, context) as Frame<InferenceTensor>;
      session.run({ x: mapped });
    }, wrong("inputs.x", /expected a tensor, got a Frame/)),
    "an input of other elements": given("f64", [1, 4], unfit("inputs.x", /expected f32, got f64/)),
    "an input of another shape": given(
      "f32",
      [1, 5],
      unfit("inputs.x", /expected the shape \[1,4\], got \[1,5\]/),
    ),
    "a slice with gaps": sessionRow(({ context, session }) => {
      using whole = context.allocate({ shape: [4, 4], dtype: "f32" });
      using x = whole.slice({ shape: [1, 4], strides: [16, 16], dtype: "f32" });
      session.run({ x });
    }, unfit("inputs.x", /there are gaps between its elements/, /no strides/)),
    "an output that is the input": sessionRow(
      ({ session, x }) => void session.run({ x }, { y: x }),
      wrong("outputs.y", /it shares bytes with inputs\.x/),
    ),
    "an output that may only be read": sessionRow(({ context, session, x }) => {
      using graph = new MapperGraph([host, context]);
      using tensor = host.allocate({ shape: [1, 4], dtype: "f32" });
      using y = graph.map(tensor, context, { access: "read" });
      session.run({ x }, { y });
    }, ofCore(AccessError, /lent for "read"/, { argument: "access", hint: /read-write/ })),
    "an input that is lent to the host": sessionRow(({ context, session, x }) => {
      using graph = new MapperGraph([host, context]);
      using _ = graph.map(x, host);
      session.run({ x });
    }, ofCore(AccessError, /lent/, { argument: "inputs.x", hint: /Dispose that first/ })),
    "an input that was disposed": sessionRow(({ session, x }) => {
      x[Symbol.dispose]();
      session.run({ x });
    }, gone(TENSOR, { argument: "inputs.x" })),
    "a handle of a tensor that was disposed": sessionRow(({ x }) => {
      x[Symbol.dispose]();
      say(`${x.handle}`);
    }, gone(TENSOR)),
    "a session that was disposed": sessionRow(({ session, x }) => {
      if (!/x \[1,4\] f32 → y/.test(String(session))) throw new Error(String(session));
      session[Symbol.dispose]();
      session[Symbol.dispose]();
      session.run({ x });
    }, gone(new RegExp(`${api} session`))),
    "a context that was disposed": row((context) => {
      context[Symbol.dispose]();
      context.compileSync(SIGMOID);
    }, gone(new RegExp(`${api} context`))),
    "a map to a context that was disposed": row((context) => {
      using graph = new MapperGraph([host, context]);
      using tensor = host.allocate({ shape: [4], dtype: "f32" });
      context.is(tensor as never);
      context[Symbol.dispose]();
      graph.map(tensor, context);
    }, gone(new RegExp(`${api} context`))),
    "memory with gaps": row((context) => {
      using graph = new MapperGraph([host, context]);
      using padded = host.allocate({ shape: [4, 3], dtype: "f32", rowAlign: 64 });
      graph.map(padded, context);
    }, ofCore(NoRouteError, /there may be no gaps/, { argument: "target", hint: /Copy it/ })),
    "an address that is a text": row(
      (context) => context.attach(any("0x1000")),
      wrong("handle", /expected a bigint, got a string/),
    ),
    "an address that is null": row((context) => context.attach(0n), wrong("handle", /expected a handle, got null/)),
    "an address where nothing is": row(
      (context) => context.attach(0x1000n),
      wrong("handle", /0x1000 cannot be read/, /Is the memory still there/, "process_vm_readv"),
    ),
    "an owner that is not a function": sessionRow(
      ({ context, x }) => context.attach(x.handle, { owner: any(1) }),
      { error: ArgumentError, api: "core", argument: "owner", message: /expected a function/ },
    ),
    "a signal that is none": sessionRow(
      async ({ session, x }) => void await session.runAsync({ x }, {}, { signal: any({}) }),
      wrong("signal", /expected an AbortSignal, got an? [oO]bject/),
    ),
    "a signal that was aborted before": sessionRow(async ({ session, x }) => {
      const signal = AbortSignal.abort(new InteropError("enough", { api: "core" }));
      await session.runAsync({ x }, {}, { signal });
    }, { error: InteropError, api: "core", message: /enough/ }),
    "an output that a run has made, after its context": {
      run() {
        const context = open();
        using x = context.allocate({ shape: [1, 4], dtype: "f32" });
        const { y } = compile(context, SIGMOID).run({ x });
        context[Symbol.dispose]();
        say(`${y.handle}`);
      },
      fails: gone(new RegExp(`${kind} output y`)),
    },
  };
}
