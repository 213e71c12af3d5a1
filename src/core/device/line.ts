import { Printed, withFacts } from "../printed.ts";
import { type Access, writes } from "../memory/access.ts";
import type { Grant } from "../memory/grant.ts";
import { AccessError, messageOf, NativeCallError, reasonOf, throwAll } from "../errors.ts";
import { Resource } from "../life/resource.ts";
import { type Undo, unwind } from "../life/undo.ts";
import type { Call, Driver, LineEvents, Lines } from "../contract.ts";
import { Fence, type Gate, Passage } from "./fence.ts";
import { LineSync } from "./line_sync.ts";
import { assertUsable, eachConflict, revokeViews, type Work } from "./work.ts";

/** An object that a command can use: a tensor, an image, a sampler. */
export interface Usable {
  /** Its end of life, and the work on it. */
  readonly resource: Resource;
  /** True if there is nothing to refuse, to wait for or to revoke. Only loads and comparisons. */
  isReadyFor(line: Line, access: Access): boolean;
  /** Throws if the access is not allowed now. Returns the grants whose bytes are on their way back: to be waited for. */
  usable(access: Access): readonly Grant[];
  /** The work that a command may have to wait for: its own, and that of others on the same bytes. */
  readonly works: readonly Work[];
  /** Revokes the host views that must not be used during such a command. */
  revokeViews(access: Access): void;
}

/** One object that a command uses. */
export interface Use<T extends Usable = Usable> {
  /** The object. */
  readonly tensor: T;
  /** How the command accesses it. */
  readonly access: Access;
  /** The argument's name, for errors. */
  readonly argument: string;
}

/** The error of marks `from` to `to`. The results of commands behind a failed one are not trusted. */
interface Failure {
  readonly from: number;
  readonly to: number;
  readonly error: unknown;
}

/** The line's commands from `mark` on wait for a gate. */
interface Gated {
  readonly mark: number;
  readonly gate: Gate;
}

/** What a line is made of. */
export interface LineInit<L> {
  /** The driver that runs its commands. */
  readonly driver: Driver<L>;
  /** Opens its lane; the line closes it. The lane reports failures to the line. */
  open(events: LineEvents): L;
  /** Its name, for messages. */
  readonly name: string;
  /** The resources that outlive it. */
  readonly owners?: readonly (Resource | undefined)[] | undefined;
  /** Its end of life, where it is not one of its own: that of work which is never ended. */
  readonly resource?: Resource | undefined;
  /** All lines on the same native queue, this one included: the gates of one hold up the others. */
  readonly beside?: ReadonlySet<WeakRef<Line>>;
}

const NO_FENCES: readonly Fence[] = [];
const NO_USES: readonly Use[] = [];
const NO_FAILURES: readonly Failure[] = [];

/**
 * An in-order line of work. All work is submitted through a line: it checks a command, waits for conflicting work, revokes
 * views, makes the call, and records it on the objects it uses.
 */
// deno-lint-ignore no-explicit-any -- a line of any driver
export class Line<L = any> extends Printed implements LineEvents {
  /** The driver that runs its commands. */
  readonly driver: Driver<L>;
  /** The driver's side of it. */
  readonly lane: L;
  /** Its name, for messages. */
  readonly name: string;
  /** Its end of life, which waits for all its commands. */
  readonly resource: Resource;
  /** True if a command failed. */
  hasFailed = false;
  readonly #lines: Lines<L>;
  #submitted = 0;
  #over = 0;
  #awaited = 0;
  #failures = NO_FAILURES;
  #gated: Gated[] | undefined;
  /** The errors of gates that have failed, and the commands that stood behind each. */
  #gateFailures = NO_FAILURES;
  readonly #beside: ReadonlySet<WeakRef<Line>> | undefined;
  /** The newest mark of each other line that it has waited for already. */
  #behind: WeakMap<Line, number> | undefined;
  #isWaiting = false;
  #passages: Set<Passage> | undefined;
  #sync: LineSync | undefined;

