import { EINVAL, EMFILE } from "../../../ffi/libc/errors.ts";
import { NULL } from "../../../ffi/address.ts";
import { F_DUPFD_CLOEXEC } from "../../../ffi/libc/constants.ts";
import type { ClContext, ClDeviceId } from "../../../ffi/opencl/handles.ts";
import { CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR } from "../../../ffi/opencl_semaphore/constants.ts";
import type { Semaphores } from "../../../ffi/opencl_semaphore/functions.ts";
import type { ClSemaphoreKhr } from "../../../ffi/opencl_semaphore/handles.ts";
import { SYMBOLS } from "../../../ffi/opencl_semaphore/symbols.ts";
import type { Sync } from "../../core/contract.ts";
import type { SemaphoreMaker } from "../../core/device/line_sync.ts";
import { Port, type SyncKind } from "../../core/device/port.ts";
import { throwAll } from "../../core/errors.ts";
import { ledger } from "../../core/life/ledger.ts";
import { allOrNothing, unwind } from "../../core/life/undo.ts";
import { closedOnExec, closeFd } from "../../core/native/fd.ts";
import { libc, libcError } from "../../core/native/libc.ts";
import type { BaseContext } from "../base_context.ts";
import type { OpenCLDevice } from "../device.ts";
import { check, errcode, made } from "../errors.ts";
import { extensionFunctions } from "../extension.ts";
import type { ClLane } from "../lane.ts";
import { opencl } from "../library.ts";
import { SEMAPHORE, SEMAPHORE_HANDLES, semaphoreProperties } from "./handles.ts";

/** Looked up once. @throws {InteropError} if the driver lacks one of the functions. */
export const semaphoresOf: (device: OpenCLDevice) => Semaphores = extensionFunctions<Semaphores>(
  "opencl_semaphore",
  SEMAPHORE,
  SYMBOLS,
);

const CREATE = "clCreateSemaphoreWithPropertiesKHR";
const WAIT = "clEnqueueWaitSemaphoresKHR";
const SIGNAL = "clEnqueueSignalSemaphoresKHR";
const GET = "clGetSemaphoreHandleForTypeKHR";

const KIND = "opencl.cl_semaphore_khr";

export type SemaphoreList = BigUint64Array<ArrayBuffer>;

/** The commands with semaphores of a device's. Those of OpenCL are binary: they have no values. */
export function semaphoreCalls(functions: () => Semaphores): Required<Pick<Sync<ClLane, SemaphoreList>, Commands>> {
  return {
    waiting(semaphores, _values, isForeign) {
      const { [WAIT]: wait } = functions();
      const [list, { length: count }] = [joined(semaphores), semaphores];
      return {
        fn: WAIT,
        call(lane) {
          const { queue, waitCount, waitList } = lane;
          return wait(queue, count, list, null, waitCount, waitList, isForeign ? lane.slot : lane.leaveOut());
        },
      };
    },
    signal(semaphores, _values, isForeign) {
      const { [SIGNAL]: signal } = functions();
      const [list, { length: count }] = [joined(semaphores), semaphores];
      const call = {
        fn: SIGNAL,
        partial: false,
        call(lane: ClLane) {
          const { queue, waitCount, waitList } = lane;
          const slot = isForeign ? lane.slot : lane.leaveOut();
          const code = signal(queue, count, list, null, waitCount, waitList, slot);
          call.partial = code === 0; // a flush that fails leaves it in the queue
          if (code !== 0) return code;
          const flushed = opencl().clFlush(queue);
          if (flushed === 0) lane.flushWithNext();
          return flushed;
        },
      };
      return call;
    },
  };
}

type Commands = "waiting" | "signal";

/** One list of all; most calls have one semaphore. */
function joined(semaphores: readonly SemaphoreList[]): SemaphoreList {
  return semaphores.length === 1 ? semaphores[0] : BigUint64Array.from(semaphores, ([semaphore]) => semaphore);
}

type Handles = typeof SEMAPHORE_HANDLES;

function kindsIn({ extensions }: OpenCLDevice, names: readonly string[]): Handles {
  if (!extensions.includes(SEMAPHORE)) return [];
  return SEMAPHORE_HANDLES.filter(({ name, extension }) => names.includes(name) && extensions.includes(extension));
}

function exportsOf(device: OpenCLDevice): Handles {
  return kindsIn(device, device.sharing.semaphoreExports);
}

