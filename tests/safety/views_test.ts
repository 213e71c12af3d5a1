import { isolated } from "./process.ts";

isolated(
  "a tensor's layout cannot be changed under it",
  {},
  `
const t = host.allocate({ shape: [64], dtype: "u8" });
try { t.layout.byteOffset = 2 ** 30; } catch { /* frozen */ }
try { t.layout.strides[0] = 5; t.layout.shape[0] = 1e9; } catch { /* frozen */ }
same("offset", t.layout.byteOffset, 0);
t.view()[0] = 1;
`,
);

isolated(
  "a layout that was changed cannot reach a driver",
  { opencl: true },
  `
using cl = open();
using graph = new MapperGraph([host, cl]);
const t = host.allocate({ shape: [64], dtype: "u8" });
try { t.layout.byteLength = 2 ** 30; } catch { /* frozen */ }
same("length", t.layout.byteLength, 64);
const m = graph.map(t, cl);
fails("read", () => cl.queue.read(m, new Uint8Array(2 ** 30)), "LayoutError");
`,
);

isolated(
  "a slice's layout is read once",
  {},
  `
const t = host.allocate({ shape: [64], dtype: "u8" });
for (let honest = 0; honest < 12; honest++) {
  let n = 0;
  const lying = { shape: [64], dtype: "u8", strides: [1], byteLength: 64, get byteOffset() { return n++ < honest ? 0 : 2 ** 30; } };
  safe("slice", () => { using s = t.slice(lying); s.view()[0] = 1; });
}
`,
);

isolated(
  "a slice's layout that disposes the parent while it is read makes no child",
  {},
  `
const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
const shape = [1 << 20];
shape.join = () => { t[Symbol.dispose](); return "x"; };
safe("slice", () => t.slice({ ...t.layout, shape }).view().fill(1));
`,
);

isolated(
  "a forged layout is a LayoutError",
  {},
  `
const good = host.allocate({ shape: [64], dtype: "u8" }).layout;
const forged = {
  "byteLength NaN": { byteLength: NaN }, "byteLength negative": { byteLength: -8 }, "byteLength 0": { byteLength: 0 },
  "byteLength short": { byteLength: 8 }, "byteLength infinite": { byteLength: Infinity }, "byteLength text": { byteLength: "8" },
  "byteOffset NaN": { byteOffset: NaN }, "byteOffset fraction": { byteOffset: 0.5, shape: [4], byteLength: 4 },
  "byteOffset text": { byteOffset: "4", shape: [4], byteLength: 4 }, "byteOffset bigint": { byteOffset: 4n },
  "dtype unknown": { dtype: "constructor" }, "dtype wider": { dtype: "f64", byteLength: 7 },
  "strides negative": { strides: [-1] }, "strides too many": { strides: [1, 1] }, "shape none": { shape: undefined }, "shape NaN": { shape: [NaN] },
};
for (const [what, change] of Object.entries(forged)) {
  const t = host.allocate({ shape: [64], dtype: "u8" });
  fails(what, () => t.slice({ ...good, ...change }), "LayoutError");
  const one = t.slice(t.layout);
  fails(what + ": second writer", () => t.slice(t.layout), "AccessError");
}
const t = host.allocate({ shape: [64], dtype: "u8" });
for (const nothing of [undefined, null, 5, "x", {}]) fails("slice of " + nothing, () => t.slice(nothing), "LayoutError", "ArgumentError");
`,
);

isolated(
  "a layout's dtype and shape are read once",
  {},
  `
for (let honest = 0; honest < 8; honest++) {
  let n = 0;
  safe("dtype", () => {
    const t = host.allocate({ shape: [7], get dtype() { return n++ < honest ? "u8" : "f64"; } });
    t.view();
    same("bytes", t.layout.byteLength, t.layout.dtype === "u8" ? 7 : 56);
  });
}
class Lying extends Array { map() { return new Proxy([0], { get: (array, key) => key === "0" ? -1000 : array[key] }); } }
safe("shape", () => { if (layout({ shape: Lying.of(4), dtype: "u8" }).byteLength < 0) throw new Error("a negative length"); });
`,
);

isolated(
  "a view whose buffer has a transfer of its own is revoked all the same",
  {},
  `
const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
const view = t.view();
view.buffer.transfer = () => {};
Object.defineProperty(view.buffer, "detached", { value: false });
t[Symbol.dispose]();
same("length", view.length, 0);
`,
);

