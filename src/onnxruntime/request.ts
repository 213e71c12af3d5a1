import { type Address, NULL } from "../../ffi/address.ts";
import type { NativeFlag } from "../core/device/native_flag.ts";
import { undoAll } from "../core/life/undo.ts";
import type { Undo } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import type { OrtApiFunctions } from "../../ffi/onnxruntime_api/functions.ts";
import type { Request } from "../inference/line.ts";
import { call, check, library, ort, resultOf, statusError } from "./library.ts";
import { RUN, runCode } from "./run_code.ts";

/** A native session, and the names of its inputs and outputs. */
export interface NativeModel {
  readonly session: Address;
  /** Arrays of `char *`. */
  readonly inputNames: Address;
  readonly outputNames: Address;
  /** The numbers of inputs and outputs. */
  readonly inputs: number;
  readonly outputs: number;
}

/** The arguments of one run at a time, in memory that ONNX Runtime's threads may read. */
export class OnnxRuntimeRequest implements Request {
  readonly fn = "Run";
  /** Settles after the newest run has posted its flag. */
  ended: Promise<void> | undefined;
  readonly #words: CallbackWords;
  readonly #values: BigUint64Array<ArrayBuffer>;
  readonly #inputs: number;
  readonly #options: Address;
  readonly #here: Parameters<OrtApiFunctions["Run"]>;
  readonly #undo: Undo;
  #isTerminated = false;

  /** Takes over the undo list. */
  constructor({ session, inputNames, outputNames, inputs, outputs }: NativeModel, flag: NativeFlag, undo: Undo) {
    this.#undo = undo;
    this.#inputs = inputs;
    const words = this.#words = new CallbackWords(RUN.values + inputs + outputs, undo);
    this.#values = words.all.subarray(RUN.values);
    this.#options = resultOf("CreateRunOptions");
    undo.push(() => ort().ReleaseRunOptions(this.#options));
    const [read, written] = [0, inputs].map((value) => words.addressOf(RUN.values + value));
    const counts = [BigInt(inputs), BigInt(outputs)];
    this.#here = [session, NULL, inputNames, read, counts[0], outputNames, counts[1], written];
    words.all.set([flag.data, NULL, library.opened.run, ...this.#here]);
    words.all[RUN.options] = this.#options;
  }

  setInput(i: number, value: Address): void {
    this.#values[i] = value;
  }

  setOutput(i: number, value: Address): void {
    this.#values[this.#inputs + i] = value;
  }

  leaveOutput(i: number): void {
    this.setOutput(i, NULL);
  }

  madeOutput(i: number): Address {
    return this.#values[this.#inputs + i] as Address;
  }

  run(): void {
    check(ort().Run(...this.#here), this.fn);
  }

  start(): number {
    if (this.#isTerminated) call("RunOptionsUnsetTerminate", this.#options);
    this.#isTerminated = false;
    this.ended = runCode().RunElsewhere(this.#words.addressOf(0));
    return 0;
  }

  cancel(): void {
    this.#isTerminated = true;
    call("RunOptionsSetTerminate", this.#options);
  }

  failure(): Error | undefined {
    const status = this.#words.all[RUN.status] as Address;
    this.#words.all[RUN.status] = NULL;
    return status === NULL ? undefined : statusError(status, this.fn);
  }

  release(): void {
    undoAll(this.#undo, "ending a run");
  }
}
