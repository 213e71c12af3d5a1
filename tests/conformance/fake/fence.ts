import type { Context } from "../../../src/core/graph/context.ts";
import { AccessError, NativeCallError } from "../../../src/core/errors.ts";
import { Fence } from "../../../src/core/life/fence.ts";
import { ledger } from "../../../src/core/life/ledger.ts";
import { fake, FAKE_OK, FAKE_PENDING, FAKE_WOULD_HANG, fakeEnded } from "./driver.ts";

/** A failed code as an error. */
export function check(code: number, fn: string): void {
  if (code !== FAKE_OK) throw new NativeCallError(`${fn} failed with ${code}.`, { api: "fake", fn, code });
}

const status = new Int32Array(1);

/** An event of the fake. */
export class FakeFence extends Fence {
  readonly context: Context;
  readonly line: object;
  /** The driver's event. */
  readonly event: bigint;
  #disposed = false;
  #over = false;

  /** Takes the event over. */
  constructor(context: Context, line: object, event: bigint) {
    super();
    this.context = context;
    this.line = line;
    this.event = event;
    ledger.add("fake.event");
  }

  override get over(): boolean {
    return this.#over;
  }

  reached(): boolean {
    check(fake.fakeEventStatus(this.event, status), "fakeEventStatus");
    if (status[0] === FAKE_PENDING) return false;
    this.#over = true;
    check(status[0], "fakeSubmit");
    return true;
  }

  waitSync(): void {
    const code = fake.fakeWait(this.event);
    if (code === FAKE_WOULD_HANG) {
      throw new AccessError("this wait could never end.", {
        api: "fake",
        argument: "fence",
        hint: "Await it instead.",
      });
    }
    check(code, "fakeWait");
    this.reached();
  }

  retain(): FakeFence {
    check(fake.fakeRetainEvent(this.event), "fakeRetainEvent");
    return new FakeFence(this.context, this.line, this.event);
  }

  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    ledger.remove("fake.event");
    check(fake.fakeReleaseEvent(this.event), "fakeReleaseEvent");
  }

  protected waitable(): Promise<void> {
    return fakeEnded(this.event);
  }

  protected async waitNonblocking(): Promise<void> {}
}
