import { isolated } from "./process.ts";

isolated(
  "a user event outlives the dispose of the fence it handed out",
  { opencl: true },
  `
using cl = open();
for (let i = 0; i < 50; i++) {
  using event = cl.userEvent();
  { using _ = event.fence; }
  using other = cl.userEvent();
  event.complete();
  other.complete();
}
for (let i = 0; i < 50; i++) {
  using event = cl.userEvent();
  { using _ = event.fence; }
}
`,
);

isolated(
  "a context whose own queue was disposed fails with a typed error",
  { opencl: true },
  `
using cl = open();
using graph = new MapperGraph([host, cl]);
const t = cl.allocate({ shape: [64], dtype: "u8" });
const h = host.allocate({ shape: [64], dtype: "u8" });
safe("dispose", () => cl.queue[Symbol.dispose]());
safe("opencl→host", () => graph.map(t, host)[Symbol.dispose]());
const m = safe("host→opencl", () => graph.map(h, cl));
safe("write", () => cl.queue.write(t, new Uint8Array(64)));
if (m) safe("unmap", () => m[Symbol.dispose]());
safe("finish", () => cl.queue.finish());
`,
);

isolated(
  "a written map ends although the context's own queue was disposed",
  { opencl: true },
  `
using cl = open();
using graph = new MapperGraph([host, cl]);
using program = cl.program("kernel void k(global uchar* o) { o[get_global_id(0)] = 1; }");
using k = program.kernel("k");
const h = host.allocate({ shape: [64], dtype: "u8" });
const m = graph.map(h, cl);
using other = cl.createQueue();
k.run([64], [m], { queue: other });
safe("dispose", () => cl.queue[Symbol.dispose]());
safe("unmap", () => m[Symbol.dispose]());
`,
);

isolated(
  "nothing is made in a context that was disposed",
  { opencl: true },
  `
const cl = open();
cl[Symbol.dispose]();
for (let i = 0; i < 3; i++) { using _ = open(); }
for (const make of [() => new OpenCLQueue(cl), () => new OpenCLUserEvent(cl), () => cl.program("kernel void k() {}")]) {
  fails(String(make), make, "DisposedError");
}
`,
);

isolated(
  "a map that fails behind a disposed fence leaves nothing behind",
  { opencl: true },
  `
const cl = open();
using graph = new MapperGraph([host, cl]);
const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
const event = cl.userEvent();
t.usedBy(event.fence);
const dead = cl.queue.fence();
dead[Symbol.dispose]();
fails("map", () => graph.map(t, cl, { after: dead }), "DisposedError");
event.complete();
t.view()[0] = 1;
for (let i = 0; i < 20; i++) cl.allocate({ shape: [100], dtype: "u8" })[Symbol.dispose]();
t[Symbol.dispose]();
cl[Symbol.dispose]();
same("ledger", JSON.stringify(ledger.alive), "{}");
`,
);

isolated(
  "a map that fails behind a disposed fence: the context's dispose",
  { opencl: true },
  `
const cl = open();
using graph = new MapperGraph([host, cl]);
const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
const event = cl.userEvent();
t.usedBy(event.fence);
const dead = cl.queue.fence();
dead[Symbol.dispose]();
fails("map", () => graph.map(t, cl, { after: dead }), "DisposedError");
event.complete();
cl[Symbol.dispose]();
`,
);

isolated(
  "an option that disposes the memory being wrapped",
  {},
  `
const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
const options = { get access() { t[Symbol.dispose](); return "read-write"; } };
const p = safe("wrap", () => host.wrap(t.handle, { shape: [1 << 20], dtype: "u8" }, options));
if (p) p.view()[0] = 1;
`,
);

isolated(
  "a fence of the program's own that disposes the source while a map waits",
  { opencl: true },
  `
using cl = open();
using graph = new MapperGraph([host, cl]);
const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
class Disposes extends OwnFence { waitSync() { t[Symbol.dispose](); this.done = true; } }
fails("map", () => cl.queue.read(graph.map(t, cl, { after: new Disposes() }), new Uint8Array(1 << 20)), "DisposedError");
`,
);

