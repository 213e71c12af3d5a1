import type { Call, Driver } from "../core/device/driver.ts";
import type { Fence } from "../core/device/fence.ts";
import { type Gate, PromiseGate } from "../core/device/gate.ts";
import { Line } from "../core/device/line.ts";
import { NativeCallError } from "../core/errors.ts";

/** A promise of the program's, as a line of one mark. */
interface SignalLane {
  readonly gate: Gate;
}

/** The host's own work: promises. Devices whose API has user events wait for one without the host. */
const driver: Driver<SignalLane> = {
  api: "host",
  error: (code, fn) => new NativeCallError(`${fn} failed with ${code}.`, { api: "host", fn, code }),
  lines: {
    close() {},
    submitted() {},
    poll: (_lane, mark) => mark, // the core asks once the gate has settled
    block() {},
    waitElsewhere: ({ gate }) => gate.opened,
    gate: ({ gate }) => gate.settled ? undefined : gate,
  },
};

const SIGNAL: Call<SignalLane> = { fn: "signal", call: () => 0 };

/** A fence that is reached when a promise settles, and fails where that rejects. */
export function signal(promise: PromiseLike<unknown>): Fence {
  const line = new Line<SignalLane>({
    driver,
    name: "a signal of the host",
    open(events) {
      const gate = new PromiseGate(promise);
      gate.whenOpen((failed) => failed && events.failed(1, gate.failure!.error));
      return { gate };
    },
  });
  line.submit([], SIGNAL);
  return line.fence();
}
