import { type Address, NULL } from "../../ffi/address.ts";
import type { NativeFlag } from "../core/device/native_flag.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import { CallbackWords } from "../core/native/callbacks.ts";
import type { Request } from "../inference/line.ts";
import type { ModelValue } from "../inference/session.ts";
import { call, check, errorOf, ov, resultOf } from "./library.ts";
import { OTHERS, TYPES } from "./memory.ts";
import { ownTensor } from "./values.ts";

/** An `ov_infer_request_t`. */
export class OpenVINORequest implements Request {
  readonly fn = "ov_infer_request_start_async";
  readonly #request: Address;
  readonly #outputs: readonly ModelValue[];
  readonly #undo: Undo = [];
  /** The tensors that runs write, until they are taken. */
  readonly #own: Address[];

  /** Calls the flag at the end of each run. */
  constructor(model: Address, outputs: readonly ModelValue[], flag: NativeFlag) {
    this.#outputs = outputs;
    this.#own = outputs.map(() => NULL);
    this.#request = allOrNothing("making a request", (undo) => {
      const words = new CallbackWords(2, undo); // OpenVINO reads the struct at each call
      words.all.set([flag.callback, flag.data]);
      const request = resultOf("ov_compiled_model_create_infer_request", model);
      undo.push(() => ov().ov_infer_request_free(request));
      call("ov_infer_request_set_callback", request, words.all);
      return request;
    }, this.#undo);
  }

  setInput(i: number, tensor: Address): void {
    const code = ov().ov_infer_request_set_input_tensor_by_index(this.#request, BigInt(i), tensor);
    check(code, "ov_infer_request_set_input_tensor_by_index");
  }

  setOutput(i: number, tensor: Address): void {
    const code = ov().ov_infer_request_set_output_tensor_by_index(this.#request, BigInt(i), tensor);
    check(code, "ov_infer_request_set_output_tensor_by_index");
    this.#freeOwn(i);
  }

  /** A tensor of a dynamic shape has no memory at first: OpenVINO gives it what the result needs. */
  leaveOutput(i: number): void {
    const { dtype, elements, shape } = this.#outputs[i];
    const type = elements === undefined ? TYPES[dtype] : OTHERS[elements].type;
    const own = ownTensor(type, shape.map((n) => Math.max(n, 0)));
    allOrNothing("leaving an output to OpenVINO", () => this.setOutput(i, own), [() => ov().ov_tensor_free(own)]);
    this.#own[i] = own;
  }

  takeOutput(i: number): Address {
    const own = this.#own[i];
    this.#own[i] = NULL;
    return own;
  }

  run(): void {
    check(ov().ov_infer_request_infer(this.#request), "ov_infer_request_infer");
  }

  start(): number {
    return ov().ov_infer_request_start_async(this.#request);
  }

  cancel(): void {
    call("ov_infer_request_cancel", this.#request);
  }

  /** A run calls back shortly before its request is idle: this waits for that. */
  failure(): Error | undefined {
    const code = ov().ov_infer_request_wait(this.#request);
    return code === 0 ? undefined : errorOf(code, "ov_infer_request_wait");
  }

  release(): void {
    for (let i = 0; i < this.#own.length; i++) this.#freeOwn(i);
    undoAll(this.#undo, "ending a request");
  }

  #freeOwn(i: number): void {
    if (this.#own[i] !== NULL) ov().ov_tensor_free(this.takeOutput(i));
  }
}
