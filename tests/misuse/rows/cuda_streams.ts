import { AccessError, ArgumentError, DisposedError, host, LayoutError } from "@samepage/interop";
import { BYTES, device, kernels, ONE } from "../cuda.ts";
import { staleViews } from "../../stale_views.ts";
import { any, fails, outcome, safe, say, settled, sleep } from "../kit.ts";
import { table } from "../row.ts";

export default table(import.meta, {
  "a stream that was disposed": {
    gpus: 1,
    async run() {
      using cuda = device();
      using k = kernels(cuda);
      using x = cuda.allocate(BYTES);
      const stream = cuda.createStream();
      const fence = stream.fence();
      stream[Symbol.dispose]();
      stream[Symbol.dispose]();
      await stream[Symbol.asyncDispose]();
      fails("run", () => k.add.run(ONE, [x, 1], { stream }), DisposedError);
      fails("fill", () => stream.fill(x, 1), DisposedError);
      fails("copy", () => stream.copy(x, x), DisposedError);
      fails("fence", () => stream.fence(), DisposedError);
      fails("finish", () => stream.finish(), DisposedError);
      fails("allocate", () => stream.allocate(BYTES), DisposedError);
      say(await settled(stream.finished()), outcome(() => stream.waitFor([])), outcome(() => stream.handle));
      say(fence.reached());
      Deno.inspect(stream);
    },
    says: ["DisposedError DisposedError DisposedError", "true"],
  },
  "priorities that there are not": {
    gpus: 1,
    run() {
      using cuda = device();
      const { least, greatest } = cuda.priorities;
      for (const priority of [least + 1, greatest - 1, NaN, 0.5, "0", null]) {
        say(outcome(() => cuda.createStream({ priority: any(priority) })));
      }
      fails("options", () => cuda.createStream(any(5)), ArgumentError);
      cuda.createStream({ priority: greatest, nonBlocking: false })[Symbol.dispose]();
    },
    says: Array(6).fill("ArgumentError priority"),
  },
  "invalid handles": {
    gpus: 1,
    run() {
      using cuda = device();
      for (const handle of [0n, -1n, 2n ** 64n, 5, null, "1", {}]) {
        say(outcome(() => cuda.attachStream(any(handle))));
      }
      using legacy = cuda.attachStream(1n);
      using x = cuda.allocate(BYTES);
      legacy.fill(x, 1);
      legacy.finish();
    },
    says: Array(7).fill("ArgumentError handle"),
  },
  "a semaphore by anything but an fd of one, or of a kind that CUDA has not": {
    gpus: 1,
    run() {
      using cuda = device();
      for (const fd of [-1, 1.5, "0", null, 2 ** 20]) say(outcome(() => cuda.importSemaphore(any(fd))));
      for (const kind of ["sync-fd", "d3d"]) say(outcome(() => cuda.importSemaphore(0, { kind: any(kind) })));
      say(outcome(() => cuda.stream.waitSemaphores([])));
      say(outcome(() => cuda.stream.signalSemaphores([any(cuda)])));
    },
    says: [
      ...Array(5).fill("ArgumentError fd"),
      ...Array(2).fill("ArgumentError kind"),
      ...Array(2).fill("ArgumentError semaphores"),
    ],
  },
  "waiting for anything but a fence": {
    gpus: 1,
    run() {
      using cuda = device();
      using k = kernels(cuda);
      using x = cuda.allocate(BYTES);
      for (const after of [5, {}, [5], [null], "x"]) {
        fails(`waitFor ${typeof after}`, () => cuda.stream.waitFor(any(after)), ArgumentError);
        fails(`run after ${typeof after}`, () => k.add.run(ONE, [x, 1], { after: any(after) }), ArgumentError);
      }
      fails("usedBy", () => x.usedBy(any({})), ArgumentError);
    },
  },
  "waiting for a promise": {
    gpus: 1,
    async run() {
      using cuda = device();
      using k = kernels(cuda);
      using x = cuda.allocate(BYTES);
      const { promise, resolve } = Promise.withResolvers<void>();
      const fence = host.signal(promise);
      fails("waitFor", () => cuda.stream.waitFor(fence), AccessError);
      fails("run after", () => k.add.run(ONE, [x, 1], { after: fence }), AccessError);
      resolve();
      await fence.wait();
      cuda.stream.waitFor(fence);
      k.add.run(ONE, [x, 1], { after: fence });
    },
  },
  "bytes that do not fit": {
    gpus: 1,
    run() {
      using cuda = device();
      using x = cuda.allocate(BYTES);
      using y = cuda.allocate({ shape: [64, 64], dtype: "u8" });
      const { stream } = cuda;
      fails("short", () => stream.write(x, new Uint8Array(10)), LayoutError);
      fails("long", () => stream.read(x, new Uint8Array(5000)), LayoutError);
      fails("no bytes", () => stream.write(x, any("bytes")), ArgumentError);
      fails("a buffer", () => stream.write(x, any(new ArrayBuffer(4096))), ArgumentError);
      for (const view of staleViews()) {
        fails("stale", () => stream.read(x, view), ArgumentError);
        fails("stale", () => stream.write(x, view), ArgumentError);
      }
      fails("another shape", () => stream.copy(x, y), LayoutError);
      fails("itself", () => stream.copy(x, x));
      fails("no tensor", () => stream.copy(any({}), x), ArgumentError);
      for (const byte of [-1, 256, 0.5, NaN, "7", null]) {
        fails(`fill ${byte}`, () => stream.fill(x, any(byte)), ArgumentError);
      }
      const shared = new Uint8Array(new SharedArrayBuffer(4096));
      safe("shared", () => stream.read(x, shared));
      stream.finish();
    },
  },
  "a timer that was not stopped": {
    gpus: 1,
    async run() {
      using cuda = device();
      using k = kernels(cuda);
      using x = cuda.allocate(BYTES);
      const timer = cuda.timer();
      say(outcome(() => timer.milliseconds()));
      timer.start();
      say(outcome(() => timer.milliseconds()));
      k.wait.run({ groups: [1], groupSize: [256] }, [x, 30]);
      timer.stop();
      say(outcome(() => timer.milliseconds()));
      await cuda.stream.finished();
      say(timer.milliseconds() > 20);
      fails("no stream", () => timer.start(any({})), ArgumentError);
      timer[Symbol.dispose]();
      timer[Symbol.dispose]();
      say(outcome(() => timer.start()), outcome(() => timer.milliseconds()));
    },
    says: [
      "ArgumentError timer",
      "ArgumentError timer",
      "ArgumentError timer",
      "true",
      "DisposedError DisposedError",
    ],
  },
  "a fence that is not waited for, of a stream that is not kept": {
    gpus: 1,
    leaves: true,
    async run() {
      using cuda = device();
      using k = kernels(cuda);
      using x = cuda.allocate(BYTES);
      const waiting = (() => {
        const stream = cuda.createStream();
        k.wait.run({ groups: [1], groupSize: [256] }, [x, 30], { stream });
        return stream.fence().wait();
      })();
      await sleep(5);
      say(await settled(waiting));
    },
    says: ["ok"],
  },
});
