import {
  CL_COMPLETE,
  CL_EVENT_COMMAND_EXECUTION_STATUS,
  CL_MEM_COPY_HOST_PTR,
  CL_TRUE,
} from "../../ffi/opencl/constants.ts";
import type { OpenCL } from "../../ffi/opencl/functions.ts";
import type { ClCommandQueue, ClContext, ClEvent, ClKernel, ClMem, ClPlatformId } from "../../ffi/opencl/handles.ts";
import { SYMBOLS } from "../../ffi/opencl/symbols.ts";
import { SYMBOLS as USM } from "../../ffi/opencl_usm/symbols.ts";
import { type Address, NULL } from "../../ffi/address.ts";
import { pinned } from "../../src/core/native/pin.ts";
import { until } from "./bytes.ts";

let library: OpenCL | undefined;

/** OpenCL as C has it: opened by the tests for themselves, and known to nothing in samepage. */
function raw(): OpenCL {
  return library ??= Deno.dlopen("libOpenCL.so.1", SYMBOLS).symbols as unknown as OpenCL;
}

/** clSetKernelArgMemPointerINTEL, as a driver has it. */
function rawUsm(platform: ClPlatformId) {
  const name = new TextEncoder().encode("clSetKernelArgMemPointerINTEL\0");
  const address = raw().clGetExtensionFunctionAddressForPlatform(platform, name);
  const { clSetKernelArgMemPointerINTEL: symbol } = USM;
  return new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<typeof symbol>(address)!, symbol);
}

/** Passes 64 bits. */
function setWord(kernel: ClKernel, index: number, word: bigint): number {
  return pinned(BigUint64Array.of(word), "opencl", (address) => raw().clSetKernelArg(kernel, index, 8n, address));
}

/** The functions that pass memory to a kernel; which of them depends on the kind of memory. */
export const PASS = {
  mem: (mem: ClMem) => (kernel: ClKernel, index: number) => setWord(kernel, index, mem),
  svm: (address: Address) => (kernel: ClKernel, index: number) =>
    raw().clSetKernelArgSVMPointer!(kernel, index, address),
  usm: (address: Address, platform: ClPlatformId) => (kernel: ClKernel, index: number) =>
    rawUsm(platform).call(kernel, index, address),
} as const;

/** Where a kernel finds bytes. */
export interface Place {
  /** Passes the memory that they are in; returns the driver's code. */
  readonly pass: (kernel: ClKernel, index: number) => number;
  /** Where in it, in bytes. */
  readonly offset: number;
  /** How many bytes. */
  readonly length: number;
}

/** How a kernel is run on bytes, or on pixels: the passing of each argument, and its work-items. */
export interface RawRun {
  /** The kernel. */
  readonly kernel: ClKernel;
  /** Work-items along each dimension. */
  readonly items: readonly number[];
  /** Passes each argument; returns the driver's code. */
  readonly pass: readonly Place["pass"][];
}

/** Passes a `ulong`. */
export function ulong(value: bigint | number): Place["pass"] {
  return (kernel, index) => setWord(kernel, index, BigInt(value));
}

/** A queue of the tests' own. */
export class RawQueue implements Disposable {
  readonly #context: ClContext;
  readonly #queue: ClCommandQueue;

  constructor(context: ClContext, device: bigint) {
    this.#context = context;
    this.#queue = made((errcode) => raw().clCreateCommandQueue(context, device as never, 0n, errcode));
  }

  /** Submits and flushes a kernel that takes these bytes from a buffer; what it returns polls until it is done. */
  write(bytes: Uint8Array<ArrayBuffer>, run: (from: Place["pass"]) => RawRun): () => Promise<void> {
    const from = this.#scratch(bytes);
    const event = this.#run(run(PASS.mem(from)));
    return async () => {
      let status = 0;
      const over = await until(() => (status = statusOf(event)) <= CL_COMPLETE);
      raw().clReleaseEvent(event);
      raw().clReleaseMemObject(from);
      if (!over || status < CL_COMPLETE) throw new Error(`the kernel that writes ended with ${status}`);
    };
  }

  /** Has a kernel put so many bytes into a buffer, and fetches them. */
  read(byteLength: number, run: (to: Place["pass"]) => RawRun): Uint8Array {
    const bytes = new Uint8Array(new ArrayBuffer(byteLength));
    const to = this.#scratch(bytes);
    raw().clReleaseEvent(this.#run(run(PASS.mem(to))));
    const address = BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes))) as Address;
    check(
      raw().clEnqueueReadBuffer(this.#queue, to, CL_TRUE, 0n, BigInt(byteLength), address, 0, NULL, NULL),
    );
    raw().clReleaseMemObject(to);
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

  #run({ kernel, items, pass }: RawRun): ClEvent {
    pass.forEach((set, i) => check(set(kernel, i)));
    const event = new BigUint64Array(1);
    const { clEnqueueNDRangeKernel } = raw();
    pinned(BigUint64Array.from(items, BigInt), "opencl", (size) => {
      pinned(event, "opencl", (at) => {
        check(clEnqueueNDRangeKernel(this.#queue, kernel, items.length, NULL, size, NULL, 0, NULL, at));
      });
    });
    check(raw().clFlush(this.#queue));
    return event[0] as ClEvent;
  }
}

/** How far an event's command is. */
function statusOf(event: ClEvent): number {
  const status = new Int32Array(1);
  pinned(status, "opencl", (at) => check(raw().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, 4n, at, NULL)));
  return status[0];
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
