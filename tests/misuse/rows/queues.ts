import { AccessError, ArgumentError, host, LayoutError, MapperGraph, region } from "@samepage/interop";
import type { OpenCLContext } from "@samepage/interop/opencl";
import { any, fails, open, opening, outcome, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const bytes = { shape: [64], dtype: "u8" } as const;

/** A program with a context, refused so before any driver is asked. */
function refused(
  run: (cl: OpenCLContext) => unknown,
  failure: Omit<Failure, "api"> & Partial<Pick<Failure, "api">>,
): Row {
  return {
    opencl: "Portable",
    run() {
      using cl = open();
      run(cl);
    },
    fails: { api: "opencl", ...failure },
  };
}

const wrong = (argument: string, message: RegExp, fn?: string) => ({
  ...{ error: ArgumentError, argument, message },
  ...(fn === undefined ? {} : { fn }),
});

export default table(import.meta, {
  "a handle for options": refused((cl) => {
    fails("queue", () => cl.createQueue(any(cl.queue.handle)), ArgumentError);
    cl.createQueue(any("profiling"));
  }, { ...wrong("options", /expected an object, got "profiling"/), api: "core" }),
  "an option that there is not": refused(
    (cl) => cl.createQueue(any({ order: "out-of-order" })),
    { ...wrong("options", /unknown property order/), api: "core", hint: /Use profiling, device/ },
  ),
  "times of work that is not done": {
    opencl: "Portable",
    async run() {
      using cl = open();
      using event = opening();
      using queue = cl.createQueue({ profiling: true });
      const fence = queue.waitFor(event.fence);
      try {
        queue.times(fence);
      } finally {
        await event.complete();
      }
    },
    fails: {
      api: "opencl",
      ...wrong("fence", /the work is not done yet/, "clGetEventProfilingInfo"),
      hint: /Wait for it first/,
    },
  },
  "times of another queue's work, of work long ago, of none, and of anything but a fence": {
    opencl: true,
    run() {
      using cl = open();
      using queue = cl.createQueue({ profiling: true });
      using t = cl.allocate(bytes);
      say(outcome(() => queue.times(queue.fence())));
      const first = queue.waitFor([]);
      for (let i = 0; i < 1024; i++) queue.fill(t, i % 256);
      queue.finish();
      say(outcome(() => queue.times(cl.queue.fence())));
      say(outcome(() => queue.times(first)));
      say(outcome(() => queue.times(any(5))));
      say(outcome(() => queue.times(queue.fence())));
    },
    says: ["ArgumentError fence", "ArgumentError fence", "ArgumentError fence", "ArgumentError fence", "ok"],
  },
  "profiling that is neither": refused(
    (cl) => cl.createQueue({ profiling: any(1) }),
    wrong("profiling", /expected a boolean, got a number/),
  ),
  "times on a queue that keeps none": {
    opencl: true,
    run() {
      using cl = open();
      using t = cl.allocate(bytes);
      cl.queue.fill(t, 1);
      const fence = cl.queue.fence();
      say(outcome(() => cl.queue.times(fence)));
      fence.waitSync();
      say(outcome(() => cl.queue.times(fence)));
    },
    says: ["ArgumentError profiling", "ArgumentError profiling"],
  },
  "a pattern that is out of range": refused((cl) => {
    using t = cl.allocate(bytes);
    for (const pattern of [undefined, null, "x", {}, [], [1, "x"], NaN, 1.5, -1, new Array(1000).fill(1)]) {
      fails(String(pattern), () => cl.queue.fill(t, any(pattern)), ArgumentError);
    }
    cl.queue.fill(t, 256);
  }, wrong("value", /expected a whole number from 0 to 255, got 256/)),
  "a pattern that does not fit": refused((cl) => {
    using t = cl.allocate({ ...bytes, shape: [63] });
    cl.queue.fill(t, [1, 2]);
  }, { error: LayoutError, fn: "clEnqueueFillBuffer", argument: "to", message: /63/ }),
  "a copy onto itself": refused((cl) => {
    using t = cl.allocate(bytes);
    cl.queue.copy(t, t);
  }, { error: LayoutError, fn: "clEnqueueCopyBuffer", argument: "to", message: /its bytes overlap those of/ }),
  "a copy to another shape": refused((cl) => {
    using t = cl.allocate(bytes);
    using u = cl.allocate({ ...bytes, shape: [8, 8] });
    cl.queue.copy(t, u);
  }, { error: LayoutError, fn: "clEnqueueCopyBuffer", argument: "to", message: /got those of \[8,8\] u8/ }),
  "a copy to another context's tensor": refused((cl) => {
    using other = open();
    using t = cl.allocate(bytes);
    cl.queue.copy(t, other.allocate(bytes));
  }, wrong("to", /belongs to another context of /)),
  "a copy from what is mapped to the host": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = cl.allocate(bytes);
      using u = cl.allocate(bytes);
      using _ = graph.map(t, host);
      cl.queue.copy(t, u);
    },
    fails: { error: AccessError, api: "core", message: /are lent to/, hint: /Dispose/ },
  },
  "a box of other elements": refused((cl) => {
    using t = cl.allocate({ ...bytes, shape: [8, 8] });
    const to = new Uint8Array(1024);
    fails("none", () => cl.queue.write(t, any(undefined), { at: "dense" }), ArgumentError);
    fails("layout", () => cl.queue.read(t, to, { at: any(5) }), LayoutError);
    fails(
      "short",
      () => cl.queue.read(t, to.subarray(200), { at: { ...bytes, shape: [8, 8], rowAlign: 128 } }),
      LayoutError,
    );
    cl.queue.read(t, to, { at: bytes });
  }, {
    error: LayoutError,
    argument: "at",
    message: /expected the elements of \[8,8\] u8/,
  }),
  "a migration to nowhere": refused((cl) => {
    using t = cl.allocate(bytes);
    for (const tensors of [undefined, [], [undefined], [host]]) {
      fails("tensors", () => cl.queue.migrate(any(tensors), { to: "host" }), ArgumentError);
    }
    cl.queue.migrate([t], { to: any("elsewhere") });
  }, wrong("to", /expected one of "device", "host", got "elsewhere"/)),
  "a migration that would spoil a neighbour": refused((cl) => {
    using t = cl.allocate(bytes);
    cl.queue.migrate([t.slice(region(t.layout, [1], [4]))], { to: "host", contentUndefined: true });
  }, {
    error: LayoutError,
    fn: "clEnqueueMigrateMemObjects",
    argument: "tensors[0]",
    message: /is not all of its buffer/,
    hint: /Migrate it with its contents/,
  }),
  "a wait for anything but a fence": refused((cl) => {
    fails("x", () => cl.queue.waitFor(any("x")), ArgumentError);
    fails("many", () => cl.queue.waitFor(any(new Array(100_000))), ArgumentError);
    cl.queue.waitFor([any(undefined)]);
  }, { ...wrong("after[0]", /expected a fence, got undefined/), hint: /host\.signal/ }),
  "an invalid handle of a queue, attached": refused((cl) => {
    for (const handle of [undefined, 0n, -1n, 2n ** 64n, {}]) {
      fails("queue", () => cl.attachQueue(any(handle)), ArgumentError);
      fails("event", () => cl.attachEvent(any(handle)), ArgumentError);
      fails("buffer", () => cl.attach(any(handle), bytes), ArgumentError);
    }
    cl.attachQueue(any(5));
  }, wrong("handle", /expected a bigint, got a number/)),
  "a queue of another context, attached": refused((cl) => {
    using other = open();
    cl.attachQueue(other.queue.handle);
  }, wrong("handle", /the queue is of another cl_context/)),
  "a buffer of another context, attached": refused((cl) => {
    using other = open();
    cl.attach(other.allocate(bytes).handle, bytes);
  }, { ...wrong("handle", /of another context/, "clRetainMemObject"), hint: /Attach its own/ }),
  "a buffer attached with more bytes than it has": refused((cl) => {
    using t = cl.allocate(bytes);
    cl.attach(t.handle, { ...bytes, shape: [65] });
  }, { error: LayoutError, argument: "init", message: /it reaches to byte 65; the memory has 64/ }),
  "a queue attached twice, and disposed twice": {
    opencl: true,
    run() {
      using cl = open();
      const own = cl.createQueue();
      const { handle } = own;
      const a = cl.attachQueue(handle);
      const b = cl.attachQueue(handle);
      for (const each of [own, a, b, b, a, own]) each[Symbol.dispose]();
      cl.queue.finish(); // the context's own is another
      say(outcome(() => own.fence()), outcome(() => b.finish()), a.resource.state);
    },
    says: ["DisposedError DisposedError freed"],
  },
});
