import type { Address } from "../../../ffi/address.ts";
import type { CudaDriver } from "../../../ffi/cuda_driver/functions.ts";
import type { CUstream } from "../../../ffi/cuda_driver/handles.ts";
import type { CudaEvent, CudaExternalSemaphore, CudaStream } from "../../../ffi/cuda_runtime/handles.ts";
import {
  CUexternalSemaphoreSignalParams,
  CUexternalSemaphoreWaitParams,
  writeCUexternalSemaphoreSignalParams,
  writeCUexternalSemaphoreWaitParams,
} from "../../../ffi/cuda_driver/structs.ts";
import type { Call, Sync } from "../../core/contract.ts";
import { Port } from "../../core/device/port.ts";
import { allOrNothing, type Undo, undoAll } from "../../core/life/undo.ts";
import { closeFd } from "../../core/native/fd.ts";
import type { CudaLane, LaneDevice } from "../driver.ts";
import { eventOfEglSync } from "../egl/sync.ts";
import { check, checkDriver, checkRelease } from "../errors.ts";
import { cudaDriver, cudart } from "../library.ts";
import { owned } from "../primary_context.ts";
import { semaphoreHandle } from "./handles.ts";

export interface ExternalSemaphore {
  readonly handles: BigUint64Array<ArrayBuffer>;
  readonly undo: Undo;
}

interface EglEvent {
  readonly event: CudaEvent;
  readonly undo: Undo;
}

const KIND = "cuda.cudaExternalSemaphore_t";

const FDS = ["timeline-fd", "binary-fd"] as const;

const out = new BigUint64Array(1);

/** Room for the parameters of one semaphore: most calls have one. */
const roomFor = (size: number, count = 1) => new DataView(new ArrayBuffer(count * size));

/** A kind of command. Each kind has its own native call, because V8 makes a call site with several callees slowly. */
interface Making {
  readonly fn: string;
  readonly submit: CudaDriver["cuWaitExternalSemaphoresAsync"];
  readonly size: number;
  readonly write: typeof writeCUexternalSemaphoreWaitParams;
  readonly one: DataView<ArrayBuffer>;
}

const WAIT: Making = {
  fn: "cuWaitExternalSemaphoresAsync",
  submit: (all, params, count, on) => cudaDriver().cuWaitExternalSemaphoresAsync(all, params, count, on),
  size: CUexternalSemaphoreWaitParams.size,
  write: writeCUexternalSemaphoreWaitParams,
  one: roomFor(CUexternalSemaphoreWaitParams.size),
};
const SIGNAL: Making = {
  fn: "cuSignalExternalSemaphoresAsync",
  submit: (all, params, count, on) => cudaDriver().cuSignalExternalSemaphoresAsync(all, params, count, on),
  size: CUexternalSemaphoreSignalParams.size,
  write: writeCUexternalSemaphoreSignalParams,
  one: roomFor(CUexternalSemaphoreSignalParams.size),
};

/** The command for semaphores. No `EGLSync` gets here, because programs cannot wait for one or signal it. */
function semaphoreCall(
  { fn, submit, size, write, one }: Making,
  given: readonly (ExternalSemaphore | EglEvent)[],
  values: readonly bigint[],
): Call<CudaLane> {
  const semaphores = given as readonly ExternalSemaphore[];
  const count = semaphores.length;
  const handles = count === 1 ? semaphores[0].handles : BigUint64Array.from(semaphores, ({ handles: [it] }) => it);
  const params = count === 1 ? one : roomFor(size, count);
  const run = (stream: CudaStream) => {
    for (let i = 0; i < count; i++) write(params, i * size, { fence_value: values[i], flags: 0 });
    return submit(handles, params, count, stream as bigint as CUstream);
  };
  return { fn, call: (lane) => lane.onStream(run) };
}

/**
 * Semaphores of other APIs, and `EGLSync`s, on CUDA's streams. CUDA makes no semaphores. EGL takes an event that was recorded:
 * its `EGLSync` stands for that record, whatever is recorded later (EGL_NV_cuda_event).
 */
export const semaphores: Sync<CudaLane, ExternalSemaphore | EglEvent> = {
  exports: ["cuda-event"],
  imports: [...FDS, "egl-sync"],
  refuses: ({ device }, kind) => kind === "egl-sync" ? device.eglSyncRefusal : undefined,
  device: ({ device }) => device.id,
  export(lane, mark, kind) {
    const value = lane.eventAt(mark);
    return value === undefined ? undefined : new Port(kind, { value });
  },
  import(port, { device }) {
    if (port.kind !== "egl-sync") return imported(device, port.kind as (typeof FDS)[number], port.takeFd());
    const undo: Undo = [];
    return { event: eventOfEglSync(device, port.value as Address, undo), undo };
  },
  wait(lane, from, value) {
    if ("event" in from) lane.waitFor(from.event);
    else checkDriver(semaphoreCall(WAIT, [from], [value]).call(lane), WAIT.fn);
  },
  waiting: (from, values) => semaphoreCall(WAIT, from, values),
  signal: (from, values) => semaphoreCall(SIGNAL, from, values),
  release: ({ undo }) => undoAll(undo, "releasing a semaphore"),
};

/** Takes over the fd, which the driver owns once it has accepted it. */
function imported(device: LaneDevice, kind: (typeof FDS)[number], fd: number): ExternalSemaphore {
  const undo: Undo = [];
  const description = semaphoreHandle(kind, fd);
  const take = "cudaImportExternalSemaphore";
  const call = () => check(cudart()[take](out, description), take, { hint: HINT });
  allOrNothing("importing a semaphore", () => device.within(call), [() => closeFd(fd)]);
  const handle = out[0] as CudaExternalSemaphore;
  const fn = "cudaDestroyExternalSemaphore";
  owned(device, KIND, undo, () => checkRelease(cudart()[fn](handle), fn));
  return { handles: BigUint64Array.of(handle), undo };
}

const HINT = "Is it the fd of a Vulkan semaphore, exported as an opaque fd?";
