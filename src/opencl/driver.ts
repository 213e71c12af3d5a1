import type { ClContext } from "../../ffi/opencl/handles.ts";
import type { Call, Driver, Lines } from "../core/contract.ts";
import { LANES } from "../core/device/lanes.ts";
import type { OpenCLDevice } from "./device.ts";
import { openclError } from "./errors.ts";
import type { GlContext } from "../gl/port.ts";
import { syncOf } from "./external/foreign_events.ts";
import { ClLane } from "./lane.ts";
import { opencl } from "./library.ts";
import { FailedEvents } from "./queues/failed_events.ts";

/** A command that does nothing. On a shared queue it runs behind the commands of others. */
export const MARKER: Call<ClLane> = {
  fn: "clEnqueueMarkerWithWaitList",
  call: ({ queue, waitCount, waitList, slot }) =>
    opencl().clEnqueueMarkerWithWaitList(queue, waitCount, waitList, slot),
};

const LINES: Lines<ClLane> = {
  ...LANES,
  glance: (lane, mark) => lane.glance(mark),
  waitOnDevice(lane, of, mark) {
    of.flush();
    const event = of.unfailedAt(mark);
    if (event !== undefined) lane.waitFor(event);
    return true;
  },
  waitOnHost(lane, gate) {
    lane.waitForGate(gate);
    return true;
  },
  abandon: (lane) => lane.abandon(),
  gate: ClLane.unsetGate,
};

/** The driver of one `cl_context`. Its lines wait for each other by events. For mappers. */
export class OpenCLDriver implements Driver<ClLane> {
  /** The API's name. */
  readonly api = "opencl";
  /** Its in-order work. */
  readonly lines: Lines<ClLane>;
  /** The `cl_context`. */
  readonly context: ClContext;
  /** The events of commands that failed. */
  readonly failed: FailedEvents = new FailedEvents();

  /** Made by the context. */
  constructor(context: ClContext, devices: readonly OpenCLDevice[], gl?: GlContext) {
    this.context = context;
    const sync = devices.length === 1 ? syncOf(context, devices[0], gl) : undefined;
    this.lines = sync === undefined ? LINES : { ...LINES, sync };
  }

  /** The error of a code. @see {@link Driver.error} */
  error(code: number, fn: string): Error {
    return openclError(code, fn);
  }

  /** A command that does nothing. @see {@link Driver.marker} */
  marker(): Call<ClLane> {
    return MARKER;
  }
}
