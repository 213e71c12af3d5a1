import { isolated } from "./process.ts";

const WRITE = `
using cl = open();
const t = cl.allocate({ shape: [1 << 20], dtype: "u8" });
`;

isolated(
  "the length of bytes is the engine's, not what an own property says",
  { opencl: true },
  `${WRITE}
const small = new Uint8Array(16);
Object.defineProperty(small, "byteLength", { value: 1 << 20 });
fails("write", () => cl.queue.write(t, small), "LayoutError");
fails("read", () => cl.queue.read(t, small), "LayoutError");
class Long extends Uint8Array { get byteLength() { return 1 << 20; } }
fails("subclass", () => cl.queue.read(t, new Long(16)), "LayoutError");
`,
);

isolated(
  "only a view is taken for bytes",
  { opencl: true },
  `${WRITE}
const buffer = new ArrayBuffer(16);
for (const byteOffset of [1 << 30, -(2 ** 40), 0]) {
  fails("object", () => cl.queue.read(t, { buffer, byteOffset, byteLength: 1 << 20 }), "ArgumentError", "LayoutError");
}
const far = new Uint8Array(1 << 20);
Object.defineProperty(far, "byteOffset", { value: -(2 ** 40) });
safe("own byteOffset", () => cl.queue.read(t, far));
const other = new Uint8Array(1 << 20);
Object.defineProperty(other, "buffer", { value: new ArrayBuffer(16) });
safe("own buffer", () => cl.queue.read(t, other));
fails("buffer", () => cl.queue.write(t, new ArrayBuffer(1 << 20)), "ArgumentError", "LayoutError");
for (const bytes of [undefined, null, 5, "x"]) fails("bytes " + bytes, () => cl.queue.write(t, bytes), "ArgumentError", "LayoutError");
for (const tensor of [undefined, null, {}, host.allocate({ shape: [16], dtype: "u8" })]) {
  fails("tensor " + tensor, () => cl.queue.write(tensor, new Uint8Array(16)), "ArgumentError");
}
`,
);

isolated(
  "bytes whose length disposes the tensor are not copied to it",
  { opencl: true },
  `${WRITE}
const bytes = new Uint8Array(1 << 20);
Object.defineProperty(bytes, "byteLength", { get() { t[Symbol.dispose](); return 1 << 20; } });
safe("write", () => cl.queue.write(t, bytes));
`,
);

const KERNEL = `
using cl = open();
using program = cl.program("kernel void k(global int* o, int n) { o[get_global_id(0)] = n; }");
const k = program.kernel("k");
const t = cl.allocate({ shape: [1 << 20], dtype: "i32" });
const args = [t, 0];
`;

isolated(
  "an argument that disposes an earlier one",
  { opencl: true },
  `${KERNEL}
Object.defineProperty(args, 1, { get() { t[Symbol.dispose](); return 5; } });
fails("run", () => k.run([1 << 20], args), "DisposedError");
cl.queue.finish();
`,
);

isolated(
  "an argument that disposes the kernel",
  { opencl: true },
  `${KERNEL}
Object.defineProperty(args, 1, { get() { k[Symbol.dispose](); return 5; } });
fails("run", () => k.run([1 << 20], args), "DisposedError");
cl.queue.finish();
`,
);

isolated(
  "an argument that changes the number of dimensions",
  { opencl: true },
  `
using cl = open();
using program = cl.program("kernel void k(global int* o, int n) { o[0] = get_work_dim(); }");
using k = program.kernel("k");
const t = cl.allocate({ shape: [4], dtype: "i32" });
const global = [1];
const args = [t, 0];
Object.defineProperty(args, 1, { get() { global.push(1, 1); return 5; } });
safe("run", () => { k.run(global, args); const out = new Int32Array(4); cl.queue.read(t, out); same("dimensions", out[0], 1); });
`,
);

isolated(
  "a fence of the program's own that disposes a tensor while the kernel is submitted",
  { opencl: true },
  `${KERNEL}
class Disposes extends OwnFence { waitSync() { t[Symbol.dispose](); this.done = true; } }
safe("run", () => k.run([1 << 20], [t, 1], { after: new Disposes() }));
cl.queue.finish();
`,
);

isolated(
  "a fence of the program's own that runs the same kernel meanwhile",
  { opencl: true },
  `
using cl = open();
using program = cl.program("kernel void k(global int* o, int n) { o[0] = n; }");
using k = program.kernel("k");
const [t, u] = [0, 0].map(() => cl.allocate({ shape: [4], dtype: "i32" }));
for (const tensor of [t, u]) cl.queue.write(tensor, new Int32Array(4));
class Runs extends OwnFence { waitSync() { k.run([1], [u, 2]); this.done = true; } }
k.run([1], [t, 1], { after: new Runs() });
const out = new Int32Array(4);
cl.queue.read(t, out);
same("t", out[0], 1);
cl.queue.read(u, out);
same("u", out[0], 2);
`,
);

isolated(
  "local memory keeps the size it was made with",
  { opencl: true },
  `
using cl = open();
using program = cl.program("kernel void k(local int* l) { l[0] = 1; }");
using k = program.kernel("k");
for (const size of [-1, -4096, NaN, 0.5, "4", -(2 ** 53)]) {
  const local = new LocalMemory(4);
  try { local.byteLength = size; } catch { /* frozen */ }
  same("size", local.byteLength, 4);
  k.run([1], [local]);
  cl.queue.finish();
}
`,
);

isolated(
  "a pointer to vectors wants the vector's alignment",
  { opencl: true },
  `
using cl = open();
using graph = new MapperGraph([host, cl]);
const t = host.allocate({ shape: [1024], dtype: "f32" });
for (const lanes of [2, 4, 8, 16]) {
  using program = cl.program("kernel void k(global float" + lanes + "* x) { size_t i = get_global_id(0); x[i] = x[i] * 2.0f; }");
  using k = program.kernel("k");
  t.view().fill(1);
  using part = t.slice(region(t.layout, [1], [64]));
  {
    using m = graph.map(part, cl);
    fails("run", () => k.run([64 / lanes], [m]), "LayoutError", "ArgumentError");
  }
}
`,
);

isolated(
  "a typedef does not smuggle an image or a sampler in",
  { opencl: true },
  `
using cl = open();
const t = cl.allocate({ shape: [4], dtype: "i32" });
{
  using program = cl.program("typedef read_only image2d_t img; kernel void k(img x, global int* o) { o[0] = get_image_width(x); }");
  using k = program.kernel("k");
  fails("image", () => k.run([1], [t, t]), "ArgumentError");
}
{
  using program = cl.program("typedef sampler_t smp; kernel void k(smp s, global int* o) { o[0] = 1; }");
  using k = program.kernel("k");
  // rusticl 22.3 takes these bytes for data: nothing can use them as a sampler without an image.
  safe("sampler", () => k.run([1], [new BigUint64Array([0x41414141n]), t]));
  cl.queue.finish();
}
`,
);
