/** The thread's current context, over a recording: how often it is asked for and switched, for calls to each device. */
import { assertEquals } from "@std/assert";
import type { Address } from "../../ffi/address.ts";
import { CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE } from "../../ffi/cuda_driver/errors.ts";
import { cudaStreamPerThread } from "../../ffi/cuda_runtime/constants.ts";
import { cudaFuncAttributes, readCudaExternalSemaphoreHandleDesc } from "../../ffi/cuda_runtime/structs.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { CudaContext } from "../../src/cuda/mod.ts";
import { recordedTests } from "./recorded.ts";

const INIT = { shape: [64], dtype: "u8" } as const;

/** The primary contexts of the recorded devices. */
const [FIRST, SECOND, NONE] = [0x1000n, 0x1001n, 0n];

let current = NONE;
const told: string[] = [];
const onStream = (name: string) => () => {
  told.push(`${name} in ${current.toString(16)}`);
  return 0;
};

/** What the driver is asked for on a thread without a context. */
let wantsContext = false;
const byDriver = (name: string) => () => {
  told.push(`${name} in ${current.toString(16)}`);
  return wantsContext && current === NONE ? CUDA_ERROR_INVALID_CONTEXT : 0;
};

const recordedTest = recordedTests({
  cuCtxGetCurrent: (out: bigint) => {
    told.push("get");
    viewAt(out as Address, 8, "test").setBigUint64(0, current, true);
    return 0;
  },
  cuCtxSetCurrent: (context: bigint) => {
    told.push(`set ${context.toString(16)}`);
    current = context;
    return 0;
  },
  cudaMemset2DAsync: onStream("fill"),
  cudaEventRecord: onStream("record"),
  cudaStreamWaitEvent: onStream("wait"),
  cudaEventQuery: () => 600, // cudaErrorNotReady
  cudaLibraryGetKernel: (out: BigUint64Array) => {
    out[0] = 1n;
    return 0;
  },
  cuKernelGetParamInfo: () => CUDA_ERROR_INVALID_VALUE, // it has none
  cudaFuncGetAttributes: (attributes: Uint8Array) => {
    attributes[cudaFuncAttributes.fields.maxThreadsPerBlock.offset] = 1;
    return 0;
  },
  cudaImportExternalSemaphore: (out: BigUint64Array, description: DataView) => {
    closeFd(Number(readCudaExternalSemaphoreHandleDesc(description, 0).handle));
    out[0] = 1n;
    return 0;
  },
  cudaDestroyExternalSemaphore: () => 0,
  cuLaunchKernelEx: byDriver("launch"),
  cuSignalExternalSemaphoresAsync: byDriver("signal"),
});

/** What a command takes, and an event behind it for which another stream waits. */
function toldOf(cuda: CudaContext, before: bigint): readonly (readonly string[])[] {
  using tensor = cuda.allocate(INIT);
  using other = cuda.createStream();
  cuda.stream.fill(tensor, 1);
  other.waitFor(cuda.stream.fence());
  current = before;
  told.length = 0;
  cuda.stream.fill(tensor, 2);
  const filled = told.splice(0);
  other.waitFor(cuda.stream.fence());
  const waited = told.splice(0);
  assertEquals(current, before === NONE && cuda.device.ordinal === 0 ? FIRST : before, "afterwards");
  return [filled, waited.filter((line) => !line.startsWith("get") || cuda.device.ordinal > 0)];
}

recordedTest("a call that takes its device from a stream works in any context, and others switch once", () => {
  using first = CudaContext.open({ ordinal: 0 });
  using second = CudaContext.open({ ordinal: 1 });
  for (const cuda of [first, second]) toldOf(cuda, FIRST); // which makes the events that are recorded again
  assertEquals(toldOf(first, FIRST), [["get", "fill in 1000"], ["record in 1000", "wait in 1000"]]);
  assertEquals(toldOf(first, SECOND), [
    ["get", "set 1000", "fill in 1000", "set 1001"],
    ["record in 1001", "wait in 1001"],
  ]);
  assertEquals(toldOf(second, FIRST), [
    ["get", "set 1001", "fill in 1001", "set 1000"],
    ["get", "record in 1000", "get", "wait in 1000"],
  ]);
  assertEquals(toldOf(second, NONE), [
    ["get", "set 1001", "fill in 1001", "set 0"],
    ["get", "set 1001", "record in 1001", "set 0", "get", "set 1001", "wait in 1001", "set 0"],
  ]);
});

recordedTest("a launch and a signal take the context from the stream, and the thread's is not asked for", () => {
  using cuda = CudaContext.open({ ordinal: 1 });
  using kernel = cuda.programFromPtx(".version 8.0\n").kernel("nothing", []);
  using perThread = cuda.attachStream(BigInt(cudaStreamPerThread));
  using semaphore = cuda.importSemaphore(libc().eventfd(0, 0));
  const launch = (stream = cuda.stream) => kernel.run({ groups: [1], groupSize: [1] }, [], { stream });
  const toldIn = (before: bigint, submit: () => void) => {
    current = before;
    told.length = 0;
    submit();
    assertEquals(current, before, "afterwards");
    return told;
  };
  const submit = () => (launch(), semaphore.signal());
  for (const before of [FIRST, SECOND, NONE]) {
    const inContext = before.toString(16);
    assertEquals(toldIn(before, submit), [`launch in ${inContext}`, `signal in ${inContext}`]);
  }
  wantsContext = true;
  assertEquals(toldIn(NONE, launch), ["launch in 0", "get", "set 1001", "launch in 1001", "set 0"]);
  assertEquals(toldIn(FIRST, () => launch(perThread)), ["get", "set 1001", "launch in 1001", "set 1000"]);
  wantsContext = false;
});
