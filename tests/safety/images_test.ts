/** Images and samplers misused: typed errors before any native call, whatever is passed. */
import { isolated } from "./process.ts";

const KERNELS = `
using cl = open();
using graph = new MapperGraph([host, cl]);
using program = cl.program(\`
  kernel void get(read_only image2d_t from, global uchar* to) { to[0] = read_imageui(from, (int2)(0, 0)).x; }
  kernel void put(write_only image2d_t to) { write_imageui(to, (int2)(0, 0), (uint4)(1)); }
  kernel void sampled(read_only image2d_t from, sampler_t s, global uchar* to) { to[0] = read_imageui(from, s, (int2)(0, 0)).x; }
  kernel void layers(read_only image2d_array_t from, global uchar* to) { to[0] = 1; }\`);
const [get, put, sampled, layers] = ["get", "put", "sampled", "layers"].map((name) => program.kernel(name));
const R8 = { order: "R", type: "UNSIGNED_INT8" };
const target = cl.image(R8);
const out = cl.allocate({ shape: [4], dtype: "u8" });
const image = target.allocate({ shape: [4, 4] });
`;

isolated(
  "an image where none is wanted, and the reverse",
  { opencl: true },
  `${KERNELS}
for (const wrong of [out, host.allocate({ shape: [4, 4], dtype: "u8" }), 5, 5n, null, undefined, {}, image.handle,
  new BigUint64Array([image.handle]), new Proxy(image, {}), Object.create(image), target, new BaseOf(image)]) {
  fails("image " + wrong, () => get.run([1], [wrong, out]), "ArgumentError");
}
for (const wrong of [image, new BaseOf(image), target]) fails("pointer", () => get.run([1], [image, wrong]), "ArgumentError");
for (const wrong of [image, out, 5, 5n, null, {}, new BigUint64Array([1n])]) {
  fails("sampler " + wrong, () => sampled.run([1], [image, wrong, out]), "ArgumentError");
}
get.run([1], [image, out]);
cl.queue.finish();
`,
);

isolated(
  "an image of another kind, access or context; a sampler of another context; disposed ones",
  { opencl: true },
  `${KERNELS}
using stack = cl.image(R8, { type: "2D array" }).allocate({ shape: [2, 4, 4] });
fails("kind", () => get.run([1], [stack, out]), "ArgumentError");
fails("kind", () => layers.run([1], [image, out]), "ArgumentError");
const pixels = host.allocate({ shape: [4, 4], dtype: "u8" });
{
  using m = graph.map(pixels, target, { access: "read" });
  fails("read only", () => put.run([1], [m]), "AccessError");
  fails("part", () => m.slice(region(m.layout, [0, 0], [2, 4]), {}), "LayoutError");
}
{
  using m = graph.map(pixels, target, { access: "write" });
  fails("write only", () => get.run([1], [m, out]), "AccessError");
  fails("lent", () => pixels.view(), "AccessError");
}
{
  using m = graph.map(image, host);
  fails("lent image", () => put.run([1], [image]), "AccessError");
}
using other = open();
fails("context", () => get.run([1], [other.image(R8).allocate({ shape: [4, 4] }), out]), "ArgumentError");
fails("context", () => sampled.run([1], [image, other.sampler(), out]), "ArgumentError");
const sampler = cl.sampler();
sampled.run([1], [image, sampler, out]);
sampler[Symbol.dispose]();
sampler[Symbol.dispose]();
fails("disposed sampler", () => sampled.run([1], [image, sampler, out]), "DisposedError");
fails("disposed sampler", () => sampler.handle, "DisposedError");
image[Symbol.dispose]();
fails("disposed image", () => put.run([1], [image]), "DisposedError");
cl.queue.finish();
other[Symbol.dispose]();
fails("closed context", () => other.image(R8), "DisposedError");
fails("closed context", () => other.sampler(), "DisposedError");
fails("closed context", () => other.imageFormats(), "DisposedError");
`,
);

