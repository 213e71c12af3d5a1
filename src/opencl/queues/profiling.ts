import {
  CL_PROFILING_COMMAND_END,
  CL_PROFILING_COMMAND_QUEUED,
  CL_PROFILING_COMMAND_START,
  CL_PROFILING_COMMAND_SUBMIT,
} from "../../../ffi/opencl/constants.ts";
import type { ClEvent } from "../../../ffi/opencl/handles.ts";
import { ArgumentError } from "../../core/errors.ts";
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

/** How many commands a queue keeps the times of. */
const KEPT = 1024;

interface Entry {
  readonly mark: number;
  readonly times?: CommandTimes;
  /** Why the driver would not tell. */
  readonly error?: unknown;
}

/** The times of the last {@link KEPT} commands of one queue that are done. */
export class CommandLog {
  readonly #entries = new Array<Entry>(KEPT);

  /** Asks the driver for those of a command that has just been seen done. */
  record(mark: number, event: ClEvent): void {
    let entry: Entry;
    try {
      entry = { mark, times: timesOf(event) };
    } catch (error) {
      entry = { mark, error };
    }
    this.#entries[mark % KEPT] = entry;
  }

  /** Those of one command. @throws {ArgumentError} if they are not kept; or why the driver would not tell. */
  at(mark: number): CommandTimes {
    const entry = this.#entries[mark % KEPT];
    if (entry?.mark !== mark) {
      throw notTimed("fence", "the times of this command are not kept.", `Ask within ${KEPT} commands.`);
    }
    if (entry.times === undefined) throw entry.error;
    return entry.times;
  }
}

/** The error where there are no times to tell. */
export function notTimed(argument: string, what: string, hint: string): ArgumentError {
  return new ArgumentError(`times(): ${what}`, { api: "opencl", fn: "clGetEventProfilingInfo", argument, hint });
}

/** Asks the driver; the command has to be done. */
function timesOf(event: ClEvent): CommandTimes {
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
