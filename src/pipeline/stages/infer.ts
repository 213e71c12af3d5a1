import { shown } from "../../core/argument.ts";
import { FUNCTION, integer, OBJECT, TEXT } from "../../core/checks.ts";
import type { Target } from "../../core/graph/context.ts";
import type { FrameInfo } from "../../core/layout/frame_info.ts";
import { region } from "../../core/layout/layout.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import type { Tensor } from "../../core/tensors/tensor.ts";
import { host, type HostTensor } from "../../host/mod.ts";
import type { ModelValue, Session } from "../../inference/session.ts";
import type { InferenceTensor } from "../../inference/tensor.ts";
import { StageError } from "../errors.ts";
import { RecentKinds } from "../recent_kinds.ts";
import { checks, MAX_AT_A_TIME, type Run, type Takes, Transform } from "../stage.ts";

/** Tensors by the names of a model's inputs or outputs. */
type Named<T> = Readonly<Record<string, T>>;

/** Options of {@link infer}. */
export interface InferOptions<T extends Tensor = HostTensor> {
  /** Its name, for errors and figures; `"infer"` if left out. */
  readonly name?: string;
  /** Which frames it takes: format and size. */
  readonly takes?: Omit<Takes, "memory" | "access">;
  /** The memory in which `prepare` works: an OpenCLContext for a kernel; the host if left out. */
  readonly memory?: Target<T>;
  /** The shapes of the inputs for such frames, if the model leaves a dimension open. */
  readonly shapes?: (info: FrameInfo) => Readonly<Record<string, readonly number[]>>;
  /**
   * Fills the inputs from a frame. They lie in `memory`, and the model reads them in place. They still hold what an
   * earlier call wrote. Commands may be under way when it returns.
   */
  prepare(frame: Frame<T>, inputs: Readonly<Record<string, T>>): void | Promise<void>;
  /** Called once the pipeline is over, however it ends. */
  close?(): void | Promise<void>;
  /** Reads what the model made of the frame, and writes it into `frame.metadata`. The outputs end when it returns. */
  results(outputs: Readonly<Record<string, HostTensor>>, frame: Frame<T>): void | Promise<void>;
  /** 10 runs the model on every tenth frame, beginning with the first, and passes the others on; 1 if left out. */
  readonly every?: number;
  /** How many runs of the model are in flight at a time; 1 if left out. */
  readonly concurrency?: number;
  /** How many frames go into one run, along the model's first dimension; 1 if left out. */
  readonly batch?: number;
}

const NAMES = {
  ...{
    name: TEXT,
    takes: OBJECT,
    memory: true,
    shapes: FUNCTION,
    prepare: FUNCTION,
    results: FUNCTION,
    close: FUNCTION,
  },
  ...{ every: integer(1, 2 ** 31 - 1), concurrency: true, batch: integer(1, MAX_AT_A_TIME) },
};

/**
 * Runs a model on each frame, with OpenVINO or ONNX Runtime: fills its input in place, runs it, and writes what it finds
 * into the frame's metadata. The pixels stay as they are.
 *
 * @param session what `compile()` returned; the program disposes it. Give ONNX Runtime fewer threads if several runs are
 * in flight, or other stages work meanwhile: its threads spin
 * @throws {ArgumentError} for anything but a session, and for wrong options.
 *
 * @example
 * ```ts ignore
 * import { FFmpegContext } from "@samepage/interop/ffmpeg";
 * import { OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
 * import { decode, infer } from "@samepage/interop/pipeline";
 *
 * using ffmpeg = FFmpegContext.open();
 * using ort = OnnxRuntimeContext.open();
 * using session = await ort.compile("brightness.onnx");
 * const classify = infer(session, {
 *   prepare: ({ planes: [luma] }, { x }) => {
 *     const numbers = x.view({ dtype: "f32" }); // the model's input, which it reads in place
 *     numbers.set(luma.view({ dtype: "u8", access: "read" }).subarray(0, numbers.length));
 *   },
 *   results: ({ y }, { metadata }) => void metadata.add("classification", { confidence: Number(y.view()[0]) }),
 * });
 * for await (using frame of decode(ffmpeg, "clip.mp4").pipeThrough(classify)) console.log(frame.metadata);
 * ```
 */
