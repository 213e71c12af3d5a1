import {
  CL_QUEUE_CONTEXT,
  CL_QUEUE_DEVICE,
  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
  CL_QUEUE_PROFILING_ENABLE,
  CL_QUEUE_PROPERTIES,
} from "../../../ffi/opencl/constants.ts";
import type { ClCommandQueue } from "../../../ffi/opencl/handles.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import type { Line } from "../../core/device/line.ts";
import { ledger } from "../../core/life/ledger.ts";
import { ByHandle } from "../../core/memory/peers.ts";
import { checks } from "../check.ts";
import type { BaseContext } from "../base_context.ts";
import type { OpenCLDevice } from "../device.ts";
import { check, errcode, made } from "../errors.ts";
import { infoU64, type Query } from "../info.ts";
import { opencl } from "../library.ts";

/** Options of {@link OpenCLContext.createQueue}. */
export interface QueueOptions {
  /** Keeps the times of each command, for `queue.times()`; false by default. */
  readonly profiling?: boolean;
  /** One of the context's devices; the first by default. */
  readonly device?: OpenCLDevice;
}

const OPTIONS: Names<QueueOptions> = { profiling: true, device: true };

export interface QueueHandle {
  readonly handle: ClCommandQueue;
  readonly device: OpenCLDevice;
  readonly profiling: boolean;
  /** True if other code may submit to it too. */
  readonly isShared: boolean;
}

/** A new queue. @throws {ArgumentError} if the device is not the context's, or cannot profile. */
export function createdQueue(context: BaseContext, options: QueueOptions): QueueHandle {
  const { profiling = false, device: wanted = context.device } = optionsIn(options, OPTIONS);
  checks.assertBoolean(profiling, "profiling");
  const device = context.deviceIn(wanted);
  if (profiling && !device.queues.profiling) {
    throw checks.wrong("profiling", `${device.name} keeps no times of commands.`);
  }
  const properties = profiling ? CL_QUEUE_PROFILING_ENABLE : 0n;
  const { clCreateCommandQueueWithProperties: create, clCreateCommandQueue } = opencl();
  // The loader has the newer function for every driver, but a driver of OpenCL 1 does not implement it.
  const handle = create === null || device.version.startsWith("OpenCL 1.")
    ? made(clCreateCommandQueue(context.handle, device.handle, properties, errcode), "clCreateCommandQueue")
    : made(
      create(context.handle, device.handle, new BigUint64Array([BigInt(CL_QUEUE_PROPERTIES), properties, 0n]), errcode),
      "clCreateCommandQueueWithProperties",
    );
  ledger.add("opencl.cl_command_queue");
  return { handle, device, profiling, isShared: false };
}

/** One that other code made, retained. @throws {ArgumentError} if it is of another context, or out of order. */
export function attachedQueue(context: BaseContext, given: bigint): QueueHandle {
  const handle = checks.handleIn<ClCommandQueue>(given, "handle");
  const { handle: owner } = context;
  const query: Query = (name, size, value, written) =>
    opencl().clGetCommandQueueInfo(handle, name, size, value, written);
  const info = (name: number) => infoU64("clGetCommandQueueInfo", query, name);
  if (info(CL_QUEUE_CONTEXT) !== owner) throw checks.wrong("handle", "the queue is of another cl_context.");
  const deviceHandle = info(CL_QUEUE_DEVICE);
  const device = context.devices.find((each) => each.handle === deviceHandle);
  if (device === undefined) throw checks.wrong("handle", `the queue is not one of ${context.name}.`);
  const properties = info(CL_QUEUE_PROPERTIES);
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) !== 0n) {
    throw checks.wrong(
      "handle",
      "the queue runs commands out of order; samepage submits to queues that run them in order.",
      "Make it without CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE. Several queues in order overlap as well.",
    );
  }
  check(opencl().clRetainCommandQueue(handle), "clRetainCommandQueue");
  ledger.add("opencl.cl_command_queue");
  return { handle, device, profiling: (properties & CL_QUEUE_PROFILING_ENABLE) !== 0n, isShared: true };
}

/** The lines of each queue; weak, so that finalizers notice a forgotten context. Each of them has made the set known. */
const queues = new ByHandle<Set<WeakRef<Line>>>();
const QUEUE = "cl_command_queue";

/** The lines on a queue, and those that join it later. */
export function linesOn(handle: ClCommandQueue): Set<WeakRef<Line>> {
  return queues.find(QUEUE, handle) ?? new Set();
}

/** `beside` is what {@link linesOn} has returned: the line is one of them until it ends. */
export function joinQueue(handle: ClCommandQueue, line: Line, beside: Set<WeakRef<Line>>): void {
  const own = new WeakRef(line);
  beside.add(own);
  line.resource.undo.push(queues.add(QUEUE, handle, beside), () => void beside.delete(own));
}

export function releaseQueue(handle: ClCommandQueue): void {
  ledger.remove("opencl.cl_command_queue");
  check(opencl().clReleaseCommandQueue(handle), "clReleaseCommandQueue");
}
