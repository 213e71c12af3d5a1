import { AccessError, ArgumentError, DisposedError, host, LayoutError, MapperGraph, region } from "@samepage/interop";
import { BaseOf, type SvmAllocation } from "@samepage/interop/opencl";
import { any, fails, open, safe, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const bytes = { shape: [4096], dtype: "u8" } as const;
const KERNEL = "kernel void k(global uchar* x) { x[get_global_id(0)] += 1; }";

/** An allocation that is refused, on PoCL, which has all of it. */
function refused(init: Partial<Record<keyof SvmAllocation, unknown>>, failure: Omit<Failure, "api">): Row {
  return {
    opencl: "Portable",
    run() {
      using cl = open();
      cl.svm.allocate(any({ ...bytes, ...init }));
    },
    fails: { api: "opencl", ...failure },
  };
}

const wrong = (argument: string, message: RegExp) => ({ error: ArgumentError, fn: "clSVMAlloc", argument, message });

const neither = (argument: string, message: RegExp) => ({ error: ArgumentError, argument, message });

export default table(import.meta, {
  "a grain that there is not": refused(
    { grain: "finest" },
    neither("grain", /expected one of "coarse", "fine", got "finest"/),
  ),
  "atomics that are neither": refused({ atomics: 1 }, neither("atomics", /expected a boolean, got a number/)),
  "atomics on coarse memory": refused({ atomics: true }, {
    ...wrong("atomics", /only fine-grained memory/),
    hint: /Ask for grain: "fine"/,
  }),
  "more than the device takes in one piece": {
    opencl: "Portable",
    run() {
      using cl = open();
      cl.svm.allocate({ ...bytes, shape: [2 ** 45] });
    },
    fails: {
      error: LayoutError,
      api: "opencl",
      fn: "clSVMAlloc",
      argument: "shape",
      message: /35184372088832/,
      hint: /in parts/,
    },
  },
  "an alignment that is not a power of two": {
    opencl: "Portable",
    run() {
      using cl = open();
      cl.svm.allocate({ ...bytes, align: 100 });
    },
    fails: { error: LayoutError, api: "core", argument: "align", message: /expected a power of two, got 100/ },
  },
  "on a device that may have none": {
    opencl: true,
    run() {
      using cl = open();
      const { coarseGrainBuffer, fineGrainBuffer, atomics } = cl.svm.capabilities;
      const works = (init: Partial<SvmAllocation>) =>
        safe("allocate", () => cl.svm.allocate({ ...bytes, ...init })) !== undefined;
      say(works({}) === coarseGrainBuffer, works({ grain: "fine" }) === fineGrainBuffer);
      say(works({ grain: "fine", atomics: true }) === (fineGrainBuffer && atomics));
    },
    says: ["true true", "true"],
  },
  "unified shared memory where there may be none": {
    opencl: true,
    run() {
      using cl = open();
      say(cl.usm.available === (cl.usm.capabilities !== undefined));
      for (const kind of ["host", "shared", "device"] as const) {
        const tensor = safe(kind, () => cl.usm.allocate({ ...bytes, kind }));
        if (tensor !== undefined) say(cl.usm.is(tensor));
      }
      fails("kind", () => cl.usm.allocate({ ...bytes, kind: any("elsewhere") }), ArgumentError);
      fails("init", () => cl.usm.allocate(any(null)), ArgumentError);
      using elsewhere = host.allocate(bytes);
      fails("pointer", () => cl.usm.attach(elsewhere.handle, bytes), ArgumentError);
      say(cl.usm.is(cl.allocate(bytes)), cl.svm.is(cl.allocate(bytes)));
    },
    says: ["true", "false false"],
  },
  "a view of coarse memory after the unmap": {
    opencl: "Portable",
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = cl.svm.allocate(bytes);
      const mapped = graph.map(t, host);
      const view = mapped.bytes();
      fails("twice", () => graph.map(t, host), AccessError);
      mapped[Symbol.dispose]();
      say(view.length);
      mapped.view();
    },
    says: ["0"],
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "a kernel on memory that is mapped for the host": {
    opencl: "Portable",
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using program = cl.program(KERNEL);
      using t = cl.svm.allocate(bytes);
      using _ = graph.map(t, host);
      program.kernel("k").run({ items: [4096] }, [t]);
    },
    fails: { error: AccessError, api: "core", argument: "x", message: /are lent to/, hint: /Dispose/ },
  },
  "memory of another context": {
    opencl: "Portable",
    run() {
      using cl = open();
      using other = open();
      using program = cl.program(KERNEL);
      using t = other.svm.allocate(bytes);
      say(t.context === other, cl.svm.is(t));
      program.kernel("k").run({ items: [4096] }, [t]);
    },
    says: ["true false"],
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clSetKernelArg", argument: "x" },
      message: /belongs to another context of/,
    },
  },
  "memory that was disposed": {
    opencl: "Portable",
    run() {
      using cl = open();
      using program = cl.program(KERNEL);
      const t = cl.svm.allocate(bytes);
      const part = t.slice(region(t.layout, [1], [16]));
      say(part.address % 2n);
      program.kernel("k").run({ items: [16] }, [part]); // a part may begin anywhere
      t[Symbol.dispose]();
      fails("part", () => program.kernel("k").run({ items: [16] }, [part]), DisposedError);
      program.kernel("k").run({ items: [16] }, [t]);
    },
    says: ["1"],
    fails: { error: DisposedError, api: "core", argument: "x", message: /was disposed/ },
  },
  "as a BaseOf": {
    opencl: "Portable",
    run() {
      using cl = open();
      using program = cl.program(KERNEL);
      using t = cl.svm.allocate(bytes);
      safe("run", () => program.kernel("k").run({ items: [16] }, [any(new BaseOf(any(t)))]));
      cl.queue.finish();
    },
  },
  "wrapped by its address, and both used at once": {
    opencl: "Portable",
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using program = cl.program(KERNEL);
      using t = cl.svm.allocate({ ...bytes, grain: "fine" });
      using peer = host.wrap(t.handle, bytes);
      const view = peer.view();
      program.kernel("k").run({ items: [4096] }, [t]);
      say(view.length);
      using _ = graph.map(t, host);
      peer.view();
    },
    says: ["0"],
    fails: { error: AccessError, api: "core", message: /are lent to/, hint: /Dispose/ },
  },
  "the context disposed while it is mapped": {
    opencl: "Portable",
    run() {
      const cl = open();
      using graph = new MapperGraph([host, cl]);
      const view = graph.map(cl.svm.allocate(bytes), host).bytes();
      cl[Symbol.dispose]();
      say(view.length);
      cl.svm.allocate(bytes);
    },
    says: ["0"],
    fails: { error: DisposedError, api: "core", message: /opencl context .* was disposed/ },
  },
});
