import {
  CL_COMPLETE,
  CL_EVENT_COMMAND_EXECUTION_STATUS,
  CL_MEM_COPY_HOST_PTR,
  CL_TRUE,
} from "../../ffi/opencl/constants.ts";
import type { OpenCL } from "../../ffi/opencl/functions.ts";
import type { ClCommandQueue, ClContext, ClEvent, ClKernel, ClMem } from "../../ffi/opencl/handles.ts";
import { SYMBOLS } from "../../ffi/opencl/symbols.ts";
import type { Address } from "../../ffi/address.ts";
import { until } from "./bytes.ts";

let library: OpenCL | undefined;

/** OpenCL as C has it: opened by the tests for themselves, and known to nothing in samepage. */
function raw(): OpenCL {
  return library ??= Deno.dlopen("libOpenCL.so.1", SYMBOLS).symbols as unknown as OpenCL;
}

/** A queue of the tests' own, past everything of samepage's. */
export class RawQueue implements Disposable {
  readonly #context: ClContext;
  readonly #queue: ClCommandQueue;

  constructor(context: ClContext, device: bigint) {
    this.#context = context;
    this.#queue = made((errcode) => raw().clCreateCommandQueue(context, device as never, 0n, errcode));
  }

  /** Submits and flushes a kernel, with the bytes of each argument; answers its event. */
  run(kernel: ClKernel, items: readonly number[], args: readonly BigUint64Array<ArrayBuffer>[]): ClEvent {
    args.forEach((arg, i) => check(raw().clSetKernelArg(kernel, i, 8n, arg)));
    const [size, event] = [words(items.map(BigInt)), new BigUint64Array(1)];
    check(raw().clEnqueueNDRangeKernel(this.#queue, kernel, items.length, null, size, null, 0, null, event));
    check(raw().clFlush(this.#queue));
    return event[0] as ClEvent;
  }

  /** Has `submit` run a kernel that uses a buffer of these bytes; what it answers polls until that is done. */
  from(bytes: Uint8Array<ArrayBuffer>, submit: (buffer: ClMem) => bigint): () => Promise<void> {
    const buffer = this.#scratch(bytes);
    const event = submit(buffer) as ClEvent;
    return async () => {
      const status = new Int32Array(1);
      const over = await until(() => {
        check(raw().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, 4n, status, null));
        return status[0] <= CL_COMPLETE;
      });
      raw().clReleaseEvent(event);
      raw().clReleaseMemObject(buffer);
      if (!over || status[0] < CL_COMPLETE) throw new Error(`the kernel that writes ended with ${status[0]}`);
    };
  }

  /** Has `submit` run a kernel that fills a buffer, and fetches what is in it then. */
  to(byteLength: number, submit: (buffer: ClMem) => bigint): Uint8Array {
    const bytes = new Uint8Array(new ArrayBuffer(byteLength));
    const buffer = this.#scratch(bytes);
    raw().clReleaseEvent(submit(buffer) as ClEvent);
    const address = BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes))) as Address;
    check(
      raw().clEnqueueReadBuffer(this.#queue, buffer, CL_TRUE, 0n, BigInt(byteLength), address, 0, null, null),
    );
    raw().clReleaseMemObject(buffer);
    return bytes;
  }

  [Symbol.dispose](): void {
    check(raw().clReleaseCommandQueue(this.#queue));
  }

  #scratch(bytes: Uint8Array<ArrayBuffer>): ClMem {
    const address = BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes))) as Address;
    return made((errcode) =>
      raw().clCreateBuffer(this.#context, CL_MEM_COPY_HOST_PTR, BigInt(bytes.length), address, errcode)
    );
  }
}

/** 64-bit words. */
export function words(values: readonly bigint[]): BigUint64Array<ArrayBuffer> {
  return new BigUint64Array(values);
}

function check(code: number): void {
  if (code !== 0) throw new Error(`the tests' own OpenCL call failed with ${code}`);
}

function made<H>(create: (errcode: Int32Array<ArrayBuffer>) => H): H {
  const errcode = new Int32Array(1);
  const handle = create(errcode);
  check(errcode[0]);
  return handle;
}