  /** Opens the lane. */
  constructor(init: LineInit<L>) {
    super();
    const { driver, name, owners, beside } = init;
    this.driver = driver;
    this.#beside = beside;
    this.name = name;
    this.#lines = driver.lines;
    this.lane = init.open(this);
    this.resource = init.resource ?? new Resource({ name, owners, undo: this.#release(), hooks: this });
  }

  /** A method, because V8 keeps the objects of a constructor that makes closures for long. */
  #release(): Undo {
    return [() => this.#lines.close(this.lane), () => this.#sync?.close()];
  }

  /** How it waits for lines of other drivers. */
  get sync(): LineSync {
    return this.#sync ??= new LineSync(this as Line);
  }

  /** Its name, and whether it has ended. */
  toString(): string {
    return withFacts(this.name, [this.resource.end]);
  }

  /** The newest mark: the number of commands submitted. */
  get submitted(): number {
    return this.#submitted;
  }

  /** True for a line of other code's work, which may never end. */
  get isForeign(): boolean {
    return this.#lines.waitAside !== undefined;
  }

  /** True if the newest command can fail before its waits end, as it does when a gate in front of it fails. */
  get mayFailEarly(): boolean {
    return this.#gated !== undefined;
  }

  /** A fence behind all commands so far. */
  fence(): Fence {
    return new Fence(this as Line, this.#submitted);
  }

  /**
   * Submits one command; returns its mark.
   *
   * @throws {DisposedError} if it uses a disposed object.
   * @throws {AccessError} if an access is not allowed; `argument` names it.
   * @throws the driver's error if it refuses the call: nothing was submitted then.
   */
  submit(uses: readonly Use[], call: Call<L>, after: readonly Fence[] = NO_FENCES): number {
    let ready = after.length === 0 && this.resource.isLive && !call.blocks;
    for (let i = 0; ready && i < uses.length; i++) ready = uses[i].tensor.isReadyFor(this as Line, uses[i].access);
    if (!ready) this.#prepare(uses, after, call.blocks ?? false);
    if (call.opaque !== undefined) return this.#submitOpaque(uses, call, call.opaque.finish);
    return this.#submit(uses, call);
  }

  /** For memory without a tensor (an unmap, a proof). The line has to be open. The caller records the fence. */
  submitRaw(call: Call<L>, behind: readonly Fence[] = NO_FENCES): Fence {
    this.#assertOpen();
    if (behind.length > 0 || call.blocks) this.#prepareRaw(call, behind);
    this.#submit(NO_USES, call);
    return this.fence();
  }

  /** Makes all later commands wait for these fences. @throws the error of a failed one. */
  waitFor(after: readonly Fence[]): Fence {
    if (this.driver.marker !== undefined) this.submit([], this.driver.marker(), after);
    else {
      this.#assertOpen();
      for (const fence of after) fence.waitSync(); // nothing on the line could stand for the wait
    }
    return this.fence();
  }

  /** True if a mark is over, done or failed. @throws the driver's error if the poll fails. */
  isOver(mark: number): boolean {
    if (mark <= this.#over) return true;
    this.#assertOpen();
    return this.gatesAt(mark) === undefined && this.#poll(mark);
  }

  /** The same for callers that can have the device wait, or ask again: see {@link Lines.glance}. */
  isSeenOver(mark: number): boolean {
    if (this.#lines.glance === undefined || mark <= this.#over) return this.isOver(mark);
    this.#assertOpen();
    return this.gatesAt(mark) === undefined && this.#saw(this.#lines.glance(this.lane, mark), mark);
  }

  /** The same as far as is known, without a poll. */
  wasOver(mark: number): boolean {
    return mark <= this.#over;
  }

  /** The error of a mark, if it failed. */
  failureAt(mark: number): { readonly error: unknown } | undefined {
    return this.#failures.find(({ from, to }) => from <= mark && mark <= to);
  }

  /** Throws the error of a mark, if it failed. */
  raise(mark: number): void {
    const failure = this.hasFailed ? this.failureAt(mark) : undefined;
    if (failure !== undefined) throw failure.error;
  }

  /** Blocks until a mark is over. @throws {AccessError} if that could never end. */
  block(mark: number): void {
    if (mark <= this.#over) return;
    this.#assertOpen();
    if (this.#isGated(mark)) {
      if (this.isOver(mark)) return; // only a line beside this one is gated
      this.#assertUngated("this wait", mark);
    }
    do this.#lines.block(this.lane, mark); while (!this.#poll(mark));
  }

  /** One nonblocking native wait; none where another caller has seen the mark over, and perhaps closed the line. */
  waitElsewhere(mark: number): Promise<void> {
    if (this.wasOver(mark)) return Promise.resolve();
    this.#assertOpen();
    return this.#lines.waitElsewhere(this.lane, mark);
  }

  /** The unsettled gates in front of a mark; undefined if all gates have settled. */
  gatesAt(mark: number): Gate[] | undefined {
    const own = this.#lines.gate?.(this.lane, mark);
    if (own !== undefined) return [own];
    if (this.#gated === undefined) return undefined;
    this.#forgetGates();
    const gates = this.#gated?.filter((gated) => gated.mark <= mark).map(({ gate }) => gate);
    return gates === undefined || gates.length === 0 ? undefined : gates;
  }

  /** Throws an {@link AccessError} if a blocking call on this line, behind these fences, could never end. */
  assertUnblocked(what: string, behind: readonly Fence[] = NO_FENCES): void {
    this.#assertUngated(what, this.#submitted);
    for (const { line, mark } of behind) line.#assertUngated(what, mark);
  }

  /** True if the next command can wait for a mark of another line without blocking this thread. */
  canWaitFor(other: Line, mark: number = other.#submitted): boolean {
    return other === this as Line || (other.driver === this.driver && this.#lines.waitOnDevice !== undefined) ||
      (other.gatesAt(mark) === undefined && this.sync.reaches(other)) ||
      (this.#lines.waitOnHost !== undefined && other.#lines.gate?.(other.lane, mark) !== undefined);
  }

  /** Why this thread has to wait before the next command stands behind these fences; undefined where the driver waits. */
  whyHostWaits(fences: readonly Fence[]): string | undefined {
    const first = fences.find(({ line, mark }) => !this.canWaitFor(line, mark));
    if (first === undefined) return undefined;
    if (first.line.gatesAt(first.mark) === undefined) return this.sync.whyNot(first.line);
    return `${first.line.name} stands behind a promise that is not settled, and ${this.name} cannot wait for that`;
  }

  /** True if its next command waits on the device for a mark of another line, or is to wait. */
  isBehind(other: Line, mark: number): boolean {
    this.#forgetGates();
    return (this.#behind?.get(other) ?? 0) >= mark;
  }

  /** Its next command waits on the device for a mark of another line, by what the caller has made the driver do. */
  standBehind(other: Line, mark: number): void {
    this.#isWaiting = true;
    (this.#behind ??= new WeakMap()).set(other, Math.max(mark, this.#behind.get(other) ?? 0));
  }

  /** True if a command that waits for the other line on the device also fails with it. */
  standsFor(other: Line): boolean {
    return other.driver === this.driver;
  }

  #poll(mark: number): boolean {
    return this.#saw(this.#lines.poll(this.lane, mark), mark);
  }

  /** The driver has seen that the marks up to `over` are. Is `mark` one of them? */
  #saw(over: number, mark: number): boolean {
    if (over > this.#over) {
      this.#over = over;
      this.#sync?.over(over);
    }
    return mark <= this.#over;
  }

  /** The slow path of {@link submit}: a method of its own, because a function that makes closures allocates when it begins. */
  #prepare(uses: readonly Use[], after: readonly Fence[], blocks: boolean): void {
    this.#orTakeBack(() => this.#prepareUses(uses, after, blocks));
  }

  /** Checks with their errors, waits, views. */
  #prepareUses(uses: readonly Use[], after: readonly Fence[], blocks: boolean): void {
    this.resource.assertLive();
    assertUsable(uses);
    for (const { line, mark } of after) {
      if (!line.isOver(mark)) this.#waitFor(line, mark);
      line.raise(mark); // it may have failed before what stands in front of it is over
    }
    eachConflict(uses, (line, mark) => {
      if (line !== this as Line && !this.isBehind(line, mark) && !line.isSeenOver(mark)) this.#waitFor(line, mark);
    });
    // A blocking call waits for the whole line: PoCL 3.1 finishes the queue in one.
    if (blocks) this.#assertUngated("a blocking call", this.#submitted + 1);
    revokeViews(uses);
  }

  #prepareRaw(call: Call<L>, behind: readonly Fence[]): void {
    this.#orTakeBack(() => {
      for (const { line, mark } of behind) {
        if (line !== this as Line && !this.isBehind(line, mark) && !line.isSeenOver(mark)) this.#waitFor(line, mark);
      }
      if (call.blocks) this.#assertUngated(call.fn, this.#submitted + 1);
    });
  }

  #submit(uses: readonly Use[], call: Call<L>): number {
    try {
      this.#make(call);
    } catch (error) {
      if (call.partial) this.#record(uses, call.fn);
      else this.#takeBack();
      throw error;
    }
    return this.#record(uses, call.fn);
  }

  /** The same between two markers. A failed call is recorded as well: it may have submitted commands. */
  #submitOpaque(uses: readonly Use[], call: Call<L>, finish: () => void): number {
    const marker = this.driver.marker!();
    if (this.#isWaiting) {
      this.#orTakeBack(() => this.#make(marker));
      this.#record(NO_USES, marker.fn);
    }
    const failures = unwind([() => this.#make(call)]);
    try {
      this.#make(marker);
    } catch (error) {
      this.#takeBack();
      throwAll([...failures, error, ...unwind([finish])], call.fn);
    }
    const mark = this.#record(uses, call.fn);
    throwAll(failures, call.fn);
    return mark;
  }

  #orTakeBack(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#takeBack();
      throw error;
    }
  }

  #make(call: Call<L>): void {
    const code = call.call(this.lane);
    if (code !== 0) throw this.driver.error(code, call.fn);
  }

  /** Records one more command in flight, before anything else can fail. */
  #record(uses: readonly Use[], fn: string): number {
    const mark = ++this.#submitted;
    this.#isWaiting = false;
    for (let i = 0; i < uses.length; i++) {
      const { tensor, access } = uses[i];
      tensor.resource.record(this as Line, mark, writes(access));
    }
    this.#lines.submitted(this.lane, mark, fn);
    return mark;
  }

