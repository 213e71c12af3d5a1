import type { Address } from "../../../ffi/address.ts";
import type { CudaEvent, CudaExternalSemaphore } from "../../../ffi/cuda_runtime/handles.ts";
import {
  cudaExternalSemaphoreSignalParams,
  cudaExternalSemaphoreWaitParams,
  writeCudaExternalSemaphoreSignalParams,
  writeCudaExternalSemaphoreWaitParams,
} from "../../../ffi/cuda_runtime/structs.ts";
import type { Call, Sync } from "../../core/contract.ts";
import { Port } from "../../core/device/port.ts";
import { allOrNothing, type Undo, undoAll } from "../../core/life/undo.ts";
import { closeFd } from "../../core/native/fd.ts";
import type { CudaLane, LaneDevice } from "../driver.ts";
import { eventOfEglSync } from "../egl/sync.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
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

const WAIT = {
  fn: "cudaWaitExternalSemaphoresAsync",
  size: cudaExternalSemaphoreWaitParams.size,
  write: writeCudaExternalSemaphoreWaitParams,
  one: roomFor(cudaExternalSemaphoreWaitParams.size),
} as const;
const SIGNAL = {
  fn: "cudaSignalExternalSemaphoresAsync",
  size: cudaExternalSemaphoreSignalParams.size,
  write: writeCudaExternalSemaphoreSignalParams,
  one: roomFor(cudaExternalSemaphoreSignalParams.size),
} as const;

/** A sync is not a semaphore: it is only waited for, and by no program's own hand. */
function semaphoreCall(
  { fn, size, write, one }: typeof WAIT | typeof SIGNAL,
  given: readonly (ExternalSemaphore | EglEvent)[],
  values: readonly bigint[],
): Call<CudaLane> {
  const semaphores = given as readonly ExternalSemaphore[];
  const count = semaphores.length;
  return {
    fn,
    call(lane) {
      const params = count === 1 ? one : roomFor(size, count);
      for (let i = 0; i < count; i++) write(params, i * size, { fence_value: values[i], flags: 0 });
      const handles = count === 1 ? semaphores[0].handles : BigUint64Array.from(semaphores, ({ handles: [it] }) => it);
      return lane.onStream((stream) => cudart()[fn](handles, params, count, stream));
    },
  };
}

/**
 * Semaphores of other APIs, and `EGLSync`s, on CUDA's streams. CUDA makes none itself. EGL takes an event that was recorded:
 * an `EGLSync` of it stands for that record, whatever is recorded later (EGL_NV_cuda_event).
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
    else check(semaphoreCall(WAIT, [from], [value]).call(lane), WAIT.fn);
  },
  waiting: (from, values) => semaphoreCall(WAIT, from, values),
  signal: (from, values) => semaphoreCall(SIGNAL, from, values),
  release: ({ undo }) => undoAll(undo, "releasing a semaphore"),
};

/** Takes the fd over: the driver owns it once it has accepted it. */
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
