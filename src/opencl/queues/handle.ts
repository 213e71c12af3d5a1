import {
  CL_QUEUE_CONTEXT,
  CL_QUEUE_DEVICE,
  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
  CL_QUEUE_PROFILING_ENABLE,
  CL_QUEUE_PROPERTIES,
} from "../../../ffi/opencl/constants.ts";
import type { ClCommandQueue } from "../../../ffi/opencl/handles.ts";
import { type Names, optionsIn, shown } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { ledger } from "../../core/life/ledger.ts";
import { handleIn } from "../check.ts";
import type { OpenCLContext } from "../context.ts";
import type { OpenCLDevice } from "../device.ts";
import { check, errcode, made } from "../errors.ts";
import { infoU64, type Query } from "../info.ts";
import { opencl } from "../library.ts";

/** `"in-order"`: each command begins when the one in front of it is done. `"out-of-order"`: only as wait lists say. */
export type QueueOrder = "in-order" | "out-of-order";

/** Options of {@link OpenCLContext.createQueue}. */
export interface QueueOptions {
  /** In which order commands run; `"in-order"` by default. */
  readonly order?: QueueOrder;
  /** Does the driver keep the times of each command, for `fence.times()`? Not by default. */
  readonly profiling?: boolean;
  /** Which of the context's devices; the first by default. */
  readonly device?: OpenCLDevice;
}

const OPTIONS: Names<QueueOptions> = { order: true, profiling: true, device: true };

/** A `cl_command_queue` of our own or retained, and what it does. */
export interface QueueHandle {
  /** The `cl_command_queue`. */
  readonly handle: ClCommandQueue;
  /** Whose commands it takes. */
  readonly device: OpenCLDevice;
  /** In which order commands run. */
  readonly order: QueueOrder;
  /** Does it keep times? */
  readonly profiling: boolean;
  /** May a command begin before one that was submitted earlier? Only where the device can do it at all. */
  readonly overtakes: boolean;
}

const ORDERS: { readonly [O in QueueOrder]: bigint } = {
  "in-order": 0n,
  "out-of-order": CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
};

/** A new one. @throws {ArgumentError} where the device cannot do it, or is not the context's. */
export function createdQueue(context: OpenCLContext, options: QueueOptions): QueueHandle {
  const { order = "in-order", profiling = false, device: wanted = context.device } = optionsIn(options, OPTIONS);
  if (typeof order !== "string" || !Object.hasOwn(ORDERS, order)) {
    throw wrong("order", `${shown(order)} is none.`, 'Use "in-order" or "out-of-order".');
  }
  if (typeof profiling !== "boolean") throw wrong("profiling", `${shown(profiling)} is neither true nor false.`);
  const device = context.deviceIn(wanted);
  const overtakes = order === "out-of-order";
  if (overtakes && !device.queues.outOfOrder) {
    throw wrong("order", `${device.name} runs commands in order only.`, 'Use "in-order" queues, several of them.');
  }
  if (profiling && !device.queues.profiling) {
    throw wrong("profiling", `${device.name} keeps no times of commands.`);
  }
  const properties = ORDERS[order] | (profiling ? CL_QUEUE_PROFILING_ENABLE : 0n);
  const { clCreateCommandQueueWithProperties: create, clCreateCommandQueue } = opencl();
  // The loader has the newer function for every driver; one of OpenCL 1 has nothing behind it.
  const handle = create === null || device.version.startsWith("OpenCL 1.")
    ? made(clCreateCommandQueue(context.handle, device.handle, properties, errcode), "clCreateCommandQueue")
    : made(
      create(context.handle, device.handle, new BigUint64Array([BigInt(CL_QUEUE_PROPERTIES), properties, 0n]), errcode),
      "clCreateCommandQueueWithProperties",
    );
  ledger.add("opencl.cl_command_queue");
  return { handle, device, order, profiling, overtakes };
}

/** One that somebody else made, retained. @throws {ArgumentError} where it is of another context. */
export function attachedQueue(context: OpenCLContext, given: bigint): QueueHandle {
  const handle = handleIn<ClCommandQueue>(given, "handle");
  const { handle: owner } = context;
  const query: Query = (name, size, value, written) =>
    opencl().clGetCommandQueueInfo(handle, name, size, value, written);
  const info = (name: number) => infoU64("clGetCommandQueueInfo", query, name);
  if (info(CL_QUEUE_CONTEXT) !== owner) throw wrong("handle", "the queue is of another cl_context.");
  const deviceHandle = info(CL_QUEUE_DEVICE);
  const device = context.devices.find((each) => each.handle === deviceHandle);
  if (device === undefined) throw wrong("handle", `the queue is not one of ${context.name}.`);
  const properties = info(CL_QUEUE_PROPERTIES);
  const order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) === 0n ? "in-order" : "out-of-order";
  check(opencl().clRetainCommandQueue(handle), "clRetainCommandQueue");
  ledger.add("opencl.cl_command_queue");
  // rusticl 22.3 makes such queues too, though its device runs commands in order.
  const overtakes = order === "out-of-order" && device.queues.outOfOrder;
  return { handle, device, order, profiling: (properties & CL_QUEUE_PROFILING_ENABLE) !== 0n, overtakes };
}

function wrong(argument: string, what: string, hint?: string): ArgumentError {
  return new ArgumentError(`${argument}: ${what}`, {
    api: "opencl",
    argument,
    ...(hint === undefined ? {} : { hint }),
  });
}
