import type { Address } from "../../ffi/address.ts";
import { isMade, type Names, object, optionsIn, otherNames, shown } from "../core/argument.ts";
import { Checks } from "../core/checks.ts";
import type { Driver } from "../core/contract.ts";
import type { Use } from "../core/device/line.ts";
import type { NativeFlag } from "../core/device/native_flag.ts";
import { eachConflict, readyForHost } from "../core/device/work.ts";
import { isGapless } from "../core/layout/layout.ts";
import { messageOf, warn } from "../core/errors.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import { registerContext } from "../core/life/finalizers.ts";
import { Frame } from "../core/tensors/frame.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import type { InferenceContext } from "./context.ts";
import type { ElementKind } from "./elements.ts";
import { Lane, type Request } from "./line.ts";
import { DENSE, type InferenceTensor, isSameShape } from "./tensor.ts";

/** An input or an output of a model. */
export interface ModelValue extends ElementKind {
  /** Its name in the model. */
  readonly name: string;
  /** Elements along each dimension, outermost first; -1 for any number. A scalar has no dimension. */
  readonly shape: readonly number[];
  /** What the dimensions mean, if the model says so: `"NCHW"`. */
  readonly layout?: string;
  /** For an input that is a frame: its format. */
  readonly format?: string;
  /** For an input that is a frame: its planes. */
  readonly planes?: readonly ModelValue[];
}

/** The tensors that a run reads, by input name. */
export type RunInputs<T extends InferenceTensor = InferenceTensor> = Readonly<Record<string, T | Frame<T>>>;

/** The tensors that a run writes, by output name. */
export type RunOutputs<T extends InferenceTensor = InferenceTensor> = Readonly<Record<string, T>>;

/** Options of {@link Session.runAsync}. */
export interface RunOptions {
  /** Ends the run early. The promise rejects with the signal's reason once the runtime no longer uses the tensors. */
  readonly signal?: AbortSignal;
}

const RUN_OPTIONS: Names<RunOptions> = { signal: true };

/** Arguments of {@link Session}'s constructor. */
export interface SessionInit {
  /** The context that it was opened in. */
  readonly context: InferenceContext;
  /** The model's name in messages. */
  readonly name: string;
  /** The inputs, in the model's order. */
  readonly inputs: readonly ModelValue[];
  /** The outputs, in the model's order. */
  readonly outputs: readonly ModelValue[];
  /** The names of inputs and outputs that the runtime converts in a buffer of its own. */
  readonly copied: ReadonlySet<string>;
  /** Releases the runtime's model. Taken over. */
  readonly undo: Undo;
  /** The runtime's errors. */
  readonly error: Driver["error"];
}

/** A native input or output, and the part of the program's arguments that is for it. */
interface Slot {
  /** The value that the program names. */
  readonly name: string;
  /** The value that is expected, or one of its planes. */
  readonly value: ModelValue;
  /** Which plane of a frame; undefined for a tensor. */
  readonly plane: number | undefined;
  /** The format of the frame. */
  readonly format?: string | undefined;
  readonly argument: string;
}

/** The checked arguments of a run. */
interface Bound<T> {
  readonly uses: readonly Use[];
  /** For each native input. */
  readonly inputs: readonly T[];
  /** For each native output; undefined if the runtime makes it. */
  readonly outputs: readonly (T | undefined)[];
}

/**
 * A model that is ready to run. A run reads and writes tensors of its context in place. It is a command like a kernel's
 * launch: it waits for earlier work on its tensors, and later work on them waits for it. Several runs may be in flight.
 */