  /** Forgets the gates that have settled. A command that failed with one has not waited for anything else. */
  #forgetGates(): void {
    if (this.#gated === undefined) return;
    const settled = this.#gated.filter(({ gate }) => gate.settled);
    for (const { mark, gate: { failure } } of settled) {
      if (failure === undefined) continue;
      this.#behind = undefined;
      const kept = this.#gateFailures.filter(({ to }) => to > this.#over); // the others are reported already
      this.#gateFailures = [...kept, { from: mark, to: this.#submitted, error: failure.error }];
    }
    this.#gated = this.#gated.filter((gated) => !settled.includes(gated));
    if (this.#gated.length === 0) this.#gated = undefined;
  }

  #waitFor(other: Line, mark: number): void {
    if (other === this as Line || this.isBehind(other, mark)) return;
    const passage = this.#waitForGate(other, mark);
    const gates = passage === undefined ? other.gatesAt(mark) : [passage];
    const onDevice = passage !== undefined || this.#waitBeside(other, mark);
    const reached = onDevice ? mark : gates === undefined ? this.sync.waitFor(other, mark) : undefined;
    if (reached === undefined) return other.block(mark);
    this.standBehind(other, reached);
    for (const gate of gates ?? []) this.#standBehind(gate);
  }

  /** The driver has the next command wait for a line of its own, if it can. */
  #waitBeside(other: Line, mark: number): boolean {
    if (other.driver !== this.driver || !this.#lines.waitOnDevice?.(this.lane, other.lane as L, mark)) return false;
    this.sync.waitBeside(other);
    return true;
  }

