import { isolated } from "./process.ts";

const BAD = `const bad = [undefined, null, 5, "x", Symbol("s"), {}, [], Object.create(null), 5n];
const wrong = [];
function table(calls) {
  for (const [name, call] of Object.entries(calls)) {
    for (const value of bad) {
      try { call(value); } catch (error) {
        if (!(error instanceof InteropError)) wrong.push(name + " " + Object.prototype.toString.call(value) + ": " + error?.constructor?.name);
      }
    }
  }
  if (wrong.length > 0) throw new Error(wrong.length + " untyped:\\n" + wrong.join("\\n"));
}
`;

isolated(
  "whatever the core and the host are given, errors are typed",
  {},
  `${BAD}
using graph = new MapperGraph([host]);
const t = host.allocate({ shape: [64], dtype: "u8" });
const once = () => host.allocate({ shape: [1], dtype: "u8" });
table({
  "allocate": (x) => host.allocate(x), "shape": (x) => host.allocate({ shape: x, dtype: "u8" }), "shape[0]": (x) => host.allocate({ shape: [x], dtype: "u8" }),
  "dtype": (x) => host.allocate({ shape: [1], dtype: x }), "strides": (x) => host.allocate({ shape: [1], dtype: "u8", strides: x }), "align": (x) => host.allocate({ shape: [1], dtype: "u8", align: x }),
  "allocateFrame": (x) => host.allocateFrame(x), "wrap": (x) => host.wrap(x), "wrap init": (x) => host.wrap(new Uint8Array(4), x), "wrap pointer": (x) => host.wrap(x, { shape: [4], dtype: "u8" }),
  "slice": (x) => t.slice(x), "slice options": (x) => t.slice(t.layout, x)[Symbol.dispose](), "view": (x) => t.view(x), "view access": (x) => t.view({ access: x }),
  "map source": (x) => graph.map(x, host), "map target": (x) => graph.map(t, x), "map options": (x) => graph.map(t, host, x)[Symbol.dispose](), "explain": (x) => graph.explain(x, host),
  "usedBy": (x) => t.usedBy(x), "disposeAfter": (x) => once().disposeAfter(x), "contexts": (x) => new MapperGraph(x), "context": (x) => new MapperGraph([x]), "mapper": (x) => new MapperGraph([host], [x]),
  "chain": (x) => chain(x), "Frame.of": (x) => Frame.of(x, {}), "Frame.of plane": (x) => Frame.of([x], {}), "imageInfo": (x) => imageInfo(x), "imageInfo width": (x) => imageInfo({ format: "RGB", width: x, height: 1 }),
  "region": (x) => region(x, [0], [1]), "region start": (x) => region(t.layout, x, [1]), "region start[0]": (x) => region(t.layout, [x], [1]), "checkAlignment": (x) => host.checkAlignment(x, sp.VENDOR_RULES.intel),
  "rule": (x) => host.checkAlignment(t, x), "rule 0": () => host.checkAlignment(t, { ...sp.VENDOR_RULES.intel, address: 0 }), "format": (x) => host.allocateFrame({ type: "image", format: "__proto__", width: 2, height: 2 }),
});
`,
);

isolated(
  "whatever OpenCL is given, errors are typed",
  { opencl: true, limit: 60 },
  `${BAD}
using cl = open();
using graph = new MapperGraph([host, cl]);
const t = cl.allocate({ shape: [64], dtype: "u8" });
using program = cl.program("kernel void k(global uchar* o, int n, float4 v, local int* l) { o[0] = n; }");
using k = program.kernel("k");
const good = [t, 1, [1, 2, 3, 4], new LocalMemory(16)];
const put = (i, x) => good.map((value, at) => at === i ? x : value);
table({
  "open": (x) => OpenCLContext.open(x)[Symbol.dispose](), "open device": (x) => OpenCLContext.open({ device: x })[Symbol.dispose](), "allocate": (x) => cl.allocate(x), "program": (x) => cl.program(x),
  "program options": (x) => cl.program("kernel void k() {}", x)[Symbol.dispose](), "kernel": (x) => program.kernel(x), "global": (x) => k.run(x, good), "global[0]": (x) => k.run([x], good), "args": (x) => k.run([1], x),
  "arg 0": (x) => k.run([1], put(0, x)), "arg 1": (x) => k.run([1], put(1, x)), "arg 2": (x) => k.run([1], put(2, x)), "arg 2[0]": (x) => k.run([1], put(2, [x, 1, 1, 1])), "arg 3": (x) => k.run([1], put(3, x)),
  "run options": (x) => k.run([1], good, x), "queue": (x) => k.run([1], good, { queue: x }), "after": (x) => k.run([1], good, { after: x }), "local": (x) => k.run([1], good, { local: x }), "local[0]": (x) => k.run([1], good, { local: [x] }),
  "offset[0]": (x) => k.run([1], good, { offset: [x] }), "write tensor": (x) => cl.queue.write(x, new Uint8Array(64)), "write bytes": (x) => cl.queue.write(t, x), "LocalMemory": (x) => new LocalMemory(x), "BaseOf": (x) => k.run([1], put(0, new BaseOf(x))),
  "fail": (x) => { using event = cl.userEvent(); event.fail(x); }, "fail far": () => { using event = cl.userEvent(); event.fail(-(2 ** 32)); }, "prove": (x) => cl.aliasing.prove(x, 64),
});
cl.queue.finish();
`,
);