export abstract class Session<T extends InferenceTensor = InferenceTensor> extends NativeObject {
  /** The inputs, in the model's order. */
  readonly inputs: readonly ModelValue[];
  /** The outputs, in the model's order. */
  readonly outputs: readonly ModelValue[];
  /** The context that it was opened in. */
  readonly context: InferenceContext<T>;
  /** The session's end of life, which waits for runs in flight. */
  override readonly resource: Resource;
  readonly #name: string;
  readonly #checks: Checks;
  readonly #reads: readonly Slot[];
  readonly #writes: readonly Slot[];
  /** The names that a run may have. */
  readonly #names: Readonly<Record<"inputs" | "outputs", Readonly<Record<string, true>>>>;
  /** True if an output may have any number of elements. */
  readonly #isDynamic: boolean;
  readonly #copied: ReadonlySet<string>;
  readonly #driver: Pick<Driver, "api" | "error">;
  readonly #lanes: Lane[] = [];
  /** The ids of the tensors of the last run that was checked: most runs take the same ones again. */
  #checked: readonly number[] = [];

  /** Takes over the undo list. */
  constructor({ context, name, inputs, outputs, copied, undo, error }: SessionInit) {
    super();
    this.context = context as InferenceContext<T>;
    this.#name = `${context.api} session (${name})`;
    this.inputs = inputs;
    this.outputs = outputs;
    this.#names = { inputs: namesOf(inputs), outputs: namesOf(outputs) };
    this.#isDynamic = outputs.some(({ shape }) => shape.includes(-1));
    this.#copied = copied;
    this.#checks = new Checks(context.api);
    this.#driver = { api: context.api, error };
    this.#reads = inputs.flatMap((value): Slot[] => {
      const { name, planes, format } = value;
      const argument = `inputs.${name}`;
      if (planes === undefined) return [{ name, value, plane: undefined, argument }];
      return planes.map((value, plane) => ({ name, value, plane, format, argument }));
    });
    this.#writes = outputs.map((value) => ({
      name: value.name,
      value,
      plane: undefined,
      argument: `outputs.${value.name}`,
    }));
    this.resource = new Resource({ name: this.#name, owners: [context.resource], undo });
    registerContext(this, this.resource);
  }

  /** @internal Makes a request, which calls the flag at the end of each run that it started. */
  protected abstract request(flag: NativeFlag): Request;

  /**
   * Runs the model on this thread, and returns its outputs: those that were given, and new tensors for the others, which
   * you dispose. A new output without elements is left out.
   *
   * @throws {ArgumentError} for a name that the model lacks, a missing input, anything but tensors of this context, and
   * an output that overlaps another tensor.
   * @throws {LayoutError} for a dtype or shape other than the model's.
   * @throws {AccessError} if a tensor is lent, or an output may only be read.
   * @throws {NativeCallError} if the run fails.
   */
  run(inputs: RunInputs<T>, outputs: RunOutputs<T> = {}): RunOutputs<T> {
    const bound = this.#bind(inputs, outputs);
    readyForHost(bound.uses);
    const lane = this.#take();
    try {
      raiseFailures(bound.uses, lane.line);
      this.#set(lane, bound);
      if (lane.request.run === undefined) this.#block(lane, bound);
      else {
        lane.request.run();
        this.#assertWhole(bound);
      }
      return this.#results(lane, bound);
    } finally {
      lane.giveBack();
    }
  }

  /**
   * {@link run} on another thread. Outputs that were given are in flight until the run is over: their next user waits, as
   * for a kernel, and fails if the run does. If the devices cannot wait for earlier work on the tensors, this thread
   * waits before it submits the run: await `tensor.finished()` first if that takes long.
   *
   * @throws the errors of {@link run}; the error of failed work on an input; the signal's reason.
   */
  async runAsync(inputs: RunInputs<T>, outputs: RunOutputs<T> = {}, options: RunOptions = {}): Promise<RunOutputs<T>> {
    const { signal } = optionsIn(options, RUN_OPTIONS);
    this.#checks.assertSignal(signal, "signal");
    signal?.throwIfAborted();
    const bound = this.#bind(inputs, outputs);
    const lane = this.#take();
    try {
      raiseFailures(bound.uses, lane.line);
      this.#set(lane, bound);
      this.#submit(lane, bound);
      await this.#over(lane, signal);
      this.resource.assertLive();
      return this.#results(lane, bound);
    } finally {
      lane.giveBack();
    }
  }

  /** Its name, its inputs and its outputs. */
  override toString(): string {
    const inWords = (values: readonly ModelValue[]) =>
      values.map(({ name, shape, dtype }) => `${shown(name)} [${shape}] ${dtype}`).join(", ");
    return `${this.resource}: ${inWords(this.inputs)} → ${inWords(this.outputs)}`;
  }

  /** Runs on one of the runtime's threads, and blocks this one. */
  #block(lane: Lane, bound: Bound<T>): void {
    this.#submit(lane, bound);
    try {
      lane.line.fence().waitSync();
    } catch (error) {
      this.#endFailed(lane);
      throw error;
    }
  }

  #submit(lane: Lane, bound: Bound<T>): void {
    const { line, request } = lane;
    lane.ended = (failure) => {
      const error = failure ?? unwind([() => this.#assertWhole(bound)])[0];
      if (error !== undefined) noteThrown(lane, bound.uses, error);
      return error;
    };
    line.submit(bound.uses, { fn: request.fn, call: () => request.start() });
  }

  async #over(lane: Lane, signal: AbortSignal | undefined): Promise<void> {
    const fence = lane.line.fence();
    const cancel = () => {
      if (fence.line.wasOver(fence.mark)) return; // the request may have ended since
      for (const error of unwind([() => lane.request.cancel()])) warn(`stopping a run: ${messageOf(error)}`);
    };
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      await fence.wait();
    } catch (error) {
      this.#endFailed(lane);
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
    signal?.throwIfAborted();
  }

  /** A line keeps its failures for good, so it ends with the first. */
  #endFailed(lane: Lane): void {
    this.#lanes.splice(this.#lanes.indexOf(lane), 1);
    lane.line.resource.dispose();
  }

  /** A request without a run in flight. */
  #take(): Lane {
    let lane = this.#lanes.find((lane) => !lane.isBusy);
    if (lane === undefined) {
      const name = `${this.#name}, request ${this.#lanes.length}`;
      const free = (object: Address) => this.context.values.free(object);
      lane = new Lane(name, this.#driver, this.resource, free, (flag) => this.request(flag));
      this.#lanes.push(lane);
    }
    lane.isBusy = true;
    return lane;
  }

  /** Sets the objects that the request does not have yet. */
  #set(lane: Lane, bound: Bound<T>): void {
    const { request, inputs, outputs } = lane;
    for (let i = 0; i < bound.inputs.length; i++) {
      const tensor = bound.inputs[i];
      if (inputs[i] === tensor.key) continue;
      inputs[i] = 0;
      request.setInput(i, objectFor(tensor, this.#reads[i].value));
      inputs[i] = tensor.key;
    }
    for (let i = 0; i < bound.outputs.length; i++) {
      const tensor = bound.outputs[i];
      if (tensor !== undefined && outputs[i] === tensor.key) continue;
      outputs[i] = 0;
      if (tensor === undefined) lane.leave(i);
      else request.setOutput(i, objectFor(tensor, this.#writes[i].value));
      outputs[i] = tensor?.key ?? 0;
    }
  }

  /** The tensors of a run, checked. */
  #bind(inputs: RunInputs<T>, outputs: RunOutputs<T>): Bound<T> {
    this.resource.assertLive();
    this.#assertNames(inputs, "inputs", this.#names.inputs);
    this.#assertNames(outputs, "outputs", this.#names.outputs);
    const uses: Use[] = [];
    const reads: T[] = [];
    const writes: (T | undefined)[] = [];
    for (const slot of this.#reads) reads.push(this.#tensorFor(slot, inputs, uses, "read"));
    for (const slot of this.#writes) {
      const isLeft = this.context.isHost && outputs[slot.name] === undefined; // a runtime makes CPU memory only
      writes.push(isLeft ? undefined : this.#tensorFor(slot, outputs, uses, "write"));
    }
    if (!this.#wereChecked(reads, writes)) this.#check(reads, writes);
    return { uses, inputs: reads, outputs: writes };
  }

  /** True if a run takes the same tensors as the last one that was checked. */
  #wereChecked(reads: readonly T[], writes: readonly (T | undefined)[]): boolean {
    const ids = this.#checked;
    if (ids.length === 0) return false;
    for (let i = 0; i < reads.length; i++) if (reads[i].id !== ids[i]) return false;
    for (let i = 0; i < writes.length; i++) if ((writes[i]?.id ?? 0) !== ids[reads.length + i]) return false;
    return true;
  }

  #check(reads: readonly T[], writes: readonly (T | undefined)[]): void {
    reads.forEach((tensor, i) => this.#assertFits(tensor, this.#reads[i]));
    writes.forEach((tensor, i) => tensor === undefined || this.#assertFits(tensor, this.#writes[i]));
    this.#assertApart(reads, writes);
    this.#checked = [...reads, ...writes].map((tensor) => tensor?.id ?? 0);
  }

  #assertNames(given: object, argument: string, names: Readonly<Record<string, true>>): void {
    const others = otherNames(object(given, argument), names);
    if (others === undefined) return;
    throw this.#checks.wrong(argument, `the model has no ${others}.`, `It has ${Object.keys(names).join(", ")}.`);
  }

  /** The tensor for a native value. The first plane adds the use of the whole frame. */
  #tensorFor(
    { name, plane, format, argument }: Slot,
    given: RunInputs<T>,
    uses: Use[],
    access: "read" | "write",
  ): T {
    const value: unknown = given[name];
    if (value === undefined) {
      throw this.#checks.wrong(
        argument,
        "it is missing.",
        `Pass a tensor for each ${access === "read" ? "in" : "out"}put.`,
      );
    }
    const { context } = this;
    const kind = plane === undefined ? Tensor : Frame<T>;
    if (!isMade<Mapped>(value, kind)) {
      throw this.#checks.wrongKind(argument, plane === undefined ? "a tensor" : "a frame", value);
    }
    if (!context.is(value)) {
      throw this.#checks.wrong(
        argument,
        `${value.name} is not of this context.`,
        "Map it: graph.map(tensor, context).",
      );
    }
    if (plane === undefined || plane === 0) uses.push({ tensor: value, access, argument });
    if (plane === undefined) return value as unknown as T;
    const { info, planes } = value as unknown as Frame<T>;
    if (info.format === format) return planes[plane];
    throw this.#checks.unfit(argument, `expected a frame of ${format}, got ${info.format}.`);
  }

  #assertFits(tensor: T, { value: { shape, dtype }, argument }: Slot): void {
    const { layout } = tensor;
    if (layout.dtype !== dtype) {
      throw this.#checks.unfit(argument, `expected ${dtype}, got ${layout.dtype}.`);
    }
    if (!isGapless(layout)) throw this.#checks.unfit(argument, "there are gaps between its elements.", DENSE);
    if (fitted(shape, layout.shape) !== undefined) return;
    throw this.#checks.unfit(argument, `expected the shape [${shape}], got [${layout.shape}].`);
  }

  /** Throws if an output shares bytes with another tensor of the run. */
  #assertApart(reads: readonly T[], writes: readonly (T | undefined)[]): void {
    writes.forEach((output, i) => {
      if (output === undefined) return;
      const others = [...reads, ...writes.slice(0, i)];
      const other = others.findIndex((tensor) => tensor?.grant.overlaps(output.grant));
      if (other < 0) return;
      const slot = other < reads.length ? this.#reads[other] : this.#writes[other - reads.length];
      throw this.#checks.wrong(this.#writes[i].argument, `it shares bytes with ${slot.argument}.`);
    });
  }

  /** The outputs of a run that is over. */
  #results(lane: Lane, bound: Bound<T>): RunOutputs<T> {
    using made = new DisposableStack();
    const results: Record<string, T> = {};
    this.#writes.forEach(({ name, value }, i) => {
      const given = bound.outputs[i];
      const tensor = given ?? this.context.adopt(lane.take(i), value);
      if (tensor === undefined) return;
      results[name] = tensor;
      if (given === undefined) made.use(tensor);
    });
    made.move();
    this.#countCopied(bound.inputs, results);
    return results;
  }

  /** Throws if the runtime gave a dynamic output another shape, because it had less to write than the tensor holds. */
  #assertWhole({ outputs }: Bound<T>): void {
    if (!this.#isDynamic) return;
    this.#writes.forEach(({ value, argument }, i) => {
      const tensor = outputs[i];
      if (tensor === undefined || !value.shape.includes(-1)) return;
      const expected = fitted(value.shape, tensor.shape)!;
      const object = objectFor(tensor, value);
      const shape = this.context.values.shapeOf(object);
      if (isSameShape(shape, expected)) return;
      tensor.forget(object);
      throw this.#checks.unfit(argument, `the result has the shape [${shape}], and the tensor [${tensor.shape}].`);
    });
  }

  #countCopied(inputs: readonly T[], results: RunOutputs<T>): void {
    if (this.#copied.size === 0) return;
    let bytes = 0;
    this.#reads.forEach(({ name }, i) => bytes += this.#copied.has(name) ? inputs[i].byteLength : 0);
    for (const name in results) if (this.#copied.has(name)) bytes += results[name].byteLength;
    this.context.countCopied(bytes);
  }
}

