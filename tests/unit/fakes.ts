import type { Call, Driver, LineEvents, Lines, Sync } from "../../src/core/contract.ts";
import type { Fence } from "../../src/core/device/fence.ts";
import { Line } from "../../src/core/device/line.ts";
import { Port, type SyncKind } from "../../src/core/device/port.ts";
import type { NativeSemaphore, SemaphoreMaker } from "../../src/core/device/line_sync.ts";
import type { DeviceId } from "../../src/core/device/device_id.ts";
import type { Context, Target } from "../../src/core/graph/context.ts";
import { NativeCallError } from "../../src/core/errors.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { closeFd, duplicateFd } from "../../src/core/native/fd.ts";
import { HostTensor } from "../../src/host/tensor.ts";
import { ManualGate } from "../gate.ts";

/** A context that does nothing. */
export function fakeContext(api: string, kinds: readonly string[] = []): Context {
  const targets: Target[] = [];
  const context: Context = { api, name: api, id: {}, targets, resource: undefined, [Symbol.dispose]() {} };
  const is = (value: unknown): value is HostTensor => value instanceof HostTensor;
  for (const kind of kinds) targets.push({ kind, context, is });
  return context;
}

/** An allocation of no memory at all. */
export function fakeAllocation(byteLength: number, free: () => void = () => {}): Allocation {
  const allocation = new Allocation({ kind: "test.block", byteLength, free });
  allocation.join();
  return allocation;
}

/** What the core did that a driver must never see; a test expects none. */
export const misuses: string[] = [];

/** What a command waits for on the device. */
interface Wait {
  /** Whose work it is, where that is known. */
  readonly of?: FakeLane;
  isOver(): boolean;
  /** What it failed with. A semaphore does not say. */
  failure?(): { readonly error: unknown } | undefined;
  /** Has the device get on with it, while the host blocks. */
  drive(): void;
  /** The command that waited runs: of a binary semaphore, it takes the signal. */
  taken?(): void;
}

/** One command. `run` throws where the command fails. */
interface Command {
  readonly waits: readonly Wait[];
  readonly run: () => void;
}

/** A counter that crosses from one driver to another by an fd. */
interface Semaphore {
  value: bigint;
  /** Has the device that signals it get on with it. */
  drive(value: bigint): void;
}

interface Imported {
  readonly semaphore: Semaphore;
  isReleased: boolean;
}

/** The semaphores behind fds that were not imported yet. */
const sent = new Map<number, Semaphore>();

function exported(semaphore: Semaphore): number {
  const fd = duplicateFd(2);
  sent.set(fd, semaphore);
  return fd;
}

/** A queue of a device that runs when a test says so, or while the host blocks. */
export class FakeLane {
  /** How many commands were submitted. */
  submitted = 0;
  /** How many of them are over. */
  over = 0;
  /** What the command that is being submitted does. */
  next: (() => void) | undefined;
  /** What it waits for. */
  waits: Wait[] = [];
  /** Set: every native wait fails with it, though the work goes on. */
  brokenWait: Error | undefined;
  /** Set: the lane cannot be asked while it has work in flight. */
  brokenStatus: Error | undefined;
  /** Set: what is accepted makes `submitted` fail, which the contract forbids. */
  brokenSubmitted: Error | undefined;
  /** Set: what signals a semaphore is accepted, and cannot be flushed. */
  brokenFlush = false;
  /** Set: a command whose wait failed fails once all of its waits are over, as NVIDIA has it, and not at once. */
  failsLate = false;
  /** Set: a failure loses the device. */
  losesDevice = false;
  /** What the commands that wait for gates fail with, once the line's end has begun. */
  abandoned: { readonly error: unknown } | undefined;
  /** Set: what is reported of a command whose gate fails, as a driver has it that knows only codes. */
  reported: { readonly error: unknown } | undefined;
  /** Called when the core asks. */
  asked: (() => void) | undefined;
  readonly failures = new Map<number, { readonly error: unknown }>();
  readonly timeline: Semaphore = { value: 0n, drive: (value) => this.driveTo(Number(value)) };
  /** Marks that set a semaphore of their own. */
  readonly flags: { readonly mark: number; readonly flag: Semaphore }[] = [];
  readonly #events: LineEvents;
  readonly #commands: Command[] = [];
  readonly #waiting: { readonly mark: number; readonly reached: () => void }[] = [];
  #untold: number[] = [];
  #lost: { readonly error: unknown } | undefined;
  #isClosed = false;
  /** Others whose commands may wait for it past its end. */
  #keepers = 0;

