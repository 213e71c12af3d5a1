import type { Fence } from "../core/device/fence.ts";
import { fenceOf } from "../core/device/foreign_work.ts";
import { PromiseGate } from "../core/device/gate.ts";
import { NativeCallError } from "../core/errors.ts";

/** The host's own work. Devices whose API has user events wait for the promise without the host. */
export function signal(promise: PromiseLike<unknown>): Fence {
  const gate = new PromiseGate(promise);
  return fenceOf({
    ...{ api: "host", name: "a signal of the host", fn: "signal" },
    error: (code, fn) => new NativeCallError(`${fn} failed with ${code}.`, { api: "host", fn, code }),
    begin: (events) => gate.whenOpen((failed) => failed && events.failed(1, gate.failure!.error)),
    isOver: () => true, // the core asks once the gate has settled
    block() {},
    wait: () => gate.opened,
    gate: () => gate.settled ? undefined : gate,
  });
}
