import {
  CL_PROFILING_COMMAND_END,
  CL_PROFILING_COMMAND_QUEUED,
  CL_PROFILING_COMMAND_START,
  CL_PROFILING_COMMAND_SUBMIT,
} from "../../../ffi/opencl/constants.ts";
import type { ClEvent } from "../../../ffi/opencl/handles.ts";
import { ArgumentError } from "../../core/errors.ts";
import { withJson } from "../../core/printed.ts";
import { infoU64, type Query } from "../info.ts";
import { opencl } from "../library.ts";

/**
 * The times of a command's stages (clGetEventProfilingInfo), in nanoseconds of the device's clock. Only their differences
 * have a meaning, and only if the driver measures (rusticl 22.3 returns 0, 1, 2, 3).
 */
export interface CommandTimes {
  /** When it was enqueued (CL_PROFILING_COMMAND_QUEUED). */
  readonly queued: bigint;
  /** When it was handed to the device (CL_PROFILING_COMMAND_SUBMIT). */
  readonly submitted: bigint;
  /** When the device began it (CL_PROFILING_COMMAND_START). */
  readonly started: bigint;
  /** When it was done (CL_PROFILING_COMMAND_END). */
  readonly ended: bigint;
}

const KEPT = 1024;

interface Entry {
  readonly mark: number;
  readonly times?: CommandTimes;
  readonly error?: unknown;
}

/** The times of the last {@link KEPT} finished commands of one queue. */
export class CommandLog {
  readonly #entries = new Array<Entry>(KEPT);

  /** Records the times of a finished command. */
  record(mark: number, event: ClEvent): void {
    let entry: Entry;
    try {
      entry = { mark, times: timesOf(event) };
    } catch (error) {
      entry = { mark, error };
    }
    this.#entries[mark % KEPT] = entry;
  }

  /** The times of a command. @throws {ArgumentError} if they are not kept; the driver's error if it refused them. */
  at(mark: number): CommandTimes {
    const entry = this.#entries[mark % KEPT];
    if (entry?.mark !== mark) {
      throw notTimed("fence", "the times of this command are not kept.", `Ask within ${KEPT} commands.`);
    }
    if (entry.times === undefined) throw entry.error;
    return entry.times;
  }
}

export function notTimed(argument: string, what: string, hint: string): ArgumentError {
  return new ArgumentError(`times(): ${what}`, { api: "opencl", fn: "clGetEventProfilingInfo", argument, hint });
}

function timesOf(event: ClEvent): CommandTimes {
  const query: Query = (name, size, value, written) =>
    opencl().clGetEventProfilingInfo(event, name, size, value, written);
  const at = (name: number) => infoU64("clGetEventProfilingInfo", query, name);
  return withJson({
    queued: at(CL_PROFILING_COMMAND_QUEUED),
    submitted: at(CL_PROFILING_COMMAND_SUBMIT),
    started: at(CL_PROFILING_COMMAND_START),
    ended: at(CL_PROFILING_COMMAND_END),
  });
}