  constructor(events: LineEvents) {
    this.#events = events;
  }

  /** How many waits each command in flight has. */
  get waitsInFlight(): number[] {
    return this.#commands.map(({ waits }) => waits.length);
  }

  /** Runs the next command where it can run. It fails as soon as one of its waits does, as PoCL has it, or late. */
  step(): boolean {
    const [next] = this.#commands;
    if (next === undefined) return false;
    const over = next.waits.filter((wait) => wait.isOver());
    const failed = this.#lost ?? over.map((wait) => wait.failure?.()).find((each) => each !== undefined);
    if ((failed === undefined || this.failsLate) && over.length < next.waits.length) return false;
    this.#commands.shift();
    for (const wait of next.waits) wait.taken?.();
    const mark = this.over + 1;
    if (failed === undefined) this.#run(next, mark);
    else this.#fail(mark, failed.error);
    this.over = mark;
    this.timeline.value = BigInt(mark);
    for (const each of this.flags) if (each.mark <= mark) each.flag.value = 1n;
    for (const each of this.#waiting) if (each.mark <= mark) each.reached();
    return true;
  }

  /** Runs as far as it can. */
  run(): void {
    while (this.step());
  }

  /** Runs up to a mark, and what it waits for. */
  driveTo(mark: number): void {
    while (this.over < mark) {
      for (const wait of this.#commands[0]?.waits ?? []) if (!wait.isOver()) wait.drive();
      if (!this.step()) throw new Error("the device stands still");
    }
  }

  /** Settles when a mark is over. */
  reached(mark: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (mark <= this.over) resolve();
    else this.#waiting.push({ mark, reached: resolve });
    return promise;
  }

  /** Takes the command that was made. */
  take(mark: number): void {
    this.expectOpen("submitted");
    if (mark !== ++this.submitted) misuses.push(`mark ${mark} where ${this.submitted} comes next`);
    this.#commands.push({ waits: this.waits, run: this.next ?? (() => {}) });
    this.waits = [];
    this.next = undefined;
  }

  /** Tells the line what failed so far. */
  tell(): void {
    for (const mark of this.#untold.splice(0)) {
      this.#events.failed(mark, this.failures.get(mark)!.error, this.losesDevice);
    }
  }

  close(): void {
    this.expectOpen("close");
    if (this.over < this.submitted && this.brokenWait === undefined) misuses.push("closed with commands in flight");
    this.#isClosed = true;
    this.tell();
  }

  /** As if what its waits stand on went with it. */
  get isGone(): boolean {
    return this.#isClosed && this.#keepers === 0;
  }

  /** Until the returned function is called. */
  keep(): () => void {
    this.#keepers++;
    return () => {
      if (--this.#keepers < 0) misuses.push("a lane is given back twice");
    };
  }

  expectOpen(what: string): void {
    if (this.#isClosed) misuses.push(`${what} of a lane that is closed`);
  }

  #run({ run }: Command, mark: number): void {
    try {
      run();
    } catch (error) {
      this.#fail(mark, error);
    }
  }

  #fail(mark: number, error: unknown): void {
    this.failures.set(mark, { error });
    if (this.#lost === undefined) this.#untold.push(mark);
    if (this.losesDevice) this.#lost = { error };
  }
}

/** How marks of a fake device cross to others: of its own making, or by semaphores that a {@link FakeMaker} makes. */
export type FakeSync = "timeline-fd" | "sync-fd" | "binary-fd" | "shared timeline-fd";

const DEVICE: DeviceId = { uuid: "fa".repeat(16) };

/** Makes semaphores for all fake devices that signal foreign ones. */
export class FakeMaker implements SemaphoreMaker {
  readonly name = "a fake maker";
  readonly device: DeviceId = DEVICE;
  readonly kinds: readonly SyncKind[] = ["timeline-fd", "binary-fd"];
  /** How many it made, and how many it released. */
  made = 0;
  released = 0;

  make(kind: SyncKind): NativeSemaphore {
    this.made++;
    const semaphore: Semaphore = { value: 0n, drive: () => {} };
    return {
      export: () => new Port(kind, { fd: exported(semaphore) }),
      release: () => void this.released++,
    };
  }
}

/** A device of its own. */
export class FakeDriver implements Driver<FakeLane> {
  readonly api: string;
  /** How often the host blocked. */
  blocks = 0;
  /** How many semaphores were imported, and how many were released. */
  imports = 0;
  releases = 0;
  readonly lines: Lines<FakeLane>;

  constructor(api = "fake", sync?: FakeSync) {
    this.api = api;
    this.lines = {
      close: (lane) => lane.close(),
      submitted: (lane, mark) => {
        lane.take(mark);
        if (lane.brokenSubmitted !== undefined) throw lane.brokenSubmitted;
      },
      refused: (lane) => void (lane.waits = []),
      poll: (lane, mark) => {
        lane.expectOpen("poll");
        lane.asked?.();
        if (lane.brokenStatus !== undefined && lane.over < mark) throw lane.brokenStatus;
        lane.tell();
        return lane.over;
      },
      block: (lane, mark) => {
        lane.expectOpen("block");
        this.blocks++;
        if (lane.brokenWait !== undefined) throw lane.brokenWait;
        lane.driveTo(mark);
      },
      waitElsewhere: (lane, mark) => {
        lane.expectOpen("waitElsewhere");
        return lane.brokenWait === undefined ? lane.reached(mark) : Promise.reject(lane.brokenWait);
      },
      waitOnDevice: (lane, of, mark) => {
        of.expectOpen("waitOnDevice");
        const failure = () => of.failures.get(mark);
        const isOver = () => {
          if (of.isGone) misuses.push("a command waits for a lane that is gone");
          return of.over >= mark;
        };
        lane.waits.push({ of, failure, isOver, drive: () => of.driveTo(mark) });
        return true;
      },
      keep: (lane) => lane.keep(),
      waitOnHost: (lane, gate) => {
        const drive = () => {
          throw new Error("the device waits for a gate");
        };
        const isOver = () => gate.settled || lane.abandoned !== undefined;
        lane.waits.push({
          isOver,
          failure: () => (gate.failure && lane.reported) ?? gate.failure ?? lane.abandoned,
          drive,
        });
        return true;
      },
      abandon: (lane) => void (lane.abandoned = { error: new Error(`${this.api} has ended`) }),
      ...(sync === undefined ? {} : { sync: this.#sync(sync) }),
    };
  }

  error(code: number, fn: string): Error {
    return new NativeCallError(`${fn} failed with ${code}.`, { api: this.api, fn, code });
  }

  marker(): Call<FakeLane> {
    return command(() => {});
  }

  /** A line of this device. */
  line(name = `a line of ${this.api}`): Line<FakeLane> {
    return new Line<FakeLane>({ driver: this, name, open: (events) => new FakeLane(events) });
  }

  #sync(given: FakeSync): Sync<FakeLane, Imported> {
    const isShared = given === "binary-fd" || given === "shared timeline-fd";
    const kind = given === "shared timeline-fd" ? "timeline-fd" : given;
    const isBinary = kind === "binary-fd";
    const wait = (lane: FakeLane, imported: Imported, value: bigint) => {
      const isOver = () => {
        if (imported.isReleased) misuses.push("a command waits for a semaphore that was released");
        return imported.semaphore.value >= value;
      };
      const taken = () => void (isBinary && imported.semaphore.value--);
      const { drive } = imported.semaphore; // of the newest signal
      lane.waits.push({ isOver, drive: () => drive(value), taken });
    };
    const byHand: Partial<Sync<FakeLane, Imported>> = {
      device: () => DEVICE,
      signal: ([imported], [value]) => signal(imported, value, isBinary),
      waiting: ([imported], [value]) => ({
        fn: "fakeWait",
        call(lane) {
          wait(lane, imported, value);
          lane.next = () => {};
          return 0;
        },
      }),
    };
    return {
      exports: isShared ? [] : [kind],
      imports: [kind],
      ...(isShared ? byHand : {}),
      export(lane, mark, kind, known) {
        if (kind === "timeline-fd") {
          const fd = known ? -1 : exported(lane.timeline);
          return new Port(kind, { fd, value: BigInt(mark) });
        }
        const flag: Semaphore = { value: lane.over >= mark ? 1n : 0n, drive: () => lane.driveTo(mark) };
        lane.flags.push({ mark, flag });
        return new Port(kind, { fd: exported(flag), value: 1n });
      },
      import: (port) => {
        this.imports++;
        const fd = port.takeFd();
        const semaphore = sent.get(fd)!;
        sent.delete(fd);
        closeFd(fd);
        return { semaphore, isReleased: false };
      },
      wait,
      release: (imported) => {
        if (imported.isReleased) misuses.push("a semaphore was released twice");
        imported.isReleased = true;
        this.releases++;
      },
    };
  }
}

/** Signals a semaphore that a maker made, once the device comes to it. */
function signal({ semaphore, isReleased }: Imported, value: bigint, isBinary: boolean): Call<FakeLane> {
  if (isReleased) misuses.push("a command signals a semaphore that was released");
  return {
    fn: "fakeSignal",
    partial: true,
    call(lane) {
      const mark = lane.submitted + 1;
      semaphore.drive = () => lane.driveTo(mark);
      lane.next = () => {
        if (isBinary && semaphore.value !== 0n) misuses.push("a signal without a wait for the one before");
        semaphore.value = value;
      };
      return lane.brokenFlush ? 7 : 0;
    },
  };
}

/** A command of any fake device. `run` throws where the command fails. */
export function command(run: () => void, about: Partial<Call<FakeLane>> = {}): Call<FakeLane> {
  const call = (lane: FakeLane) => {
    lane.next = run;
    return 0;
  };
  return { fn: "fakeCommand", call, ...about };
}

/** The device of fake work, but for that of another. */
export const fakes: FakeDriver = new FakeDriver();

/** Work that ends when the test says so, in a line of its own. */
export class FakeWork {
  /** `"device"`: a blocking wait sees it done. `"gated"`: it waits for a gate, so that none ever ends. */
  readonly kind: "device" | "gated";
  /** What it fails with, once it is over. */
  readonly failure: Error | undefined;
  readonly fence: Fence;
  readonly line: Line<FakeLane>;
  readonly #gate = new ManualGate();

  /** Work that is in flight. */
  constructor(kind: "device" | "gated" = "device", failure?: Error, driver = fakes) {
    this.kind = kind;
    this.failure = failure;
    this.line = driver.line("fake work");
    const run = () => {
      if (failure !== undefined) throw failure;
    };
    this.line.submit([], command(run), kind === "gated" ? [this.#gate.fence] : []);
    this.fence = this.line.fence();
  }

  /** What the device keeps for it. */
  get lane(): FakeLane {
    return this.line.lane;
  }

  /** True once it has ended, well or not. */
  get over(): boolean {
    return this.lane.over > 0;
  }

  /** Ends it. */
  end(): void {
    this.#gate.open();
    this.lane.run();
  }
}
