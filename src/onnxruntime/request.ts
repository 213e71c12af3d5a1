import { type Address, NULL } from "../../ffi/address.ts";
import type { NativeFlag } from "../core/device/native_flag.ts";
import { undoAll } from "../core/life/undo.ts";
import type { Undo } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import type { Request } from "../inference/line.ts";
import { endedCallback, RUN } from "./callback.ts";
import { check, ort, resultOf, statusError } from "./library.ts";

/** What a session has of its model. */
export interface NativeModel {
  readonly session: Address;
  /** Two lists of addresses of names. */
  readonly inputNames: Address;
  readonly outputNames: Address;
  readonly inputs: number;
  readonly outputs: number;
}

/** The arguments of runs, one after the other, in memory that ONNX Runtime's threads may read. */
export class OnnxRuntimeRequest implements Request {
  readonly fn = "RunAsync";
  readonly #model: NativeModel;
  readonly #words: CallbackWords;
  readonly #options: Address;
  readonly #undo: Undo;
  #isTerminated = false;

  /** Takes the list over. */
  constructor(model: NativeModel, flag: NativeFlag, undo: Undo) {
    this.#model = model;
    this.#undo = undo;
    this.#words = new CallbackWords(RUN.values + model.inputs + model.outputs, undo);
    this.#words.all[RUN.flag] = flag.data;
    this.#options = resultOf("CreateRunOptions", (out) => ort().CreateRunOptions(out));
    undo.push(() => ort().ReleaseRunOptions(this.#options));
  }

  setInput(i: number, value: Address): void {
    this.#words.all[RUN.values + i] = value;
  }

  setOutput(i: number, value: Address): void {
    this.#words.all[this.#wordOf(i)] = value;
  }

  leaveOutput(i: number): void {
    this.setOutput(i, NULL);
  }

  madeOutput(i: number): Address {
    return this.#words.all[this.#wordOf(i)] as Address;
  }

  run(): void {
    const { session, inputNames, inputs, outputNames, outputs } = this.#model;
    const [from, to] = [this.#words.addressOf(RUN.values), this.#words.addressOf(this.#wordOf(0))];
    const counts = [BigInt(inputs), BigInt(outputs)];
    check(ort().Run(session, NULL, inputNames, from, counts[0], outputNames, counts[1], to), "Run");
  }

  start(): number {
    const { session, inputNames, inputs, outputNames, outputs } = this.#model;
    const [from, to] = [this.#words.addressOf(RUN.values), this.#words.addressOf(this.#wordOf(0))];
    if (this.#isTerminated) check(ort().RunOptionsUnsetTerminate(this.#options), "RunOptionsUnsetTerminate");
    this.#isTerminated = false;
    const [callback, run] = [endedCallback(), this.#words.addressOf(0)];
    const counts = [BigInt(inputs), BigInt(outputs)];
    check(
      ort().RunAsync(session, this.#options, inputNames, from, counts[0], outputNames, counts[1], to, callback, run),
      this.fn,
      { hint: "It needs a second thread: compile(model, { threads: 2 })." },
    );
    return 0;
  }

  cancel(): void {
    this.#isTerminated = true;
    check(ort().RunOptionsSetTerminate(this.#options), "RunOptionsSetTerminate");
  }

  failure(): Error | undefined {
    const status = this.#words.all[RUN.status] as Address;
    this.#words.all[RUN.status] = NULL;
    return status === NULL ? undefined : statusError(status, this.fn);
  }

  release(): void {
    undoAll(this.#undo, "ending a run");
  }

  #wordOf(output: number): number {
    return RUN.values + this.#model.inputs + output;
  }
}
