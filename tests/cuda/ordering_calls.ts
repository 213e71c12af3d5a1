/**
 * CUDA's calls that order work, as text, for a device whose work is in flight until the host waits for it or a test ends
 * it.
 *
 * @module
 */
import type { Address } from "../../ffi/address.ts";
import * as cu from "../../ffi/cuda_driver/constants.ts";
import { cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import type { Fakes } from "./kernels/recording.ts";

/** Streams of other code's. */
export const [THEIRS, OF_ANOTHER_DEVICE] = [0x501n, 0x601n];

/** Memory of other code's. */
export const ARRAY = 0x7000_0000_0000n as Address;

/** The calls that the device got, in order. */
export const issued: string[] = [];

/** False while work is in flight. */
export const device = { isIdle: true };

const on = (stream: bigint) => stream === THEIRS ? "theirs" : stream === 1n ? "legacy" : "ours";

const notes = (line: (...args: bigint[]) => string) => (...args: bigint[]) => {
  issued.push(line(...args));
  return 0;
};

const waits = (line: (...args: bigint[]) => string) => (...args: bigint[]) => {
  device.isIdle = true;
  return notes(line)(...args);
};

const contextOf = (stream: bigint, context: BigUint64Array) => {
  context[0] = stream === OF_ANOTHER_DEVICE ? 0x1001n : 0x1000n;
  return 0;
};

/** The calls. @param memory the type of {@link ARRAY}: `CU_MEMORYTYPE_DEVICE` */
export function orderingCalls(memory: number): Fakes {
  const attributes = new Map([
    [cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, BigInt(memory)],
    [cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 0n],
    [cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, ARRAY],
    [cu.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, ARRAY],
    [cu.CU_POINTER_ATTRIBUTE_HOST_POINTER, ARRAY],
    [cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE, 4096n],
  ]);
  return {
    cuMemsetD2D32Async: notes((...args) => `fill on ${on(args[5])}`),
    cudaEventRecord: notes((_event, stream) => `record on ${on(stream)}`),
    cudaStreamWaitEvent: notes((stream) => `wait on ${on(stream)}`),
    cudaEventQuery: () => device.isIdle ? 0 : cudaErrorNotReady,
    cudaStreamSynchronize: waits((stream) => `host waits for ${on(stream)}`),
    cudaEventSynchronize: waits(() => "host waits for an event"),
    cuStreamGetCtx: contextOf,
    cuStreamGetCtx_v2: contextOf,
    cuCtxGetDevice: (device: Int32Array) => {
      device[0] = 1;
      return 0;
    },
    cuPointerGetAttribute: (out: BigUint64Array, attribute: number) => {
      out[0] = attributes.get(attribute) ?? out[0];
      return 0;
    },
  };
}
