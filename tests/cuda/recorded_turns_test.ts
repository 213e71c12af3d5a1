/** Two devices take turns on one memory: what is called between the kernels, while nothing that was submitted is over. */
import { assertEquals } from "@std/assert";
import { MapperGraph } from "@samepage/interop";
import { CudaContext, type CudaTensor } from "@samepage/interop/cuda";
import { cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import type { Fakes } from "./kernels/recording.ts";
import { recordedTests } from "./recorded.ts";

/** Are all events reached? */
let idle = true;

/** What was called that orders work, or blocks. */
const calls: string[] = [];
const noted = (name: string, code = () => 0) => () => {
  calls.push(name);
  return code();
};

const FAKES: Fakes = {
  cudaDeviceCanAccessPeer: (can: Int32Array) => {
    can[0] = 1;
    return 0;
  },
  cudaDeviceEnablePeerAccess: () => 0,
  cudaMemcpyPeerAsync: () => 0,
  cudaEventElapsedTime: (ms: Float32Array) => {
    ms[0] = 1;
    return 0;
  },
  cudaEventQuery: () => idle ? 0 : cudaErrorNotReady,
  cudaEventSynchronize: noted("cudaEventSynchronize"),
  cudaStreamSynchronize: noted("cudaStreamSynchronize"),
  cudaStreamWaitEvent: noted("cudaStreamWaitEvent"),
  cudaMemset2DAsync: noted("cudaMemset2DAsync"),
} as Record<string, (...args: never[]) => number>;

const recordedTest = recordedTests(FAKES);

recordedTest("disposeAfter() of a peer's map leaves the owner's commands to wait on the device", async () => {
  await using first = CudaContext.open({ ordinal: 0 });
  await using second = CudaContext.open({ ordinal: 1 });
  await using graph = new MapperGraph([first, second]);
  using tensor = first.allocate({ shape: [1024], dtype: "u8" });
  graph.map(tensor, second)[Symbol.dispose](); // the first one measures
  const lap = () => {
    first.stream.fill(tensor, 1);
    const mapped = graph.map(tensor, second) as CudaTensor;
    second.stream.fill(mapped, 2);
    mapped.disposeAfter(second.stream.fence());
  };
  idle = false;
  calls.length = 0;
  for (let i = 0; i < 3; i++) lap();
  const turn = ["cudaStreamWaitEvent", "cudaMemset2DAsync"];
  assertEquals(calls, Array(6).fill(turn).flat().slice(1)); // the first one stands behind nothing
  idle = true;
});
