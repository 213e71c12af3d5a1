/**
 * 1. How the API's queue is a line of work: the `Driver`. It checks nothing, lends nothing and records nothing: `Line` does,
 * and calls it. A lane is what the driver keeps for one line; a mark counts the line's commands, from 1.
 *
 * @module
 */
import type { Call, Driver, LineEvents } from "../../../../src/core/contract.ts";
import type { Gate } from "../../../../src/core/device/fence.ts";
import { NativeCallError, throwAll } from "../../../../src/core/errors.ts";
import { ledger } from "../../../../src/core/life/ledger.ts";
import { unwind } from "../../../../src/core/life/undo.ts";
import { fake, FAKE_OK, type FakeWait } from "./library.ts";

/** What a failed command fails with. */
const WORK_FAILED = -14;

const out = new BigUint64Array(2);

/** A failed code as an error. */
function errorOf(code: number, fn: string): NativeCallError {
  return new NativeCallError(`${fn} failed with ${code}.`, { api: "fake", fn, code });
}

/** Throws for any code but success. */
export function check(code: number, fn: string): void {
  if (code !== FAKE_OK) throw errorOf(code, fn);
}

/** The handle that a function leaves in its out-parameter. */
export function made(fn: string, call: (out: BigUint64Array) => number): bigint {
  check(call(out), fn);
  return out[0];
}

/** What the driver keeps for one line. */
export class FakeLane {
  readonly queue: bigint;
  readonly events: LineEvents;
  /** What the next command waits for. */
  waits: FakeWait[] = [];
  /** The events of gates that are still shut. */
  readonly gates: Set<bigint> = new Set();
  /** What went wrong where it could not be reported. */
  readonly failures: unknown[] = [];

  constructor(events: LineEvents) {
    this.queue = made("fakeCreateQueue", (out) => fake.fakeCreateQueue(out));
    this.events = events;
    ledger.add("fake.queue");
  }

  /** Ends what waits for a gate, once. */
  settle(event: bigint, failed: boolean): void {
    if (!this.gates.delete(event)) return;
    const set = () => check(fake.fakeSetEvent(event, failed), "fakeSetEvent");
    const release = () => check(fake.fakeReleaseQueue(event), "fakeReleaseQueue");
    this.failures.push(...unwind([release, set])); // the newest first
  }
}

/** Every context's driver: commands of all its lines wait for one another on the device. */
export const driver: Driver<FakeLane> = {
  api: "fake",
  error: errorOf,
  marker: () => command(() => {}, []),
  lines: {
    close({ queue, failures }) {
      ledger.remove("fake.queue");
      const release = () => check(fake.fakeReleaseQueue(queue), "fakeReleaseQueue");
      throwAll([...failures, ...unwind([release])], "closing a queue");
    },
    submitted: (lane) => void (lane.waits = []),
    refused: (lane) => void (lane.waits = []),
    poll({ queue, events }) {
      check(fake.fakeStatus(queue, out), "fakeStatus");
      const [done, failed] = out;
      if (failed > 0n) events.failed(Number(failed), errorOf(WORK_FAILED, "fakeSubmit"));
      return Number(done);
    },
    block: ({ queue }, mark) => check(fake.fakeWait(queue, mark), "fakeWait"),
    waitElsewhere: async ({ queue }, mark) => check(await fake.fakeWaitAsync(queue, mark), "fakeWaitAsync"),
    waitOnDevice(lane, { queue }, mark) {
      lane.waits.push({ queue, mark });
      return true;
    },
    waitOnHost(lane, gate: Gate) {
      const event = made("fakeCreateQueue", (out) => fake.fakeCreateQueue(out));
      lane.gates.add(event);
      lane.waits.push({ queue: event, mark: 1 });
      gate.whenOpen((failed) => lane.settle(event, failed));
      return true;
    },
    abandon(lane) {
      for (const event of lane.gates) lane.settle(event, true);
    },
  },
};

/** Work of the device with some of its memory. */
export function command(work: () => void, memory: readonly bigint[]): Call<FakeLane> {
  return { fn: "fakeSubmit", call: ({ queue, waits }) => fake.fakeSubmit(queue, work, memory, waits) };
}