function namesOf(values: readonly ModelValue[]): Readonly<Record<string, true>> {
  return Object.fromEntries(values.map(({ name }) => [name, true]));
}

/** Keeps resources that end meanwhile from throwing the error again, which the run's promise or `run()` throws. */
function noteThrown({ line }: Lane, uses: readonly Use[], error: unknown): void {
  for (const { tensor } of uses) tensor.resource.noteThrown(error);
  line.resource.noteThrown(error);
}

/** Waits for work on the inputs, as the run would, and throws its error. */
function raiseFailures(uses: readonly Use[], own: Lane["line"]): void {
  for (const use of uses) {
    if (use.access !== "read" || use.tensor.isReadyFor(own, "read")) continue;
    eachConflict([use], (line, mark) => {
      line.block(mark);
      line.raise(mark);
    });
  }
}

/**
 * A shape with the model's number of dimensions; undefined if it does not fit. If the two differ in number, dimensions
 * of 1 do not count: an image `[480, 640, 3]` fits `[1, 480, 640, 3]`, and also a model that takes any number of images.
 */
function fitted(expected: readonly number[], given: readonly number[]): readonly number[] | undefined {
  const isFit = (n: number, of: number) => n === -1 || n === of;
  if (expected.length === given.length) return expected.every((n, i) => isFit(n, given[i])) ? given : undefined;
  const shape: number[] = [];
  let at = given.length - 1;
  for (const n of expected.toReversed()) {
    while (at >= 0 && given[at] === 1 && n !== 1 && n !== -1) at--;
    const takes = at >= 0 && isFit(n, given[at]);
    if (!takes && n !== 1 && n !== -1) return undefined;
    shape.unshift(takes ? given[at--] : 1);
  }
  return given.slice(0, at + 1).every((n) => n === 1) ? shape : undefined;
}

/** The runtime's object over a tensor, in the model's shape. */
function objectFor(tensor: InferenceTensor, { shape, elements }: ModelValue): Address {
  return tensor.objectIn(fitted(shape, tensor.shape)!, elements);
}
