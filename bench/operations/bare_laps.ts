import type { CudaContext, CudaTensor } from "@samepage/interop/cuda";
import type { OpenCLContext, OpenCLTensor } from "@samepage/interop/opencl";
import { GROUP } from "../../examples/vulkan-opencl-ring/players.ts";
import cl from "../../examples/vulkan-opencl-ring/turn.cl" with { type: "text" };
import cu from "../../examples/vulkan-opencl-ring/turn.cu" with { type: "text" };
import { NULL } from "../../ffi/address.ts";
import type { CUfunction, CUstream } from "../../ffi/cuda_driver/handles.ts";
import {
  CUexternalSemaphoreSignalParams,
  CUexternalSemaphoreWaitParams,
  CUlaunchConfig,
  writeCUlaunchConfig,
} from "../../ffi/cuda_driver/structs.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { checkDriver as checkCuda } from "../../src/cuda/errors.ts";
import type { ExternalSemaphore } from "../../src/cuda/external/semaphore.ts";
import { cudaDriver } from "../../src/cuda/library.ts";
import { check as checkCl } from "../../src/opencl/errors.ts";
import { type SemaphoreList, semaphoresOf } from "../../src/opencl/external/semaphore.ts";
import { opencl } from "../../src/opencl/library.ts";
import { forGood, type Sharing } from "../harness/sharing.ts";

const WORD = { shape: [1], dtype: "u32" } as const;

/** Submits laps of OpenCL's kernel and CUDA's by C's native calls, made by Deno with nothing around them. */
export function bareLaps(sharing: Sharing): { submit(count: number): void; wrong(): number } {
  const made = forGood();
  const [one, other] = sharing.players.map(({ context }) => context) as [OpenCLContext, CudaContext];
  const [mine, its] = sharing.apart(sharing.words(GROUP, made), made) as readonly [OpenCLTensor, CudaTensor];
  const [mineWrong, itsWrong] = [made.use(one.allocate(WORD)), made.use(other.allocate(WORD))];

  // The first two turns are samepage's: they set OpenCL's arguments, and have the drivers load the kernels.
  const kernel = made.use(made.use(one.program(cl)).kernel("turn"));
  const parameters = ["unsigned*", "unsigned", "unsigned", "unsigned*"];
  const launched = made.use(made.use(other.program(cu)).kernel("turn", parameters));
  one.queue.fill(mineWrong, 0);
  other.stream.fill(itsWrong, 0);
  kernel.run({ items: [GROUP] }, [mine, GROUP, 0, mineWrong]);
  one.queue.finish();
  launched.run({ groups: [1], groupSize: [GROUP] }, [its, GROUP, 1, itsWrong]);
  other.stream.finish();

  const semaphores = [0, 1].map(() => {
    const semaphore = sharing.vulkan.semaphores.make("binary-fd");
    return [one, other].map(({ line }) => line.sync.take(semaphore.export(), []));
  });
  const [there, back] = semaphores as [SemaphoreList, ExternalSemaphore][];
  const turn = Uint32Array.of(2);
  const size = BigUint64Array.of(BigInt(GROUP));
  const config = new DataView(new ArrayBuffer(CUlaunchConfig.size));
  writeCUlaunchConfig(config, 0, {
    ...{ gridDimX: 1, gridDimY: 1, gridDimZ: 1, blockDimX: GROUP, blockDimY: 1, blockDimZ: 1 },
    ...{ sharedMemBytes: 0, hStream: other.stream.handle as bigint as CUstream, attrs: NULL, numAttrs: 0 },
  });
  const values = [BigUint64Array.of(its.address), Uint32Array.of(GROUP), turn, BigUint64Array.of(itsWrong.address)];
  const args = BigUint64Array.from(values, (value) => addressOf(value, "bench"));
  made.defer(() => void [values, args, size, config]); // native calls reach them by their addresses
  const [turnAt, sizeAt, configAt, argsAt] = [turn, size, config, args].map((each) => addressOf(each, "bench"));
  const signal = new DataView(new ArrayBuffer(CUexternalSemaphoreSignalParams.size));
  const wait = new DataView(new ArrayBuffer(CUexternalSemaphoreWaitParams.size));

  const { clEnqueueNDRangeKernel, clFlush, clSetKernelArg } = opencl();
  const { clEnqueueSignalSemaphoresKHR, clEnqueueWaitSemaphoresKHR } = semaphoresOf(one.device);
  const { cuLaunchKernelEx, cuSignalExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync } = cudaDriver();
  const [queue, stream] = [one.queue.handle, other.stream.handle as bigint as CUstream];
  const [turnKernel, turnLaunched] = [kernel.handle, launched.handle as bigint as CUfunction];
  let isFirst = true;
  return {
    submit(count) {
      for (let i = 0; i < count; i++) {
        if (!isFirst) checkCl(clEnqueueWaitSemaphoresKHR(queue, 1, back[0], null, 0, NULL, NULL), "wait");
        isFirst = false;
        checkCl(clSetKernelArg(turnKernel, 2, 4n, turnAt), "argument");
        checkCl(clEnqueueNDRangeKernel(queue, turnKernel, 1, NULL, sizeAt, sizeAt, 0, NULL, NULL), "kernel");
        turn[0]++;
        checkCl(clEnqueueSignalSemaphoresKHR(queue, 1, there[0], null, 0, NULL, NULL), "signal");
        checkCl(clFlush(queue), "flush");
        checkCuda(cuWaitExternalSemaphoresAsync(there[1].handles, wait, 1, stream), "wait");
        checkCuda(cuLaunchKernelEx(configAt, turnLaunched, argsAt, NULL), "kernel");
        turn[0]++;
        checkCuda(cuSignalExternalSemaphoresAsync(back[1].handles, signal, 1, stream), "signal");
      }
    },
    wrong() {
      one.queue.finish();
      const count = new Uint32Array(1);
      one.queue.read(mineWrong, count);
      const [byOne] = count;
      other.stream.read(itsWrong, count);
      return byOne + count[0];
    },
  };
}
