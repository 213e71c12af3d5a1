import { type Address, NULL } from "../../ffi/address.ts";
import type { NativeFlag } from "../core/device/native_flag.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import type { Request } from "../inference/line.ts";
import type { ModelValue } from "../inference/session.ts";
import { call, check, errorOf, ov, resultOf } from "./library.ts";
import { elements } from "./memory.ts";
import { ownTensor, values } from "./values.ts";

/** An `ov_infer_request_t`. */
export class OpenVINORequest implements Request {
  readonly fn = "ov_infer_request_start_async";
  readonly #request: Address;
  readonly #outputs: readonly ModelValue[];
  readonly #undo: Undo = [];
  readonly #words: CallbackWords;
  /** The tensors that runs write if the program gave none, by output. */
  readonly #made: Address[];

  readonly run: (() => void) | undefined;

  /** OpenVINO calls the flag at the end of each run. `threads` is the model's number of threads. */
  constructor(model: Address, threads: string, outputs: readonly ModelValue[], flag: NativeFlag) {
    // On one thread, OpenVINO 2026.4 loses the failure of a run that waits for itself, and reports success.
    this.run = threads === "1" ? undefined : () => call("ov_infer_request_infer", this.#request);
    this.#outputs = outputs;
    this.#made = outputs.map(() => NULL);
    [this.#words, this.#request] = allOrNothing("making a request", (undo) => {
      const words = new CallbackWords(2, undo); // OpenVINO reads the struct at each call
      words.all.set([flag.callback, flag.data]);
      const request = resultOf("ov_compiled_model_create_infer_request", model);
      undo.push(() => ov().ov_infer_request_free(request));
      call("ov_infer_request_set_callback", request, words.all);
      return [words, request];
    }, this.#undo);
  }

  setInput(i: number, tensor: Address): void {
    const code = ov().ov_infer_request_set_input_tensor_by_index(this.#request, BigInt(i), tensor);
    check(code, "ov_infer_request_set_input_tensor_by_index");
  }

  setOutput(i: number, tensor: Address): void {
    const code = ov().ov_infer_request_set_output_tensor_by_index(this.#request, BigInt(i), tensor);
    check(code, "ov_infer_request_set_output_tensor_by_index");
  }

  /** A tensor of a dynamic shape has no memory at first: OpenVINO allocates what the result needs. */
  leaveOutput(i: number): void {
    const made = ownTensor(...this.#leastOf(i));
    allOrNothing("leaving an output to OpenVINO", () => this.setOutput(i, made), [() => values.free(made)]);
    this.#made[i] = made;
  }

  madeOutput(i: number): Address {
    return this.#made[i];
  }

  /** Gives the request a tensor without memory, because it keeps a reference to its tensors. No run uses it. */
  letGoOfOutput(i: number): void {
    const idle = values.over(this.#words.addressOf(0), ...this.#leastOf(i), 0);
    try {
      this.setOutput(i, idle);
    } finally {
      values.free(idle);
    }
  }

  start(): number {
    return ov().ov_infer_request_start_async(this.#request);
  }

  cancel(): void {
    call("ov_infer_request_cancel", this.#request);
  }

  /** Waits until the request is idle, because a run calls back shortly before that. */
  failure(): Error | undefined {
    const code = ov().ov_infer_request_wait(this.#request);
    return code === 0 ? undefined : errorOf(code, "ov_infer_request_wait");
  }

  release(): void {
    undoAll(this.#undo, "ending a request");
  }

  /** The type of an output, and its smallest shape. */
  #leastOf(i: number): [type: number, shape: readonly number[]] {
    const { dtype, elements: name, shape } = this.#outputs[i];
    return [elements.typeOf(dtype, name), shape.map((n) => Math.max(n, 0))];
  }
}
