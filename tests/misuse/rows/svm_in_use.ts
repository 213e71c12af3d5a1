import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  ledger,
  MapperGraph,
  NoRouteError,
  region,
} from "@samepage/interop";
import type { OpenCLContext, OpenCLSvmTensor, SvmGrain } from "@samepage/interop/opencl";
import { any, collect, fails, open, safe, same, say } from "../kit.ts";
import { type Row, table } from "../row.ts";

const GRAINS: readonly SvmGrain[] = ["coarse", "fine"];
const words = { shape: [1 << 14], dtype: "i32" } as const;
const KERNEL = "kernel void k(global int* o, int n) { o[get_global_id(0)] = n; }";

/** A context, a kernel, and memory of each grain in turn, on PoCL, which has both. */
function eachGrain(
  use: (cl: OpenCLContext, make: () => OpenCLSvmTensor, grain: SvmGrain) => void,
  says: readonly string[] = [],
): Row {
  return {
    opencl: "Portable",
    says,
    run() {
      for (const grain of GRAINS) {
        using cl = open();
        use(cl, () => cl.svm.allocate({ ...words, grain }), grain);
        cl.queue.finish();
      }
    },
  };
}

export default table(import.meta, {
  "indirect memory that is none": eachGrain((cl, make) => {
    const k = cl.program(KERNEL).kernel("k");
    using t = make();
    using memory = host.allocate(words);
    const wrong = [5, "ab", {}, [5], [null], [undefined], [cl.allocate(words)], [memory], [[t]]];
    for (const indirect of wrong) {
      fails("indirect", () => k.run({ items: [1] }, [t, 1], { indirect: any(indirect) }), ArgumentError);
    }
    using other = open();
    fails(
      "another context's",
      () => k.run({ items: [1] }, [t, 1], { indirect: [other.svm.allocate(words)] }),
      ArgumentError,
    );
    k.run({ items: [1] }, [t, 1], { indirect: [] });
  }),
  "indirect memory that was disposed": eachGrain((cl, make) => {
    const k = cl.program(KERNEL).kernel("k");
    using t = make();
    const gone = make();
    gone[Symbol.dispose]();
    fails("run", () => k.run({ items: [1] }, [t, 1], { indirect: [gone] }), DisposedError);
  }),
  "indirect memory that the host holds": eachGrain((cl, make) => {
    using graph = new MapperGraph([host, cl]);
    const k = cl.program(KERNEL).kernel("k");
    const [t, u] = [make(), make()];
    using seen = graph.map(u, host);
    fails("run", () => k.run({ items: [64] }, [t, 1], { indirect: [u] }), AccessError);
    seen.bytes().fill(1);
  }),
  "everything disposed in the middle of the kernel": {
    opencl: "Portable",
    run() {
      const source = `kernel void k(global int* o, int n) {
        int x = n; for (int i = 0; i < 1000; i++) x = x * x + i; o[get_global_id(0)] = x; }`;
      for (const how of ["tensor", "kernel", "program", "context"] as const) {
        for (const grain of GRAINS) {
          const cl = open();
          const program = cl.program(source);
          const kernel = program.kernel("k");
          const tensor = cl.svm.allocate({ ...words, grain });
          kernel.run({ items: words.shape }, [tensor, 1], { indirect: [tensor] });
          ({ tensor, kernel, program, context: cl })[how][Symbol.dispose]();
          cl[Symbol.dispose]();
        }
      }
      same("opencl.svm", ledger.alive["opencl.svm"] ?? 0, 0);
    },
  },
  "forgotten while a kernel writes it": {
    opencl: "Portable",
    async run() {
      using cl = open();
      const k = cl.program(KERNEL).kernel("k");
      for (const grain of GRAINS) (() => k.run({ items: words.shape }, [cl.svm.allocate({ ...words, grain }), 1]))();
      await collect();
      cl.queue.finish();
      await collect();
      say(ledger.alive["opencl.svm"] ?? 0);
    },
    says: ["0"],
    warns: /was never disposed/,
  },
  "wrapped by the host, of a context that is gone": {
    opencl: "Portable",
    run() {
      const cl = open();
      const t = cl.svm.allocate({ ...words, grain: "fine" });
      const peers = [0, 1, 2].map(() => host.wrap(t.handle, words));
      fails("in part", () => host.wrap(t.handle - 4n, words), ArgumentError);
      const coarse = cl.svm.allocate(words);
      fails("coarse", () => host.wrap(coarse.handle, words), ArgumentError);
      cl[Symbol.dispose]();
      for (const peer of peers) {
        peer.view().fill(1);
        peer[Symbol.dispose]();
      }
      say(ledger.alive["opencl.svm"] ?? 0);
    },
    says: ["0"],
  },
  "mapped to where it cannot go": eachGrain((cl, make, grain) => {
    using other = open();
    using graph = new MapperGraph([host, cl, other]);
    using t = make();
    fails("another context's", () => graph.map(t, other.svm), NoRouteError);
    using memory = host.allocate(words);
    fails("host memory", () => graph.map(memory, cl.svm), NoRouteError);
    fails("a buffer", () => graph.map(cl.allocate(words), cl.svm), NoRouteError);
    using part = t.slice(region(t.layout, [3], [5]));
    const buffer = safe("a buffer of it", () => graph.map(part, cl));
    say(grain, buffer !== undefined && cl.is(buffer));
    buffer?.[Symbol.dispose]();
    fails("unified", () => graph.map(part, cl.usm), NoRouteError);
  }, ["coarse true", "fine true"]),
});
