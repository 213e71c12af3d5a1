import { AccessError, ArgumentError, NativeCallError } from "@samepage/interop";
import type { OpenCLUserEvent } from "@samepage/interop/opencl";
import { type Busy, busy } from "../busy.ts";
import { any, fails, open, safe, safely, say, settled, sleep } from "../kit.ts";
import { type Failure, table } from "../row.ts";

const unset: Failure = {
  error: AccessError,
  ...{ api: "opencl", argument: "fence" },
  message: /could never end: the work waits for a user event that is not set/,
  hint: /Set the event first, or await instead/,
};

export default table(import.meta, {
  "a blocking wait behind a user event that is not set": {
    opencl: true,
    run() {
      using cl = open();
      using event = cl.userEvent();
      event.fence.waitSync();
    },
    fails: unset,
  },
  "finish() behind a user event that is not set": {
    opencl: true,
    run() {
      using cl = open();
      const { add, mapped, source } = busy(cl);
      using _ = source;
      using event = cl.userEvent();
      add.run([8192], [mapped, 1], { after: event.fence });
      try {
        cl.queue.finish();
      } finally {
        event.complete();
      }
    },
    fails: unset,
  },
  "a blocking dispose behind a user event that is not set": {
    opencl: true,
    async run() {
      using cl = open();
      const { add, mapped, source } = busy(cl);
      using event = cl.userEvent();
      add.run([8192], [mapped, 1], { after: event.fence });
      fails("dispose", () => mapped[Symbol.dispose](), AccessError);
      event.complete();
      await mapped[Symbol.asyncDispose]();
      say(source.view()[0]); // 7 + 1 + 1
      source[Symbol.dispose]();
    },
    says: ["9"],
  },
  "an event that is set twice": {
    opencl: true,
    run() {
      using cl = open();
      using event = cl.userEvent();
      event.complete();
      event.fail();
    },
    fails: {
      error: NativeCallError,
      ...{ api: "opencl", fn: "clSetUserEventStatus", code: -59, codeName: "CL_INVALID_OPERATION" },
      message: /clSetUserEventStatus failed/,
      hint: /It was set already/,
    },
  },
  "a code that is not negative": {
    opencl: true,
    run() {
      using cl = open();
      using event = cl.userEvent();
      for (const code of [1, NaN, -1.5, -(2 ** 32), "x", null]) {
        fails(String(code), () => event.fail(any(code)), ArgumentError);
      }
      event.fail(0);
    },
    fails: { error: ArgumentError, api: "opencl", argument: "code", message: /0 is not a negative whole number/ },
  },
  "work behind an event that fails": {
    opencl: true,
    async run() {
      using cl = open();
      const { add, mapped, source } = busy(cl);
      using _ = source;
      const event = cl.userEvent();
      add.run([8192], [mapped, 1], { after: event.fence });
      using fence = cl.queue.fence();
      event[Symbol.dispose](); // unset: it fails
      say(await settled(mapped[Symbol.asyncDispose]()).then((error) => error.split(" ")[0]));
      await fence.wait();
    },
    says: ["NativeCallError"],
    fails: {
      Portable: {
        error: NativeCallError,
        ...{ api: "opencl", fn: "clEnqueueNDRangeKernel", code: -1, codeName: "a status of the driver's own" },
        message: /Work submitted by clEnqueueNDRangeKernel ended with/,
        hint: /It failed itself, or waited for something that did/,
      },
      rusticl: {
        error: NativeCallError,
        ...{ api: "opencl", fn: "clEnqueueNDRangeKernel", code: -14 },
        codeName: "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        message: /Work submitted by clEnqueueNDRangeKernel ended with/,
        hint: /It failed itself, or waited for something that did/,
      },
    },
  },
  "an event of another context": { // the host waits for it
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      const { add, mapped, source } = busy(cl);
      using event = other.userEvent();
      event.complete();
      add.run([8192], [mapped, 1], { after: event.fence });
      const elsewhere = busy(other);
      using theirs = other.queue.fence();
      add.run([8192], [mapped, 1], { after: theirs });
      mapped[Symbol.dispose]();
      say(source.view()[0]); // 7 + 1 + 1 + 1
      for (const each of [elsewhere.mapped, elsewhere.source, source]) each[Symbol.dispose]();
    },
    says: ["10"],
  },
  "an event of another context that is not set": {
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      const { add, mapped, source } = busy(cl);
      using _ = source;
      using event = other.userEvent();
      add.run([8192], [mapped, 1], { after: event.fence });
    },
    fails: unset,
  },
  "a user event whose fence the program disposes": {
    opencl: true,
    run() {
      using cl = open();
      for (let i = 0; i < 50; i++) {
        using event = cl.userEvent();
        event.fence[Symbol.dispose]();
        using other = cl.userEvent();
        event.complete();
        other.complete();
      }
      for (let i = 0; i < 50; i++) {
        using event = cl.userEvent();
        event.fence[Symbol.dispose]();
      }
    },
  },
  "work that fails while work in front of it is still running": {
    opencl: true,
    async run() {
      const ends: readonly ((bench: Busy, event: OpenCLUserEvent) => void)[] = [
        (_, event) => event.fail(),
        (_, event) => event[Symbol.dispose](),
        ({ cl, mapped }, event) => {
          mapped.disposeAfter(cl.queue.fence());
          event.fail();
        },
      ];
      for (const end of ends) {
        const bench = busy(open());
        const { cl, add, mapped, source } = bench;
        const event = cl.userEvent();
        add.run([8192], [mapped, 1], { after: event.fence });
        const own = cl.allocate({ shape: [64], dtype: "u8" });
        add.run([64], [own, 1], { after: cl.queue.fence(), queue: cl.createQueue() });
        end(bench, event);
        await safely("mapped", mapped[Symbol.asyncDispose]());
        await safely("context", cl[Symbol.asyncDispose]());
        safe("source", () => source[Symbol.dispose]()); // throws what disposeAfter has kept
      }
      await sleep(200);
    },
  },
  "user events that fail or are never set, wherever something waits": {
    opencl: true,
    limit: 40,
    async run() {
      for (const how of ["fail", "dispose", "forget"]) {
        const { cl, source, mapped, add } = busy(open());
        const event = cl.userEvent();
        add.run([4096], [mapped, 1], { after: event.fence });
        const fence = cl.queue.fence();
        add.run([4096], [mapped, 1]);
        const own = cl.allocate({ shape: [64], dtype: "u8" });
        add.run([64], [own, 1], { queue: cl.createQueue(), after: fence });
        const outcome = async (promise: Promise<unknown>) => {
          const ended = await Promise.race([settled(promise), sleep(5000).then(() => "hangs")]);
          return ended.split(" ")[0];
        };
        const waiting = outcome(fence.wait());
        if (how === "fail") event.fail();
        if (how === "dispose") event[Symbol.dispose]();
        if (how !== "forget") await waiting;
        await safely("context", cl[Symbol.asyncDispose]());
        say(how, await waiting);
        safe("dispose", () => mapped[Symbol.dispose]());
        safe("dispose", () => source[Symbol.dispose]());
        fence[Symbol.dispose]();
      }
      await sleep(20);
      Deno.exit(0); // no timer of ours is to be waited for
    },
    says: ["fail NativeCallError", "dispose NativeCallError", "forget NativeCallError"],
  },
});
