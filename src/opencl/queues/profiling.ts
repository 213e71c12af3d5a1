import {
  CL_PROFILING_COMMAND_END,
  CL_PROFILING_COMMAND_QUEUED,
  CL_PROFILING_COMMAND_START,
  CL_PROFILING_COMMAND_SUBMIT,
} from "../../../ffi/opencl/constants.ts";
import type { ClEvent } from "../../../ffi/opencl/handles.ts";
import { infoU64, type Query } from "../info.ts";
import { opencl } from "../library.ts";

/**
 * When a command went through its stages (clGetEventProfilingInfo), in nanoseconds of the device's clock: only their
 * differences mean something, and only as far as the driver measures (rusticl 22.3 answers 0, 1, 2, 3).
 */
export interface CommandTimes {
  /** When it was enqueued (CL_PROFILING_COMMAND_QUEUED). */
  readonly queued: bigint;
  /** When it was handed to the device (CL_PROFILING_COMMAND_SUBMIT). */
  readonly submitted: bigint;
  /** When the device began with it (CL_PROFILING_COMMAND_START). */
  readonly started: bigint;
  /** When it was done (CL_PROFILING_COMMAND_END). */
  readonly ended: bigint;
}

/** Asks the driver; the command has to be done. */
export function timesOf(event: ClEvent): CommandTimes {
  const query: Query = (name, size, value, written) =>
    opencl().clGetEventProfilingInfo(event, name, size, value, written);
  const at = (name: number) => infoU64("clGetEventProfilingInfo", query, name);
  return {
    queued: at(CL_PROFILING_COMMAND_QUEUED),
    submitted: at(CL_PROFILING_COMMAND_SUBMIT),
    started: at(CL_PROFILING_COMMAND_START),
    ended: at(CL_PROFILING_COMMAND_END),
  };
}
