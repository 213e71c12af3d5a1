import { cudaEventDefault } from "../../ffi/cuda_runtime/constants.ts";
import type { CudaEvent as EventHandle } from "../../ffi/cuda_runtime/handles.ts";
import type { Fence } from "../core/device/fence.ts";
import { ArgumentError } from "../core/errors.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { checks } from "./check.ts";
import { check } from "./errors.ts";
import { createEvent, destroyEvent } from "./events.ts";
import { cudart } from "./library.ts";
import { CudaStream, type CudaStreamContext } from "./stream.ts";

/**
 * Measures work of a stream by the device's clock, with two timing events. Made by `cuda.timer()`.
 *
 * @example
 * ```ts ignore
 * import { CudaContext } from "@samepage/interop/cuda";
 *
 * using cuda = CudaContext.open();
 * using tensor = cuda.allocate({ shape: [1 << 20], dtype: "u8" });
 * using timer = cuda.timer();
 * timer.start();
 * cuda.stream.fill(tensor, 0);
 * timer.stop();
 * await cuda.stream.finished();
 * console.log(`${timer.milliseconds()} ms`);
 * ```
 */
export class CudaTimer extends NativeObject {
  /** Its end of life. */
  readonly resource: Resource;
  readonly #context: CudaStreamContext;
  readonly #begin: EventHandle;
  readonly #end: EventHandle;
  #started = false;
  #stopped: Fence | undefined;

  /** Made by the context. */
  constructor(context: CudaStreamContext) {
    super();
    this.#context = context;
    const begin = this.#begin = createEvent(context, cudaEventDefault);
    try {
      this.#end = createEvent(context, cudaEventDefault);
    } catch (error) {
      destroyEvent(context, begin);
      throw error;
    }
    const end = this.#end;
    const undo = [() => destroyEvent(context, begin), () => destroyEvent(context, end)];
    this.resource = new Resource({ name: "cuda timer", owners: [context.resource], undo });
    finalizers.register(this, this.resource, this);
  }

  /** Starts to measure. */
  start(stream: CudaStream = this.#context.stream): void {
    this.#record(this.#begin, stream);
    this.#started = true;
    this.#stopped = undefined;
  }

  /** Stops. @throws {ArgumentError} if it was not started. */
  stop(stream: CudaStream = this.#context.stream): void {
    this.resource.assertLive();
    if (!this.#started) throw this.#not("stop()", "it was not started");
    this.#record(this.#end, stream);
    this.#stopped = stream.fence();
  }

  /**
   * The measured time in milliseconds, once the work is over.
   *
   * @throws {ArgumentError} if the timer was not stopped, or the work is not over yet.
   */
  milliseconds(): number {
    this.resource.assertLive();
    if (!this.#stopped?.reached()) {
      throw this.#not("milliseconds()", this.#stopped ? "the work is not done yet" : "it was not stopped");
    }
    const out = new Float32Array(1);
    check(cudart().cudaEventElapsedTime(out, this.#begin, this.#end), "cudaEventElapsedTime");
    return out[0];
  }

  #not(call: string, what: string): ArgumentError {
    return new ArgumentError(`${call}: ${what}.`, {
      api: "cuda",
      fn: "cudaEventElapsedTime",
      argument: "timer",
      hint: "Call start(), stop(), and wait: await stream.finished().",
    });
  }

  #record(event: EventHandle, stream: CudaStream): void {
    this.resource.assertLive();
    checks.assertInstance<CudaStream>(stream, CudaStream, "stream");
    checks.assertHere(stream.context, this.#context, "stream");
    const { handle } = stream;
    this.#context.within(() => check(cudart().cudaEventRecord(event, handle), "cudaEventRecord"));
  }
}