/** Undefined if a device has no semaphores. Those of OpenCL are binary; a sync file is one that was signalled once. */
export function semaphoreSync(context: ClContext, device: OpenCLDevice): Sync<ClLane, SemaphoreList> | undefined {
  const { sharing, id } = device;
  const [imports, exports] = [kindsIn(device, sharing.semaphoreImports), exportsOf(device)];
  if (imports.length + exports.length === 0) return undefined;
  const functions = () => semaphoresOf(device);
  const sync: Sync<ClLane, SemaphoreList> = {
    imports: imports.map(({ kind }) => kind),
    exports: exports.map(({ kind }) => kind),
    device: () => id,
    import: (port) => imported(functions(), context, port),
    // Queues are in order: what comes next stands behind it.
    wait: ({ queue }, semaphore) => check(functions()[WAIT](queue, 1, semaphore, null, 0, NULL, NULL), WAIT),
    ...semaphoreCalls(functions),
    release: (semaphore) => releaseSemaphore(functions(), semaphore),
  };
  if (exports.length === 0) return sync;
  return { ...sync, export: (lane, _mark, kind) => exported(functions(), context, device, lane, kind) };
}

/**
 * NVIDIA's driver (580.159, H100) never closes a memory's fd whose number a semaphore's fd once had: so these start here.
 */
const FIRST_FD = 500;
const TOO_LOW = `Raise the limit of open fds (ulimit -n) above ${FIRST_FD}.`;

/** Takes the port's fd; the driver owns a duplicate once it has accepted it. */
function imported(functions: Semaphores, context: ClContext, port: Port<SyncKind>): SemaphoreList {
  const given = port.takeFd();
  const fd = libc().fcntl(given, F_DUPFD_CLOEXEC, FIRST_FD);
  const error = fd < 0 ? libcError("fcntl", { [EINVAL]: TOO_LOW, [EMFILE]: TOO_LOW }) : undefined;
  const failures = unwind([() => closeFd(given)]);
  if (error !== undefined) throwAll([error, ...failures], "importing a semaphore");
  return allOrNothing("importing a semaphore", () => {
    throwAll(failures, "importing a semaphore");
    return created(functions, context, [propertyOf(port.kind), BigInt(fd)]);
  }, [() => closeFd(fd)]);
}

function exported(
  functions: Semaphores,
  context: ClContext,
  { handle: device }: OpenCLDevice,
  { queue }: ClLane,
  kind: SyncKind,
): Port<SyncKind> {
  const semaphore = exportable(functions, context, kind);
  try {
    check(functions[SIGNAL](queue, 1, semaphore, null, 0, NULL, NULL), SIGNAL);
    check(opencl().clFlush(queue), "clFlush");
    return portOf(functions, semaphore, device, kind);
  } finally {
    releaseSemaphore(functions, semaphore);
  }
}

/** Makes semaphores for other code, of the kinds whose fds the device exports. */
export function semaphoreMaker({ rawHandle, name, devices: [device, ...others] }: BaseContext): SemaphoreMaker {
  const kinds = exportsOf(device).filter(({ kind }) => kind !== "sync-fd" && others.length === 0);
  return {
    name,
    device: device.id,
    kinds: kinds.map(({ kind }) => kind),
    make(kind) {
      const functions = semaphoresOf(device);
      const semaphore = exportable(functions, rawHandle, kind);
      return {
        export: () => portOf(functions, semaphore, device.handle, kind),
        release: () => releaseSemaphore(functions, semaphore),
      };
    },
  };
}

function exportable(functions: Semaphores, context: ClContext, kind: SyncKind): SemaphoreList {
  return created(functions, context, [CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR, propertyOf(kind), 0n]);
}

/** A new fd of it, which a sync file takes its signal along by. */
function portOf(functions: Semaphores, [semaphore]: SemaphoreList, device: ClDeviceId, kind: SyncKind): Port<SyncKind> {
  const out = Int32Array.of(-1);
  const type = Number(propertyOf(kind));
  check(functions[GET]!(semaphore as ClSemaphoreKhr, device, type, 4n, out, null), GET);
  return new Port(kind, { fd: closedOnExec(out[0]), value: 1n });
}

function created(functions: Semaphores, context: ClContext, properties: readonly bigint[]): SemaphoreList {
  return counted(made(functions[CREATE](context, semaphoreProperties(properties), errcode), CREATE));
}

/** One that {@link releaseSemaphore} releases. */
export function counted(semaphore: ClSemaphoreKhr): SemaphoreList {
  ledger.add(KIND);
  return BigUint64Array.of(semaphore);
}

export function releaseSemaphore(functions: Semaphores, [semaphore]: SemaphoreList): void {
  ledger.remove(KIND);
  check(functions.clReleaseSemaphoreKHR(semaphore as ClSemaphoreKhr), "clReleaseSemaphoreKHR");
}

function propertyOf(kind: SyncKind): bigint {
  return BigInt(SEMAPHORE_HANDLES.find((handle) => handle.kind === kind)!.property);
}
