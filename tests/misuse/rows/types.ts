import {
  ArgumentError,
  checkAlignment,
  Frame,
  host,
  imageInfo,
  isContiguous,
  MapperGraph,
  Metadata,
  region,
  VENDOR_RULES,
} from "@samepage/interop";
import { chain } from "@samepage/interop/backend";
import { BaseOf, directoryCache, LocalMemory, OpenCLContext } from "@samepage/interop/opencl";
import { tryAll } from "../anything.ts";
import { staleViews } from "../../stale_views.ts";
import { any, fails, open } from "../kit.ts";
import { table } from "../row.ts";

export default table(import.meta, {
  "anything for any argument of the core and the host": {
    warns: /^/,
    leaves: true,
    async run() {
      using graph = new MapperGraph([host]);
      using t = host.allocate({ shape: [64], dtype: "u8" });
      using frame = host.allocateFrame(imageInfo({ format: "RGB", width: 4, height: 4 }));
      const once = () => host.allocate({ shape: [1], dtype: "u8" });
      const metadata = new Metadata();
      await tryAll({
        "allocate": (x) => host.allocate(x),
        "allocate shape": (x) => host.allocate({ shape: x, dtype: "u8" }),
        "allocate shape[0]": (x) => host.allocate({ shape: [x], dtype: "u8" }),
        "allocate dtype": (x) => host.allocate({ shape: [1], dtype: x }),
        "allocate strides": (x) => host.allocate({ shape: [1], dtype: "u8", strides: x }),
        "allocate align": (x) => host.allocate({ shape: [1], dtype: "u8", align: x }),
        "allocateFrame": (x) => host.allocateFrame(x),
        "allocateFrame options": (x) => host.allocateFrame(frame.info, x)[Symbol.dispose](),
        "allocateFrame format": (x) => host.allocateFrame(any({ type: "image", format: x, width: 2, height: 2 })),
        "allocateFrame metadata": (x) => host.allocateFrame(frame.info, { metadata: x })[Symbol.dispose](),
        "Metadata": (x) => new Metadata(x),
        "allocateFrame __proto__": () =>
          host.allocateFrame(any({ type: "image", format: "__proto__", width: 2, height: 2 })),
        "wrap": (x) => host.wrap(x),
        "wrap init": (x) => host.wrap(new Uint8Array(4), x),
        "wrap pointer": (x) => host.wrap(x, { shape: [4], dtype: "u8" }),
        "wrap options": (x) => host.wrap(4096n, { shape: [4], dtype: "u8" }, x),
        "slice": (x) => t.slice(x),
        "slice options": (x) => t.slice(t.layout, x)[Symbol.dispose](),
        "borrow": (x) => t.borrow(x)[Symbol.dispose](),
        "borrow frame": (x) => frame.borrow(x)[Symbol.dispose](),
        "view": (x) => t.view(x),
        "view access": (x) => t.view({ access: x }),
        "bytes": (x) => t.bytes(x),
        "lend": (x) => t.lend(x),
        "lend options": (x) => t.lend(() => {}, x),
        "map source": (x) => graph.map(x, host),
        "map target": (x) => graph.map(t, x),
        "map options": (x) => graph.map(t, host, x)[Symbol.dispose](),
        "explain source": (x) => graph.explain(x, host),
        "explain target": (x) => graph.explain(t, x),
        "explain options": (x) => graph.explain(t, host, x),
        "usedBy": (x) => t.usedBy(x),
        "disposeAfter": (x) => once().disposeAfter(x),
        "graph contexts": (x) => new MapperGraph(x),
        "graph context": (x) => new MapperGraph([x]),
        "graph mapper": (x) => new MapperGraph([host], [x]),
        "chain": (x) => chain(x),
        "chain link": (x) => chain([x, host]),
        "Frame.of": (x) => Frame.of(x, any({})),
        "Frame.of plane": (x) => Frame.of([x], any({})),
        "Frame.of info": (x) => Frame.of([once()], x),
        "imageInfo": (x) => imageInfo(x),
        "imageInfo width": (x) => imageInfo({ format: "RGB", width: x, height: 1 }),
        "region": (x) => region(x, [0], [1]),
        "region start": (x) => region(t.layout, x, [1]),
        "region start[0]": (x) => region(t.layout, [x], [1]),
        "isContiguous": (x) => isContiguous(x),
        "checkAlignment address": (x) => checkAlignment(x, 64, VENDOR_RULES.intel),
        "checkAlignment length": (x) => checkAlignment(4096n, x, VENDOR_RULES.intel),
        "checkAlignment rule": (x) => checkAlignment(4096n, 64, x),
        "host.checkAlignment": (x) => host.checkAlignment(x, VENDOR_RULES.intel),
        "host.checkAlignment rule": (x) => host.checkAlignment(t, x),
        "host.is": (x) => host.is(x),
        "metadata": (x) => [
          ...[metadata.get(x), metadata.all(x), metadata.delete(x), [...metadata.entries()], metadata.clear()],
          ...[metadata.add("x", { x }), metadata.set(x, x), metadata.add(x, x)],
        ],
        "signal": (x) => host.signal(x),
        "wait options": (x) => host.signal(Promise.resolve()).wait(x),
        "wait signal": (x) => host.signal(Promise.resolve()).wait({ signal: x }),
      });
    },
  },
  "anything for any argument of OpenCL": {
    opencl: true,
    warns: /^/,
    leaves: true,
    async run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = cl.allocate({ shape: [64], dtype: "u8" });
      using program = cl.program("kernel void k(global uchar* o, int n, float4 v, local int* l) { o[0] = n; }");
      using k = program.kernel("k");
      const good = [t, 1, [1, 2, 3, 4], new LocalMemory(16)];
      const put = (at: number, x: never) => good.with(at, x);
      const platform = Deno.args[1];
      await tryAll({
        "open": (x) => OpenCLContext.open(x)[Symbol.dispose](),
        "open device": (x) => OpenCLContext.open({ platform, device: x })[Symbol.dispose](),
        "allocate": (x) => cl.allocate(x),
        "allocate shape": (x) => cl.allocate({ shape: x, dtype: "u8" }),
        "is": (x) => cl.is(x),
        "map": (x) => graph.map(t, host, { access: x })[Symbol.dispose](),
        "after": (x) => graph.map(t, host, { after: x })[Symbol.dispose](),
        "program": (x) => cl.program(x),
        "program options": (x) => cl.program("kernel void k() {}", x)[Symbol.dispose](),
        "program options.options": (x) => cl.program("kernel void k() {}", { options: x })[Symbol.dispose](),
        "kernel": (x) => program.kernel(x),
        "run range": (x) => k.run(x, good),
        "run items": (x) => k.run({ items: x }, good),
        "run items[0]": (x) => k.run({ items: [x] }, good),
        "run args": (x) => k.run({ items: [1] }, x),
        "run arg 0": (x) => k.run({ items: [1] }, put(0, x)),
        "run arg 1": (x) => k.run({ items: [1] }, put(1, x)),
        "run arg 2": (x) => k.run({ items: [1] }, put(2, x)),
        "run arg 2[0]": (x) => k.run({ items: [1] }, put(2, any([x, 1, 1, 1]))),
        "run arg 3": (x) => k.run({ items: [1] }, put(3, x)),
        "run options": (x) => k.run({ items: [1] }, good, x),
        "run queue": (x) => k.run({ items: [1] }, good, { queue: x }),
        "run after": (x) => k.run({ items: [1] }, good, { after: x }),
        "run local": (x) => k.run({ items: [1], groupSize: x }, good),
        "run local[0]": (x) => k.run({ items: [1], groupSize: [x] }, good),
        "run offset[0]": (x) => k.run({ items: [1], offset: [x] }, good),
        "slice": (x) => t.slice(x),
        "write tensor": (x) => cl.queue.write(x, new Uint8Array(64)),
        "write bytes": (x) => cl.queue.write(t, x),
        "read tensor": (x) => cl.queue.read(x, new Uint8Array(64)),
        "read bytes": (x) => cl.queue.read(t, x),
        "readRect tensor": (x) => cl.queue.read(x, new Uint8Array(64), { at: "dense" }),
        "readRect bytes": (x) => cl.queue.read(t, x, { at: "dense" }),
        "readRect layout": (x) => cl.queue.read(t, new Uint8Array(256), { at: x }),
        "writeRect bytes": (x) => cl.queue.write(t, x, { at: "dense" }),
        "fill tensor": (x) => cl.queue.fill(x, 1),
        "fill pattern": (x) => cl.queue.fill(t, x),
        "copy from": (x) => cl.queue.copy(x, t),
        "copy to": (x) => cl.queue.copy(t, x),
        "migrate tensors": (x) => cl.queue.migrate(x, { to: "host" }),
        "migrate options": (x) => cl.queue.migrate([t], x),
        "migrate to": (x) => cl.queue.migrate([t], { to: x }),
        "waitFor": (x) => cl.queue.waitFor(x),
        "waitFor[0]": (x) => cl.queue.waitFor([x]),
        "times": (x) => cl.queue.times(x),
        "createQueue": (x) => cl.createQueue(x)[Symbol.dispose](),
        "createQueue profiling": (x) => cl.createQueue({ profiling: x })[Symbol.dispose](),
        "createQueue device": (x) => cl.createQueue({ device: x })[Symbol.dispose](),
        "LocalMemory": (x) => new LocalMemory(x),
        "BaseOf": (x) => k.run({ items: [1] }, put(0, any(new BaseOf(x)))),
        "wait options": (x) => cl.queue.fence().wait(x),
        "wait signal": (x) => cl.queue.fence().wait({ signal: x }),
        "memory class": (x) => cl.memory.classOf(x, 64),
        "memory class length": (x) => cl.memory.classOf(4096n, x),
        "open type": (x) => OpenCLContext.open({ platform, type: x })[Symbol.dispose](),
        "open uuid": (x) => OpenCLContext.open({ platform, uuid: x })[Symbol.dispose](),
        "create": (x) => OpenCLContext.create(x),
        "create device": (x) => OpenCLContext.create([x]),
        "attach": (x) => OpenCLContext.attach(x === 5n ? any("5n") : x),
        "programFromBinary": (x) => cl.programFromBinary(x),
        "program cache": (x) => cl.program("kernel void k() {}", { cache: x })[Symbol.dispose](),
        "program cache's answer": (x) => {
          const cache = { get: () => x, set: () => {} };
          cl.program("kernel void k() {}", { cache })[Symbol.dispose]();
        },
        "directoryCache": (x) => directoryCache(x),
        "directoryCache key": (x) => directoryCache("out").get(x),
        "image": (x) => cl.image(x),
        "image order": (x) => cl.image({ order: x, type: "UNORM_INT8" }),
        "image type": (x) => cl.image({ order: "RGBA", type: x }),
        "image options": (x) => cl.image({ order: "RGBA", type: "UNORM_INT8" }, x),
        "image options.type": (x) => cl.image({ order: "RGBA", type: "UNORM_INT8" }, { type: x }),
        "imageFormats": (x) => cl.imageFormats(x),
        "sampler": (x) => cl.sampler(x)[Symbol.dispose](),
        "sampler filter": (x) => cl.sampler({ filter: x })[Symbol.dispose](),
        "sampler addressing": (x) => cl.sampler({ addressing: x })[Symbol.dispose](),
        "svm grain": (x) => cl.svm.allocate({ shape: [1], dtype: "u8", grain: x })[Symbol.dispose](),
        "svm atomics": (x) => cl.svm.allocate({ shape: [1], dtype: "u8", atomics: x })[Symbol.dispose](),
        "usm kind": (x) => cl.usm.allocate({ shape: [1], dtype: "u8", kind: x }),
        "run indirect": (x) => k.run({ items: [1] }, good, { indirect: x }),
        "run indirect[0]": (x) => k.run({ items: [1] }, good, { indirect: [x] }),
        "fillImage": (x) => cl.queue.fill(x, [0, 0, 0, 0]),
        "readImage": (x) => cl.queue.read(x, new Uint8Array(4)),
      });
      cl.queue.finish();
    },
  },
  "a view whose bytes are gone, wherever bytes are taken": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = cl.allocate({ shape: [64], dtype: "u8" });
      using photo = host.allocate({ shape: [4, 4, 4], dtype: "u8" });
      using image = graph.map(photo, cl.image({ order: "RGBA", type: "UNORM_INT8" }));
      using program = cl.program(`
        typedef struct { int a; float b; } Pair;
        kernel void struct_of(global uchar* o, Pair p) { o[0] = p.a; }
        kernel void vector_of(global uchar* o, int2 v) { o[0] = v.x; }`);
      const [structOf, vectorOf] = ["struct_of", "vector_of"].map((name) => program.kernel(name));
      const { queue } = cl;
      const source = "kernel void k(global int* x) { x[0] = 1; }";
      for (const view of staleViews()) {
        const calls: Readonly<Record<string, () => unknown>> = {
          "write": () => queue.write(t, view),
          "read": () => queue.read(t, view),
          "writeRect": () => queue.write(t, view, { at: "dense" }),
          "readRect": () => queue.read(t, view, { at: { shape: [64], dtype: "u8" } }),
          "writeImage": () => queue.write(image, view),
          "readImage": () => queue.read(image, view),
          "fill": () => queue.fill(t, view),
          "struct": () => structOf.run({ items: [1] }, [t, view]),
          "vector": () => vectorOf.run({ items: [1] }, [t, view]),
          "programFromBinary": () => cl.programFromBinary(any(view)),
          "cache": () => cl.program(source, { cache: { get: () => any(view), set: () => {} } }),
          "wrap": () => host.wrap(view),
          "wrap with a layout": () => host.wrap(view, { shape: [1], dtype: "u8" }),
        };
        for (const [name, call] of Object.entries(calls)) {
          const error = fails(`${name} ${view.constructor.name}`, call, ArgumentError);
          if (!/view is stale/.test(error.message)) throw new Error(`${name}: ${error.message}`);
        }
      }
      queue.finish();
    },
  },
});