isolated(
  "a fence of the program's own that lends the source while a map waits",
  { opencl: true },
  `
using cl = open();
using graph = new MapperGraph([host, cl]);
const t = host.allocate({ shape: [64], dtype: "u8" });
let inner;
class Lends extends OwnFence { waitSync() { this.done = true; inner = t.slice(t.layout); } }
fails("map", () => graph.map(t, cl, { after: new Lends() }), "AccessError");
inner.view()[0] = 1;
`,
);

isolated(
  "a plane keeps its frame",
  { opencl: true },
  `
using cl = open();
using graph = new MapperGraph([host, cl]);
const [a, b, c, d] = [0, 0, 0, 0].map(() => host.allocate({ shape: [64], dtype: "u8" }));
const stereo = { type: "audio", format: "u8", sampleRate: 8000, channels: 2, samples: 64, layout: "planar" };
const plane = (() => Frame.of([a, b], stereo).planes[0])();
const view = plane.view();
const source = Frame.of([c, d], stereo);
const mapped = (() => graph.map(source, cl).planes[0])();
await settled();
view[1] = 9;
same("view", view[1], 9);
if (!(mapped.handle > 0n)) throw new Error("no handle");
`,
);

isolated(
  "a frame's planes cannot be changed under it",
  { opencl: true },
  `
using cl = open();
using graph = new MapperGraph([host, cl]);
const far = host.allocate({ shape: [4096], dtype: "u8" });
const frame = host.allocateFrame(info(64, 64));
try { frame.planes.push(far); } catch { /* frozen */ }
same("planes", frame.planes.length, 1);
const planes = [host.allocate({ shape: [8, 8], dtype: "u8" })];
const of = Frame.of(planes, info(8, 8));
planes.length = 0;
same("of", of.planes.length, 1);
`,
);

isolated(
  "work declared on a frame keeps the host from its planes",
  { opencl: true },
  `
using cl = open();
const frame = host.allocateFrame(imageInfo({ format: "NV12", width: 8, height: 8 }));
using event = cl.userEvent();
frame.usedBy(event.fence);
fails("plane", () => frame.planes[0].view(), "AccessError");
const t = host.allocate({ shape: [64], dtype: "u8" });
const part = t.slice(t.layout, { access: "read" });
t.usedBy(event.fence);
fails("slice", () => part.view(), "AccessError");
event.complete();
`,
);

isolated(
  "release that cannot happen yet loses no buffer",
  { opencl: true },
  `
using cl = open();
const t = host.wrap(new Uint8Array(64).fill(3));
const event = cl.userEvent();
t.usedBy(event.fence);
fails("release", () => t.release(), "AccessError");
event.complete();
await sleep(50);
same("bytes", new Uint8Array(t.release())[0], 3);
`,
);

isolated(
  "programs and kernels that were forgotten are released",
  { opencl: true },
  `
using cl = open();
(() => {
  for (let i = 0; i < 5; i++) cl.program("kernel void k() {}").kernel("k").run([1], []);
})();
cl.queue.finish();
await settled();
await settled();
same("programs", ledger.alive["opencl.cl_program"], undefined);
same("kernels", ledger.alive["opencl.cl_kernel"], undefined);
`,
);

isolated(
  "slices of slices of slices end",
  {},
  `
const root = host.allocate({ shape: [64], dtype: "u8" });
let t = root;
for (let i = 0; i < 30_000; i++) t = t.slice(t.layout);
t.view();
root[Symbol.dispose]();
same("state", root.resource.state, "freed");
same("ledger", JSON.stringify(ledger.alive), "{}");
`,
);