isolated(
  "an argument that disposes the image or the sampler before it",
  { opencl: true },
  `${KERNELS}
const sampler = cl.sampler();
for (const [what, dispose] of [["image", () => image[Symbol.dispose]()], ["sampler", () => sampler[Symbol.dispose]()]]) {
  const args = [image, sampler, out];
  Object.defineProperty(args, 2, { get() { dispose(); return out; } });
  fails(what, () => sampled.run([1], args), "DisposedError");
}
cl.queue.finish();
`,
);

isolated(
  "sizes, shapes and formats from nowhere",
  { opencl: true },
  `${KERNELS}
for (const shape of [[0, 4], [-1, 4], [NaN, 4], [1.5, 4], [2 ** 53, 4], [2 ** 52, 2], [2 ** 30, 2 ** 30], [8_000_000, 4], ["4", 4],
  [4n, 4], null, undefined, "4,4", {}, [], [1, 1, 1, 1, 1], new Proxy([4, 4], { get() { throw new clm.BuildError("", "", {}); } })]) {
  fails("shape", () => target.allocate({ shape }));
}
for (const init of [null, undefined, 5, "x"]) fails("init", () => target.allocate(init), "ArgumentError");
for (const format of [null, 5, {}, { order: "RGBA" }, { order: "RGBA", type: "__proto__" }, { order: "RGB", type: "UNORM_INT8" },
  { order: {}, type: [] }, { order: Symbol("RGBA"), type: "FLOAT" }]) {
  fails("format", () => cl.image(format), "ArgumentError");
}
for (const options of [null, 5, { type: "2d" }, { type: null }, { type: Symbol("2D") }]) fails("options", () => cl.image(R8, options), "ArgumentError");
for (const init of [null, 5, { filter: "cubic" }, { addressing: 0 }, { normalized: 1 }, { addressing: "repeat" }]) {
  fails("sampler", () => cl.sampler(init), "ArgumentError");
}
fails("mirrored", () => cl.sampler({ addressing: "mirrored-repeat", normalized: false }), "ArgumentError");
let reads = 0;
const sly = { get order() { return ++reads > 1 ? "BGRA" : "R"; }, type: "UNSIGNED_INT8" };
same("read once", cl.image(sly), target);
`,
);

isolated(
  "memory whose rows overlap what they may not, or lie anywhere",
  { opencl: true },
  `${KERNELS}
const room = host.allocate({ shape: [4096], dtype: "u8" });
for (const strides of [[1, 1], [3, 1], [2 ** 40, 1], [4, 2], [1, 4]]) {
  safe("strides " + strides, () => {
    using part = room.slice({ shape: [4, 4], dtype: "u8", strides, byteOffset: 0, byteLength: 3 * strides[0] + 3 * strides[1] + 1 });
    using m = graph.map(part, target, { copy: "allow" });
    put.run([1], [m]);
  });
}
// The block ends with the last pixel: the padding of its row would be somebody else's memory.
using edge = host.allocate({ shape: [61, 65], dtype: "u8", rowAlign: 4096, guard: true });
using part = edge.slice(region(edge.layout, [0, 1], [61, 64]));
{ using m = graph.map(part, target, { copy: "allow" }); put.run([1], [m]); }
cl.queue.finish();
const gone = host.allocate({ shape: [4, 4], dtype: "u8" });
const mapped = graph.map(gone, target);
gone[Symbol.dispose]();
fails("with its source", () => put.run([1], [mapped]), "DisposedError");
`,
);

isolated(
  "a typedef smuggles no sampler into a kernel that reads an image by it",
  { opencl: true },
  `${KERNELS}
using own = cl.program("typedef sampler_t smp; kernel void k(read_only image2d_t i, smp s, global uchar* o) { o[0] = read_imageui(i, s, (int2)(0, 0)).x; }");
using k = own.kernel("k");
safe("bytes", () => { k.run([1], [image, new BigUint64Array([0x41414141n]), out]); cl.queue.finish(); });
safe("sampler", () => { k.run([1], [image, cl.sampler(), out]); cl.queue.finish(); });
`,
);
