import { EINVAL, EMFILE } from "../../../ffi/libc/errors.ts";
import { type Address, NULL } from "../../../ffi/address.ts";
import { F_DUPFD_CLOEXEC } from "../../../ffi/libc/constants.ts";
import type { ClContext } from "../../../ffi/opencl/handles.ts";
import { CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR } from "../../../ffi/opencl_semaphore/constants.ts";
import type { Semaphores } from "../../../ffi/opencl_semaphore/functions.ts";
import type { ClSemaphoreKhr } from "../../../ffi/opencl_semaphore/handles.ts";
import { SYMBOLS } from "../../../ffi/opencl_semaphore/symbols.ts";
import type { Call, Sync } from "../../core/contract.ts";
import { Port, type SyncKind } from "../../core/device/port.ts";
import { throwAll } from "../../core/errors.ts";
import { ledger } from "../../core/life/ledger.ts";
import { allOrNothing, unwind } from "../../core/life/undo.ts";
import { closedOnExec, closeFd } from "../../core/native/fd.ts";
import { libc, libcError } from "../../core/native/libc.ts";
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

type SlotOf = (lane: ClLane) => Address;

/** Each has its own. */
const OWN: SlotOf = ({ slot }) => slot;

/** The signal is submitted, and no promise holds it up: a wait for these commands may be a wait for later ones. */
const LEFT_OUT: SlotOf = (lane) => lane.leaveOut();

export function waitCall(functions: Semaphores, semaphore: SemaphoreList, slotOf = OWN): Call<ClLane> {
  return {
    fn: WAIT,
    call(lane) {
      const { queue, waitCount, waitList } = lane;
      return functions[WAIT](queue, 1, semaphore, null, waitCount, waitList, slotOf(lane));
    },
  };
}

export function signalCall(functions: Semaphores, semaphore: SemaphoreList, slotOf = OWN): Call<ClLane> {
  const call = {
    fn: SIGNAL,
    partial: false,
    call(lane: ClLane) {
      const { queue, waitCount, waitList } = lane;
      const code = functions[SIGNAL](queue, 1, semaphore, null, waitCount, waitList, slotOf(lane));
      call.partial = code === 0; // a flush that fails leaves it in the queue
      return code === 0 ? opencl().clFlush(queue) : code;
    },
  };
  return call;
}

/** Undefined if a device has no semaphores. Those of OpenCL are binary; a sync file is one that was signalled once. */
export function semaphoreSync(context: ClContext, device: OpenCLDevice): Sync<ClLane, SemaphoreList> | undefined {
  const { sharing, extensions, id } = device;
  const kindsIn = (names: readonly string[]) =>
    SEMAPHORE_HANDLES.filter(({ name, extension }) => names.includes(name) && extensions.includes(extension));
  const [imports, exports] = [kindsIn(sharing.semaphoreImports), kindsIn(sharing.semaphoreExports)];
  if (!extensions.includes(SEMAPHORE) || imports.length + exports.length === 0) return undefined;
  const functions = () => semaphoresOf(device);
  const sync: Sync<ClLane, SemaphoreList> = {
    imports: imports.map(({ kind }) => kind),
    exports: exports.map(({ kind }) => kind),
    device: () => id,
    import: (port) => imported(functions(), context, port),
    // Queues are in order: what comes next stands behind it.
    wait: ({ queue }, semaphore) => check(functions()[WAIT](queue, 1, semaphore, null, 0, NULL, NULL), WAIT),
    waiting: (semaphore) => waitCall(functions(), semaphore, LEFT_OUT),
    signal: (semaphore) => signalCall(functions(), semaphore, LEFT_OUT),
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
  const type = propertyOf(kind);
  const semaphore = created(functions, context, [CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR, type, 0n]);
  const out = Int32Array.of(-1);
  try {
    check(functions[SIGNAL](queue, 1, semaphore, null, 0, NULL, NULL), SIGNAL);
    check(opencl().clFlush(queue), "clFlush");
    check(functions[GET]!(semaphore[0] as ClSemaphoreKhr, device, Number(type), 4n, out, null), GET);
    return new Port(kind, { fd: closedOnExec(out[0]), value: 1n });
  } finally {
    releaseSemaphore(functions, semaphore);
  }
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