isolated(
  "any order of slices, maps, kernels, events, lends and disposes is survived",
  { opencl: true, limit: 60 },
  `
const cl = open();
let seed = 1;
const random = (n) => { seed = (seed * 1103515245 + 12345) & 0x7fffffff; return (seed >> 8) % n; };
const pick = (list) => list[random(list.length)];
const program = cl.program("kernel void k(global uchar* o, uchar n) { o[get_global_id(0)] += n; }");
const k = program.kernel("k");
const second = cl.createQueue();
const fence = () => pick([cl.queue, second]).fence();
const later = (s, promise) => s.later.push(promise.catch((error) => judge("later", error, [])));
const moves = [
  (t, s) => s.live.push(s.graph.map(t, pick([host, cl]), { access: pick(["read", "write", "read-write"]) })),
  (t, s) => { const from = random(t.layout.shape[0]); s.live.push(t.slice(region(t.layout, [from], [1 + random(t.layout.shape[0] - from)]), { access: pick(["read", "read-write"]) })); },
  (t, s) => { if (cl.is(t)) k.run([t.layout.shape[0]], [t, 1], { queue: pick([cl.queue, second]), ...(s.events.length && random(2) ? { after: pick(s.events).fence } : {}) }); },
  (t, s) => { if (random(3) === 0) t[Symbol.dispose](); },
  (t) => { if (host.is(t)) t.view().fill(1); },
  (t, s) => { if (random(3) === 0) s.events.push(cl.userEvent()); },
  (t, s) => { if (s.events.length) random(3) ? pick(s.events).complete() : pick(s.events).fail(); },
  (t) => { if (random(3) === 0) { using f = fence(); t.disposeAfter(f); } },
  (t, s) => { if (random(3) === 0) later(s, t[Symbol.asyncDispose]()); },
  (t, s) => { if (host.is(t)) later(s, t.lend(async (view) => { await sleep(random(3)); view.fill(2); })); },
  (t) => { using f = fence(); t.usedBy(f); },
  async () => { await sleep(0); if (random(4) === 0) gc(); },
];
for (let round = 0; round < 120; round++) {
  const s = { graph: new MapperGraph([host, cl]), live: [pick([host, cl]).allocate({ shape: [4096], dtype: "u8" })], events: [], later: [] };
  for (let step = 0; step < 25; step++) {
    const move = pick(moves);
    try { await move(pick(s.live), s); } catch (error) { judge(String(move), error, []); }
  }
  for (const event of s.events) safe("event", () => event[Symbol.dispose]());
  try { await s.graph[Symbol.asyncDispose](); } catch (error) { judge("graph", error, []); }
  for (const t of s.live.reverse()) try { await t[Symbol.asyncDispose](); } catch (error) { judge("tensor", error, []); }
  await Promise.all(s.later);
}
safe("queue", () => second[Symbol.dispose]()); // throws what its last command failed with
safe("context", () => cl[Symbol.dispose]());
same("ledger", JSON.stringify(ledger.alive), "{}");
`,
);

isolated(
  "work that ends while others are put behind it is waited for once",
  { opencl: true, limit: 60 },
  `
using cl = open();
using program = cl.program("kernel void k(global int* a, global int* b, int turns) { int x = a[0]; for (int i = 0; i < turns; i++) x = x * x + i; a[0] = x; b[0] = x; }");
using k = program.kernel("k");
using second = cl.createQueue();
const [a, b] = [0, 0].map(() => cl.allocate({ shape: [4], dtype: "i32" }));
for (const tensor of [a, b]) cl.queue.write(tensor, new Int32Array(4));
// Both tensors carry a fence of the same command, which may end between one look at it and the next.
for (const end = performance.now() + 15_000; performance.now() < end;) {
  k.run([1], [a, b, Math.floor(Math.random() * 3000)], { queue: second });
  second.flush();
  for (const until = performance.now() + Math.random() * 0.1; performance.now() < until;);
  k.run([1], [a, b, 1]);
  cl.queue.finish();
}
`,
);