  /**
   * From the next command on. Lines that wait for each other by turns stand behind each gate once. What was submitted before
   * goes to the device now: rusticl 22.3 ends the commands together that it is handed together.
   */
  #standBehind(gate: Gate): void {
    if (this.#gated?.some((gated) => gated.gate === gate)) return;
    if (this.#submitted > this.#over) this.#poll(this.#submitted);
    (this.#gated ??= []).push({ mark: this.#submitted + 1, gate });
  }

  /** If the other's mark is itself a gate, the driver holds this line behind it. */
  #waitForGate(other: Line, mark: number): Gate | undefined {
    const gate = other.#lines.gate?.(other.lane, mark);
    if (gate === undefined || !this.#lines.waitOnHost?.(this.lane, gate)) return undefined;
    const passage = new Passage(gate);
    (this.#passages ??= new Set()).add(passage);
    passage.whenOpen(() => this.#passages!.delete(passage));
    return passage;
  }

  #assertOpen(): void {
    if (this.resource.state === "freed") this.resource.assertLive();
  }

  #isGated(mark: number): boolean {
    if (this.gatesAt(mark) !== undefined) return true;
    if (this.#beside === undefined || this.#beside.size < 2) return false;
    for (const each of this.#beside) {
      const line = each.deref();
      if (line !== undefined && line !== this as Line && line.gatesAt(Infinity) !== undefined) return true;
    }
    return false;
  }

  #assertUngated(what: string, mark: number): void {
    if (!this.#isGated(mark)) return;
    throw new AccessError(`${what} could never end: the work waits for a promise that is not settled.`, {
      api: this.driver.api,
      argument: "fence",
      hint: "Settle it first, or await instead.",
    });
  }

  /** Nothing was submitted: forgets the waits that were meant for it. */
  #takeBack(): void {
    this.#lines.refused?.(this.lane);
    this.#isWaiting = false;
    this.#behind = undefined;
    const next = this.#submitted + 1;
    this.#sync?.refused(next);
    this.#gated = this.#gated?.filter(({ mark }) => mark < next);
    if (this.#gated?.length === 0) this.#gated = undefined;
  }

  /** @internal A command failed: its lane reports that. */
  failed(mark: number, error: unknown, lost: boolean = false): void {
    this.hasFailed = true;
    this.#behind = undefined; // the command may have waited for nothing
    this.#forgetGates();
    const gate = this.#gateFailures.find(({ from, to }) => from <= mark && mark <= to);
    const failure = gate === undefined ? error : causedBy(gate.error, error);
    this.#failures = [...this.#failures, { from: mark, to: lost ? Infinity : this.#submitted, error: failure }];
  }

  /** @internal What its end has not waited for yet: also while it ends, it signals semaphores that others wait for. */
  lastWork(): Fence | undefined {
    if (this.#awaited === this.#submitted) return undefined;
    this.#awaited = this.#submitted;
    return this.fence();
  }

  /** @internal The end begins: no command waits for gates from now on. */
  giveUp(): void {
    if (this.#passages === undefined) return;
    this.#lines.abandon?.(this.lane);
    for (const passage of this.#passages) passage.abandon();
  }
}

/** What a driver reports of a command behind a gate that has failed: the program knows the gate's error, not the driver's. */
function causedBy(cause: unknown, error: unknown): unknown {
  if (!(error instanceof NativeCallError) || error === cause) return error;
  const { api, fn, code, codeName } = error;
  const known = Object.entries({ api, fn, code, codeName }).filter(([, value]) => value !== undefined);
  const hint = `It waited for something that failed: ${messageOf(cause)}`;
  return new NativeCallError(reasonOf(error).reason, { ...Object.fromEntries(known), cause, hint });
}
