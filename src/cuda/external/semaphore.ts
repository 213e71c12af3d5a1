import type { Address } from "../../../ffi/address.ts";
import type { CudaEvent, CudaExternalSemaphore } from "../../../ffi/cuda_runtime/handles.ts";
import {
  cudaExternalSemaphoreSignalParams,
  cudaExternalSemaphoreWaitParams,
  writeCudaExternalSemaphoreSignalParams,
  writeCudaExternalSemaphoreWaitParams,
} from "../../../ffi/cuda_runtime/structs.ts";
import type { Sync } from "../../core/contract.ts";
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
const signalParams = new DataView(new ArrayBuffer(cudaExternalSemaphoreSignalParams.size));
const waitParams = new DataView(new ArrayBuffer(cudaExternalSemaphoreWaitParams.size));

const WAIT = "cudaWaitExternalSemaphoresAsync";

function wait(lane: CudaLane, { handles }: ExternalSemaphore, value: bigint): number {
  writeCudaExternalSemaphoreWaitParams(waitParams, 0, { fence_value: value, flags: 0 });
  return lane.onStream((stream) => cudart()[WAIT](handles, waitParams, 1, stream));
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
    else check(wait(lane, from, value), WAIT);
  },
  waiting: (from, value) => ({ fn: WAIT, call: (lane) => wait(lane, from as ExternalSemaphore, value) }),
  signal: (from, value) => ({
    fn: "cudaSignalExternalSemaphoresAsync",
    call(lane) {
      const { handles } = from as ExternalSemaphore; // a sync is only waited for, and by no program's own hand
      writeCudaExternalSemaphoreSignalParams(signalParams, 0, { fence_value: value, flags: 0 });
      return lane.onStream((stream) => cudart().cudaSignalExternalSemaphoresAsync(handles, signalParams, 1, stream));
    },
  }),
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