export function infer<T extends Tensor = HostTensor>(
  session: Session,
  options: InferOptions<T>,
): Transform<NoInfer<T>> {
  if (typeof session?.runAsync !== "function") {
    throw checks.wrongKind("session", "a session", session, "Pass what compile() returns, once it is there.");
  }
  const { name = "infer", takes, memory = host as Target<Tensor> as Target<T>, ...rest } = checks.optionsIn(
    options,
    NAMES,
  );
  const { concurrency = 1, batch = 1, every = 1, shapes, prepare, results } = rest;
  /** Frames from the first of a batch to its last. */
  const inBatch = (batch - 1) * every + 1;
  checks.assertInteger(concurrency, "concurrency", 1, Math.max(1, MAX_AT_A_TIME / inBatch));
  for (const [argument, value] of Object.entries({ prepare, results })) FUNCTION(checks, value, argument);
  const made = new RecentKinds<Kind>(isIdle, ({ inputs }) => inputs.forEach((one) => one[Symbol.dispose]()));
  /** The inputs of an earlier run that is over, or new ones. */
  const inputsFor = (info: FrameInfo): Inputs => {
    const given = shapes?.(info) ?? {};
    const wanted = session.inputs.map((input) => shapeOf(input, given[input.name], batch));
    const key = JSON.stringify(wanted);
    const kind = made.find((one) => one.key === key) ?? { key, inputs: [] };
    made.use(kind);
    const idle = kind.inputs.find(({ batch }) => batch === undefined);
    if (idle !== undefined) return idle;
    const inputs = new Inputs(session, wanted);
    kind.inputs.push(inputs);
    return inputs;
  };
  let filling: Batch<T> | undefined;
  /** Frames so far, and in all once that is known. */
  let [count, total] = [0, Infinity];
  const startLast = () => {
    if (count < total) return;
    filling?.start();
    filling = undefined;
  };
  return new Transform<T>({
    ...{ name, takes: { ...takes, memory, access: "read" }, contexts: [session.context] },
    concurrency: inBatch * concurrency,
    async process(frame, _, run) {
      if (run.frames < inBatch) {
        const hint = `Give it as many: pipeline(…, { frames: ${2 * inBatch} }).`;
        throw new StageError(name, `a batch is ${inBatch} frames, and the pipeline has ${run.frames}.`, { hint });
      }
      run.signal.throwIfAborted();
      if (count++ % every !== 0) return startLast();
      const all = filling ??= new Batch(session, inputsFor(frame.info), memory, run, batch);
      const place = all.count;
      if (place === batch - 1) filling = undefined;
      all.add(prepare(frame, all.partOf(all.written, place)));
      if (place === batch - 1) all.start();
      else startLast();
      await all.over;
      try {
        await results(all.partOf(all.read, place), frame);
      } finally {
        all.leave();
      }
    },
    flush(all) {
      total = all;
      startLast();
    },
    async close() {
      [filling, count, total] = [undefined, 0, Infinity];
      for (const { inputs } of made.clear()) for (const one of inputs) await one[Symbol.asyncDispose]();
      await rest.close?.();
    },
  });
}

/** The inputs of runs over frames of one kind. */
interface Kind {
  /** Their shapes. */
  readonly key: string;
  readonly inputs: Inputs[];
}

function isIdle({ inputs }: Kind): boolean {
  return inputs.every(({ batch }) => batch === undefined);
}

/** The inputs of one run, which a later run of the same shapes uses again. */
class Inputs {
  readonly tensors: Named<InferenceTensor>;
  /** The batch that they are filled for: so it stays reachable, and its maps too, until they end. */
  batch: object | undefined;

  constructor({ context, inputs }: Session, shapes: readonly (readonly number[])[]) {
    this.tensors = Object.fromEntries(
      inputs.map(({ name, dtype }, i) => [name, context.allocate({ shape: shapes[i], dtype })]),
    );
  }