isolated(
  "a view that cannot be detached keeps its memory, and the dispose says so with a typed error",
  {},
  `
import { markAsUntransferable } from "node:worker_threads";
const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
const view = t.view();
markAsUntransferable(view.buffer);
safe("dispose", () => t[Symbol.dispose]());
try { await t[Symbol.asyncDispose](); } catch (error) { judge("asyncDispose", error, []); }
view[1000] = 1; // memory that is there, or a view of length 0
same("state", t.resource.state, "freed");
`,
);

isolated(
  "a view that cannot be detached: the parent's dispose",
  {},
  `
import { markAsUntransferable } from "node:worker_threads";
const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
const view = t.slice(t.layout).view();
markAsUntransferable(view.buffer);
safe("dispose", () => t[Symbol.dispose]());
try { await t[Symbol.asyncDispose](); } catch (error) { judge("asyncDispose", error, []); }
view[1000] = 1;
same("state", t.resource.state, "freed");
`,
);

isolated(
  "a view that cannot be detached: a map for writing is refused, and nothing stays lent",
  { opencl: true },
  `
import { markAsUntransferable } from "node:worker_threads";
using cl = open();
using graph = new MapperGraph([host, cl]);
const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
markAsUntransferable(t.view().buffer);
safe("map", () => graph.map(t, cl)[Symbol.dispose]());
safe("view", () => t.view());
`,
);

isolated(
  "what the caller says of its buffer is not believed",
  {},
  `
const b = new ArrayBuffer(64);
b.transfer = () => ({ byteLength: 2 ** 30 });
const t = safe("wrap", () => host.wrap(b, { shape: [64], dtype: "u8" }));
if (t) { same("block", t.grant.allocation.block.byteLength, 64); t.view().fill(1); t[Symbol.dispose](); }
const c = new ArrayBuffer(64, { maxByteLength: 1 << 20 });
Object.defineProperty(c, "resizable", { value: false });
fails("resizable", () => host.wrap(c, { shape: [64], dtype: "u8" }), "ArgumentError");
`,
);

isolated(
  "disposing within an operation on a view is safe",
  { limit: 40 },
  `
const valueOf = (t) => ({ valueOf() { t[Symbol.dispose](); return 1; } });
const operations = [
  (t, v) => v.fill(valueOf(t)), (t, v) => v.fill(1, 0, valueOf(t)), (t, v) => v.set([1, valueOf(t), 3]),
  (t, v) => v.copyWithin(valueOf(t), 10, 1000), (t, v) => v.copyWithin(0, 10, valueOf(t)), (t, v) => Atomics.store(v, 0, valueOf(t)),
  (t, v) => Atomics.compareExchange(v, 0, 0, valueOf(t)), (t, v) => { v[1000] = valueOf(t); }, (t, v) => new DataView(v.buffer).setInt8(1000, valueOf(t)),
  (t, v) => v.sort(() => { t[Symbol.dispose](); return 1; }), (t, v) => v.toSorted(() => { t[Symbol.dispose](); return 1; }), (t, v) => v.with(0, valueOf(t)),
  (t, v) => { v.constructor = { [Symbol.species]: function (n) { t[Symbol.dispose](); return new Uint8Array(n); } }; v.slice(0, 10000); },
  (t, v) => { v.buffer.constructor = { [Symbol.species]: function (n) { t[Symbol.dispose](); return new ArrayBuffer(n); } }; v.buffer.slice(0, 10000); },
  (t, v) => v.join({ toString() { t[Symbol.dispose](); return ","; } }), (t, v) => v.includes(7, valueOf(t)), (t, v) => v.lastIndexOf(7, valueOf(t)),
  (t, v) => { for (const _ of v) t[Symbol.dispose](); }, (t, v) => structuredClone({ get a() { t[Symbol.dispose](); return 1; }, v }),
  (t, v) => new TextEncoder().encodeInto({ toString() { t[Symbol.dispose](); return "x".repeat(1000); } }, v),
  (t, v) => new TextDecoder().decode(v, { get stream() { t[Symbol.dispose](); return false; } }), (t, v) => v.buffer.transfer(valueOf(t)),
];
for (const operation of operations) {
  const t = host.allocate({ shape: [1 << 14], dtype: "u8" });
  try { operation(t, t.view()); } catch (error) { if (!(error instanceof TypeError || error instanceof RangeError || error instanceof DOMException)) throw error; }
  t[Symbol.dispose]();
}
`,
);
