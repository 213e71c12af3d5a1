import { ArgumentError, DisposedError, LayoutError } from "@samepage/interop";
import { createMemfd, type Undo, undoAll } from "@samepage/interop/backend";
import type { OpenCLContext, OpenCLSemaphore } from "@samepage/interop/opencl";
import { any, fails, open } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

/** The error of an argument. */
const wrong = (argument: string, message: RegExp, hint?: RegExp): Failure => ({
  ...{ error: ArgumentError, api: "opencl", argument, message },
  ...(hint === undefined ? {} : { hint }),
});

/** On PoCL as a driver with cl_khr_semaphore, with a semaphore that other code has made. It changes what others would meet. */
function simulated(run: (cl: OpenCLContext, theirs: bigint) => unknown, failure: Failure): Row {
  return {
    ...{ opencl: "Portable", alone: true, fails: failure },
    async run() {
      await import("../../opencl/external/simulated.ts");
      const { Theirs } = await import("../../opencl/external/theirs.ts");
      using cl = open();
      using theirs = new Theirs(cl);
      await run(cl, theirs.handle);
    },
  };
}

export default table(import.meta, {
  "a semaphore where the driver has none": {
    opencl: true,
    run() {
      using cl = open();
      cl.attachSemaphore(0x1234n);
    },
    fails: wrong("handle", /has no cl_khr_semaphore/, /attachEvent\(\)/),
  },
  "a semaphore by an fd where the driver has none": {
    opencl: true,
    run() {
      using cl = open();
      for (const kind of ["timeline", "sync-fd"] as const) {
        fails(kind, () => cl.importSemaphore(0, { kind }), ArgumentError);
      }
      cl.importSemaphore(0);
    },
    fails: wrong("kind", /imports no binary semaphores/, /The doctor/),
  },
  "a semaphore by anything but an fd of one": simulated((cl) => {
    for (const fd of [-1, 1.5, "0", null, 2 ** 20]) fails("fd", () => cl.importSemaphore(any(fd)), ArgumentError);
    fails("sync-fd", () => cl.importSemaphore(0, { kind: "sync-fd" }), ArgumentError);
    const undo: Undo = [];
    using _file = { [Symbol.dispose]: () => undoAll(undo, "closing a file") };
    const { fd } = createMemfd(4096, undo);
    cl.importSemaphore(fd);
  }, wrong("fd", /that of a regular file/)),
  "memory by an fd where the driver takes none": {
    opencl: true,
    run() {
      using cl = open();
      const target = cl.image({ order: "RGBA", type: "UNORM_INT8" });
      fails("an image", () => target.importMemory(0, { shape: [4, 4, 4], size: 64 }), ArgumentError);
      cl.importMemory(0, { shape: [4], dtype: "u8", size: 4 });
    },
    fails: wrong("fd", /has no cl_khr_external_memory/),
  },
  "memory by anything but an fd, or said wrongly": simulated((cl) => {
    const init = { shape: [4], dtype: "u8", size: 4 } as const;
    for (const fd of [1.5, "0", null, 2 ** 20]) fails("fd", () => cl.importMemory(any(fd), init), ArgumentError);
    for (const size of [0, 1.5, "4"]) {
      fails("size", () => cl.importMemory(0, { ...init, size: any(size) }), ArgumentError);
    }
    fails("too short", () => cl.importMemory(0, { ...init, size: 3 }), LayoutError);
    cl.importMemory(-1, init);
  }, wrong("fd", /expected an fd, got -1/)),
  "a semaphore that is not a handle": {
    opencl: true,
    run() {
      using cl = open();
      for (const handle of [0n, -1n, 5, {}]) fails("semaphore", () => cl.attachSemaphore(any(handle)), ArgumentError);
      cl.attachSemaphore(any(undefined));
    },
    fails: wrong("handle", /expected a bigint/),
  },
  "a semaphore of another context": simulated((_, theirs) => {
    using cl = open();
    cl.attachSemaphore(theirs);
  }, wrong("handle", /of another cl_context/)),
  "a signal on another context's queue": simulated((cl, theirs) => {
    using other = open();
    using semaphore = cl.attachSemaphore(theirs);
    other.queue.signalSemaphores([semaphore]);
  }, wrong("semaphores", /belongs to another context/)),
  "a wait for what are not semaphores": simulated((cl, theirs) => {
    using semaphore = cl.attachSemaphore(theirs);
    for (const given of [[], null, semaphore, [semaphore, semaphore], [null], [{ semaphore, values: 1n }]]) {
      fails("semaphores", () => cl.queue.waitSemaphores(any(given)), ArgumentError);
    }
    cl.queue.waitSemaphores([{ semaphore: any(cl) }]);
  }, wrong("semaphores", /importSemaphore\(\)/)),
  "a value of a binary semaphore": simulated((cl, theirs) => {
    using semaphore = cl.attachSemaphore(theirs);
    fails("wait", () => semaphore.wait(1n), ArgumentError);
    semaphore.signal(any("1"));
  }, wrong("value", /only a timeline has values/, /Leave it out/)),
  "a semaphore after its end": simulated((cl, theirs) => {
    const semaphore: OpenCLSemaphore = cl.attachSemaphore(theirs);
    semaphore[Symbol.dispose]();
    fails("signal", () => semaphore.signal(), DisposedError);
    fails("handle", () => semaphore.handle, DisposedError);
    semaphore.wait();
  }, { error: DisposedError, api: "core", message: /opencl semaphore .* was disposed/ }),
});