  [Symbol.dispose](): void {
    for (const tensor of Object.values(this.tensors)) tensor[Symbol.dispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const tensor of Object.values(this.tensors)) await tensor[Symbol.asyncDispose]();
  }
}

/** The shape of an input for a whole batch. */
function shapeOf({ name, shape }: ModelValue, given: readonly number[] = shape, batch: number): readonly number[] {
  if (batch > 1 && shape[0] !== -1 && shape[0] !== batch) {
    throw checks.wrong(
      "batch",
      `the model's input ${shown(name)} takes ${shape[0]} frames at a time, got ${batch}.`,
    );
  }
  const whole = batch > 1 || given[0] === -1 ? [batch, ...given.slice(1)] : given;
  if (!whole.includes(-1)) return whole;
  const hint = `Give its shape: infer(session, { shapes: () => ({ ${shown(name)}: [1, 3, 224, 224] }) }).`;
  throw checks.wrong("shapes", `the model's input ${shown(name)} is of any size: [${shape}].`, hint);
}

/** Frames that go into one run of the model. */
class Batch<T extends Tensor> {
  count = 0;
  /** The inputs, mapped to where frames are prepared. */
  readonly written: Named<T>;
  /** The outputs, mapped to the host. */
  read: Named<HostTensor> = {};
  readonly #session: Session;
  readonly #inputs: Inputs;
  readonly #run: Run;
  readonly #size: number;
  readonly #prepared: (void | Promise<void>)[] = [];
  /** Slices of the inputs or outputs, for one frame each. */
  #parts: Tensor[] = [];
  readonly #over = Promise.withResolvers<void>();
  /** Ends a batch that has not begun; after that, the run's own signal does. */
  readonly #stop = () => this.#over.reject(this.#run.signal.reason);
  #outputs: Named<InferenceTensor> = {};
  #left = 0;

  constructor(session: Session, inputs: Inputs, memory: Target<T>, run: Run, size: number) {
    [this.#session, this.#inputs, this.#run, this.#size] = [session, inputs, run, size];
    inputs.batch = this;
    this.written = mapped(inputs.tensors, (tensor) => run.graph.map(tensor, memory, { access: "write" }) as T);
    run.signal.addEventListener("abort", this.#stop, { once: true });
    this.#over.promise.catch(() => {}); // those who wait for it throw
  }

  /** Resolves once the outputs are there. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  add(prepared: void | Promise<void>): void {
    this.count++;
    this.#prepared.push(prepared);
  }

  start(): void {
    this.#run.signal.removeEventListener("abort", this.#stop);
    this.#begin().then(this.#over.resolve, this.#over.reject);
  }

  async #begin(): Promise<void> {
    const { graph, signal } = this.#run;
    await Promise.all(this.#prepared);
    for (const tensor of [...this.#parts, ...Object.values(this.written)]) await tensor[Symbol.asyncDispose]();
    this.#parts = [];
    this.#outputs = await this.#session.runAsync(this.#inputs.tensors, {}, { signal });
    this.#inputs.batch = undefined;
    this.read = mapped(this.#outputs, (tensor) => graph.map(tensor, host, { access: "read" }));
    this.#left = this.count;
  }

  /** One frame's part of a batch. */
  partOf<A extends Tensor>(tensors: Named<A>, place: number): Named<A> {
    if (this.#size === 1) return tensors;
    return mapped(tensors, (tensor) => {
      const { layout } = tensor;
      const start = layout.shape.map((_, i) => i === 0 ? place : 0);
      const part = tensor.slice(region(layout, start, layout.shape.with(0, 1)));
      this.#parts.push(part);
      return part as Tensor as A;
    });
  }

  /** Notes that one of its frames is done with the outputs; the last one ends them. */
  leave(): void {
    if (--this.#left > 0) return;
    for (const tensor of [...this.#parts, ...Object.values(this.#outputs)]) tensor[Symbol.dispose]();
  }
}

function mapped<A, B>(tensors: Named<A>, of: (tensor: A) => B): Named<B> {
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, of(tensor)]));
}
