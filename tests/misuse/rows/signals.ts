import { AccessError, ArgumentError, host, NativeCallError } from "@samepage/interop";
import { type Busy, busy } from "../busy.ts";
import { any, fails, open, type Opening, opening, OwnError, safe, safely, say, settled, sleep } from "../kit.ts";
import { type Failure, table } from "../row.ts";

/** What is not to be collected. */
const kept: unknown[] = [];

/** A call that blocks, behind a promise that is not settled. */
const unset = (api: string, what: string): Failure => ({
  ...{ error: AccessError, api, argument: "fence" },
  message: new RegExp(`^${what} could never end: the work waits for a promise that is not settled`),
  hint: /Settle it first, or await instead/,
});

/** A kernel that waited for a promise that rejected. */
const failedKernel: Omit<Failure, "code" | "codeName"> = {
  ...{ error: NativeCallError, api: "opencl", fn: "clEnqueueNDRangeKernel" },
  message: /Work submitted by clEnqueueNDRangeKernel ended with/,
  hint: /It waited for something that failed: the program failed it/,
};

export default table(import.meta, {
  "anything but a promise": {
    run() {
      for (const wrong of [undefined, null, 5, "soon", {}, [], () => {}, { then: 5 }]) {
        fails(String(wrong), () => host.signal(any(wrong)), ArgumentError);
      }
      host.signal(any(host));
    },
    fails: { error: ArgumentError, api: "host", argument: "promise", message: /expected a promise, got/ },
  },
  "a blocking wait for a promise that is not settled": {
    run() {
      using event = opening();
      event.fence.waitSync();
    },
    fails: unset("host", "this wait"),
  },
  "finish() behind a promise that is not settled": {
    opencl: true,
    async run() {
      using cl = open();
      const { add, mapped, source } = busy(cl);
      using _ = source;
      using event = opening();
      add.run({ items: [8192] }, [mapped, 1], { after: event.fence });
      try {
        cl.queue.finish();
      } finally {
        await event.complete();
      }
    },
    fails: unset("opencl", "finish\\(\\)"),
  },
  "a blocking dispose behind a promise that is not settled": {
    opencl: true,
    async run() {
      using cl = open();
      const { add, mapped, source } = busy(cl);
      using event = opening();
      add.run({ items: [8192] }, [mapped, 1], { after: event.fence });
      fails("dispose", () => mapped[Symbol.dispose](), AccessError);
      await event.complete();
      await mapped[Symbol.asyncDispose]();
      say(source.view()[0]); // 7 + 1 + 1
      source[Symbol.dispose]();
    },
    says: ["9"],
  },
  "a blocking call in the same turn in which the promise is resolved": {
    opencl: true,
    async run() {
      using cl = open();
      using t = cl.allocate({ shape: [64], dtype: "u8" });
      const { promise, resolve } = Promise.withResolvers<void>();
      const fence = host.signal(promise);
      cl.queue.waitFor(fence);
      cl.queue.fill(t, 1);
      resolve(); // a promise shows that only in a later job
      fails("finish", () => cl.queue.finish(), AccessError);
      await promise;
      cl.queue.finish();
      say(fence.reached());
    },
    says: ["true"],
  },
  "work behind a promise that rejects": {
    opencl: true,
    async run() {
      using cl = open();
      const { add, mapped, source } = busy(cl);
      using _ = source;
      const event = opening();
      add.run({ items: [8192] }, [mapped, 1], { after: event.fence });
      const fence = cl.queue.fence();
      await event.fail();
      say(await settled(mapped[Symbol.asyncDispose]()).then((error) => error.split(" ")[0]));
      await fence.wait();
    },
    says: ["NativeCallError"],
    fails: {
      Portable: { ...failedKernel, code: -1, codeName: "a status of the driver's own" },
      rusticl: { ...failedKernel, code: -14, codeName: "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST" },
    },
  },
  "commands behind a promise that has rejected": {
    opencl: true,
    async run() {
      using cl = open();
      const { add, mapped, source } = busy(cl);
      const mine = new OwnError("the program's own");
      const event = opening();
      await event.fail(mine);
      const uses: readonly (() => unknown)[] = [
        () => add.run({ items: [8192] }, [mapped, 1], { after: event.fence }),
        () => cl.queue.waitFor(event.fence),
        () => event.fence.waitSync(),
        () => event.fence.reached(),
      ];
      for (const use of uses) {
        try {
          use();
        } catch (error) {
          say(error === mine);
        }
      }
      mapped[Symbol.dispose]();
      say(source.view()[0]); // 7 + 1: nothing was submitted
      source[Symbol.dispose]();
    },
    says: ["true", "true", "true", "true", "8"],
  },
  "work of another context": { // the host waits for it
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      const { add, mapped, source } = busy(cl);
      const elsewhere = busy(other);
      add.run({ items: [8192] }, [mapped, 1], { after: other.queue.fence() });
      mapped[Symbol.dispose]();
      say(source.view()[0]); // 7 + 1 + 1
      for (const each of [elsewhere.mapped, elsewhere.source, source]) each[Symbol.dispose]();
    },
    says: ["9"],
  },
  "work of another context behind a promise that is not settled": {
    opencl: true,
    async run() {
      using cl = open();
      using other = open();
      const { add, mapped, source } = busy(cl);
      using _ = source;
      using event = opening();
      const theirs = other.queue.waitFor(event.fence);
      try {
        add.run({ items: [8192] }, [mapped, 1], { after: theirs });
      } finally {
        await event.complete();
      }
    },
    fails: unset("opencl", "this wait"),
  },
  "work that fails while work in front of it is still running": {
    opencl: true,
    async run() {
      const ends: readonly ((bench: Busy, event: Opening) => Promise<void> | void)[] = [
        (_, event) => event.fail(),
        (_, event) => event[Symbol.dispose](),
        ({ cl, mapped }, event) => {
          mapped.disposeAfter(cl.queue.fence());
          return event.fail();
        },
      ];
      for (const end of ends) {
        const bench = busy(open());
        const { cl, add, mapped, source } = bench;
        const event = opening();
        add.run({ items: [8192] }, [mapped, 1], { after: event.fence });
        const own = cl.allocate({ shape: [64], dtype: "u8" });
        add.run({ items: [64] }, [own, 1], { after: cl.queue.fence(), queue: cl.createQueue() });
        await end(bench, event);
        await safely("mapped", mapped[Symbol.asyncDispose]());
        await safely("context", cl[Symbol.asyncDispose]());
        safe("source", () => source[Symbol.dispose]()); // throws what disposeAfter has kept
      }
      await sleep(200);
    },
  },
  "commands that fail while others that they stand behind are at work": {
    opencl: true,
    async run() {
      for (let turn = 0; turn < 20; turn++) {
        const { cl, add, mapped, source } = busy(open(), 200);
        const second = cl.createQueue();
        const event = opening();
        const [one, two] = [0, 1].map(() => cl.allocate({ shape: [512], dtype: "u8" }));
        add.run({ items: [512] }, [one, 1], { queue: second });
        add.run({ items: [512] }, [two, 1], { queue: second, after: event.fence });
        const waits = [second.waitFor(cl.queue.fence()), cl.queue.waitFor([second.fence(), event.fence])];
        cl.queue.copy(one, two);
        add.run({ items: [8192] }, [mapped, 1], { queue: second });
        if (turn % 2 === 0) await event.fail();
        event[Symbol.dispose]();
        if (turn % 3 === 0) safe("finish", () => second.finish());
        for (const each of [two, one, mapped]) await safely("end", each[Symbol.asyncDispose]());
        for (const fence of waits) await safely("wait", fence.wait());
        await safely("the context", cl[Symbol.asyncDispose]());
        safe("source", () => source[Symbol.dispose]());
      }
    },
  },
  "promises that reject or never settle, wherever something waits": {
    opencl: true,
    async run() {
      for (const how of ["reject", "forget"]) {
        const { cl, source, mapped, add } = busy(open());
        const event = opening();
        add.run({ items: [4096] }, [mapped, 1], { after: event.fence });
        const fence = cl.queue.fence();
        add.run({ items: [4096] }, [mapped, 1]);
        const own = cl.allocate({ shape: [64], dtype: "u8" });
        add.run({ items: [64] }, [own, 1], { queue: cl.createQueue(), after: fence });
        const outcome = async (promise: Promise<unknown>) => {
          const ended = await Promise.race([settled(promise), sleep(60_000).then(() => "hangs")]);
          return ended.split(" ")[0];
        };
        const waiting = outcome(fence.wait());
        if (how === "reject") {
          await event.fail();
          await waiting;
        }
        await safely("context", cl[Symbol.asyncDispose]());
        say(how, await waiting);
        safe("dispose", () => mapped[Symbol.dispose]());
        safe("dispose", () => source[Symbol.dispose]());
      }
      await sleep(20);
      Deno.exit(0); // no timer of ours is to be waited for
    },
    says: ["reject NativeCallError", "forget NativeCallError"],
  },
  "a promise that never settles, and the process's end": {
    opencl: true,
    leaves: true,
    run() {
      const { cl, add, mapped } = busy(open(), 10);
      const event = opening();
      for (let i = 0; i < 200; i++) {
        if (i % 20 === 0) cl.queue.waitFor(event.fence);
        add.run({ items: [8192] }, [mapped, 1]);
      }
      kept.push(cl, mapped, event);
      cl.queue.fence().wait().catch(() => {});
    },
  },
});
