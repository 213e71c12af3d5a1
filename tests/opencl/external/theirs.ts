/**
 * A program's own code with semaphores, as C has it: samepage knows nothing of what it submits.
 *
 * @module
 */
import type { OpenCLContext, OpenCLQueue } from "@samepage/interop/opencl";
import { NULL } from "../../../ffi/address.ts";
import type { Semaphores } from "../../../ffi/opencl_semaphore/functions.ts";
import type { ClSemaphoreKhr } from "../../../ffi/opencl_semaphore/handles.ts";
import { check, errcode, made } from "../../../src/opencl/errors.ts";
import { semaphoreProperties } from "../../../src/opencl/external/handles.ts";
import { semaphoresOf } from "../../../src/opencl/external/semaphore.ts";
import { opencl } from "../../../src/opencl/library.ts";

/** The commands. */
export const SIGNAL = "clEnqueueSignalSemaphoresKHR";
export const WAIT = "clEnqueueWaitSemaphoresKHR";

const CREATE = "clCreateSemaphoreWithPropertiesKHR";

/** A semaphore of the program's own code. */
export class Theirs {
  /** It. */
  readonly handle: ClSemaphoreKhr;
  readonly #functions: Semaphores;

  /** Their code makes a binary one. */
  constructor({ device, handle: context }: OpenCLContext) {
    this.#functions = semaphoresOf(device);
    this.handle = made(this.#functions[CREATE](context, semaphoreProperties([]), errcode), CREATE);
  }

  /** Their code submits a signal, or a wait, to a queue of theirs. */
  submit(command: typeof SIGNAL | typeof WAIT, { handle }: OpenCLQueue): void {
    check(this.#functions[command](handle, 1, BigUint64Array.of(this.handle), null, 0, NULL, NULL), command);
    check(opencl().clFlush(handle), "clFlush");
  }

  /** Their code releases it. */
  [Symbol.dispose](): void {
    check(this.#functions.clReleaseSemaphoreKHR(this.handle), "clReleaseSemaphoreKHR");
  }
}
