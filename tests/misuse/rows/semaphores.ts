import { AccessError, ArgumentError, DisposedError, Semaphore } from "@samepage/interop";
import { Resource } from "@samepage/interop/backend";
import { command, FakeDriver, FakeMaker, type FakeSync } from "../../unit/fakes.ts";
import { any, fails, say } from "../kit.ts";
import { type Failure, table } from "../row.ts";

/** A device that makes semaphores. */
function maker(kinds: FakeMaker["kinds"] = ["timeline-fd", "binary-fd"]) {
  const semaphores = Object.assign(new FakeMaker(), { kinds });
  return { name: "the maker", resource: new Resource({ name: "the maker" }), semaphores };
}

/** A queue of a device that imports them. */
const queue = (name: string, sync: FakeSync = "binary-fd") => ({ line: new FakeDriver(name, sync).line(name) });

/** The error of an argument. */
const wrong = (argument: string, message: RegExp): Failure => ({
  ...{ error: ArgumentError, api: "core", argument, message },
});

/** The error of a signal or a wait at the wrong time. */
const untimely = (message: RegExp, hint: RegExp): Failure => ({ error: AccessError, api: "core", message, hint });

export default table(import.meta, {
  "an invalid maker": {
    run: () => Semaphore.create(any({})),
    fails: wrong("exporter", /expected a context that makes semaphores/),
  },
  "a kind that there is not": {
    run: () => Semaphore.create(maker(), { kind: any("counting") }),
    fails: wrong("kind", /expected "binary" or "timeline", got "counting"/),
  },
  "a kind that the maker does not make": {
    run: () => Semaphore.create(maker(["binary-fd"]), { kind: "timeline" }),
    fails: { ...wrong("exporter", /makes no timeline semaphores/), hint: /The doctor says/ },
  },
  "an invalid user": {
    run() {
      using semaphore = Semaphore.create(maker());
      semaphore.in(any({}));
    },
    fails: wrong("user", /a context, a queue or a stream/),
  },
  "a user that cannot import its kind": {
    run() {
      using semaphore = Semaphore.create(maker(), { kind: "timeline" });
      semaphore.in(queue("a queue"));
    },
    fails: {
      ...wrong("user", /a queue imports no timeline semaphores/),
      ...{ api: "a queue", hint: /the doctor says why/ },
    },
  },
  "one, its part and a fence, printed after its end": {
    run() {
      const semaphore = Semaphore.create(maker());
      const part = semaphore.in(queue("a queue"));
      const fence = part.signal();
      semaphore[Symbol.dispose]();
      say(`${Deno.inspect(part)}; ${Deno.inspect(fence)}`, part.toString() === Deno.inspect(part));
    },
    says: ["binary semaphore of the maker in a queue; fence at mark 1 of a queue true"],
  },
  "an fd of one that has ended": {
    run() {
      const semaphore = Semaphore.create(maker());
      semaphore[Symbol.dispose]();
      semaphore.exportFd();
    },
    fails: { error: DisposedError, api: "core", message: /binary semaphore of the maker was disposed/ },
  },
  "a wait without a signal": {
    run() {
      using semaphore = Semaphore.create(maker());
      semaphore.in(queue("a queue")).wait();
    },
    fails: untimely(/comes after its signal/, /signal\(\) on the other line first/),
  },
  "two waits for one signal": {
    run() {
      using semaphore = Semaphore.create(maker());
      semaphore.in(queue("one")).signal();
      const waiter = semaphore.in(queue("other"));
      waiter.wait();
      waiter.wait();
    },
    fails: untimely(/comes after its signal/, /signal\(\)/),
  },
  "two signals without a wait": {
    run() {
      using semaphore = Semaphore.create(maker());
      const signaller = semaphore.in(queue("one"));
      signaller.signal();
      signaller.signal();
    },
    fails: untimely(/no wait has taken/, /Submit the wait first/),
  },
  "a signal while the wait for the last one may be in flight": {
    run() {
      using semaphore = Semaphore.create(maker());
      const [one, other] = [queue("one"), queue("other")];
      semaphore.in(one).signal();
      semaphore.in(other).wait();
      other.line.submit([], command(() => {}));
      semaphore.in(one).signal();
    },
    fails: untimely(/may not be over/, /Have one wait for it/),
  },
  "a timeline's signal that may come before the last one": {
    run() {
      using semaphore = Semaphore.create(maker(), { kind: "timeline" });
      semaphore.in(queue("one", "shared timeline-fd")).signal();
      semaphore.in(queue("other", "shared timeline-fd")).signal();
    },
    fails: untimely(/the last signal, of one, may not be over/, /wait\(\) before signal\(\)/),
  },
  "a signal after the end": {
    run() {
      const semaphore = Semaphore.create(maker());
      const signaller = semaphore.in(queue("one"));
      semaphore[Symbol.dispose]();
      fails("value", () => semaphore.in(queue("other")), DisposedError);
      if (semaphore.value !== 0n) throw new Error("its value has changed");
      signaller.signal();
    },
    fails: { error: DisposedError, api: "core", message: /binary semaphore of the maker was disposed/ },
  },
});
