import { isolated } from "./process.ts";

/** Where the driver has shared virtual memory, a block of it; where not, a refusal, which is all there is to see. */
const MEMORY = `
using cl = open();
using program = cl.program("kernel void k(global int* o, int n) { o[get_global_id(0)] = n; }");
const k = program.kernel("k");
const init = { shape: [1 << 16], dtype: "i32" };
const has = cl.svm.capabilities.fineGrainBuffer;
if (!has) fails("allocate", () => cl.svm.allocate(init), "ArgumentError");
const make = (grain) => has ? cl.svm.allocate({ ...init, grain }) : cl.allocate(init);
`;

isolated(
  "shared memory whose description disposes the context is not allocated",
  { opencl: true },
  `
for (const property of ["grain", "atomics", "align", "shape", "dtype"]) {
  const cl = open();
  const init = { shape: [64], dtype: "u8" };
  Object.defineProperty(init, property, { get() { cl[Symbol.dispose](); return { shape: [64], dtype: "u8" }[property]; } });
  fails(property, () => cl.svm.allocate(init), "DisposedError", "ArgumentError");
  fails("usm " + property, () => cl.usm.allocate({ ...init, kind: "host" }), "DisposedError", "ArgumentError");
}
same("ledger", JSON.stringify(ledger.alive), "{}");
`,
);

isolated(
  "a list of indirect memory that disposes its own entries",
  { opencl: true },
  `${MEMORY}
for (const grain of ["coarse", "fine"]) {
  const [t, u] = [make(grain), make(grain)];
  const indirect = [t, u];
  Object.defineProperty(indirect, 1, { get() { t[Symbol.dispose](); return u; } });
  fails("run", () => k.run([64], [u, 1], { indirect }), "DisposedError", "ArgumentError");
}
cl.queue.finish();
`,
);

isolated(
  "a fence of the program's own that disposes shared memory while the kernel is submitted",
  { opencl: true },
  `${MEMORY}
for (const grain of ["coarse", "fine"]) {
  const [t, u] = [make(grain), make(grain)];
  class Disposes extends OwnFence { waitSync() { t[Symbol.dispose](); this.done = true; } }
  fails("argument", () => k.run([64], [t, 1], { after: new Disposes() }), "DisposedError");
  const [v, w] = [make(grain), make(grain)];
  class AlsoDisposes extends OwnFence { waitSync() { v[Symbol.dispose](); this.done = true; } }
  fails("indirect", () => k.run([64], [w, 1], { after: new AlsoDisposes(), indirect: [v] }), "DisposedError", "ArgumentError");
}
cl.queue.finish();
`,
);

isolated(
  "what ends in the middle of work on shared memory",
  { opencl: true },
  `
for (const how of ["tensor", "kernel", "program", "context", "nothing"]) {
  for (const grain of ["coarse", "fine"]) {
    const cl = open();
    const program = cl.program("kernel void k(global int* o, int n) { int x = n; for (int i = 0; i < 1000; i++) x = x * x + i; o[get_global_id(0)] = x; }");
    const k = program.kernel("k");
    const t = safe("allocate", () => cl.svm.allocate({ shape: [1 << 16], dtype: "i32", grain }));
    if (t === undefined) { cl[Symbol.dispose](); continue; }
    k.run([1 << 16], [t, 1]);
    ({ tensor: t, kernel: k, program, context: cl })[how]?.[Symbol.dispose]();
    if (how !== "nothing") cl[Symbol.dispose]();
  }
}
setTimeout(() => Deno.exit(0), 50); // with work in flight
`,
);

isolated(
  "shared memory that nobody holds is freed after its work",
  { opencl: true },
  `${MEMORY}
console.warn = () => {};
for (const grain of ["coarse", "fine"]) {
  (() => { const t = make(grain); k.run([1 << 16], [t, 1]); })();
}
await settled();
cl.queue.finish();
await settled();
same("ledger", ledger.alive["opencl.svm"] ?? 0, 0);
`,
);

isolated(
  "an address of shared memory that is wrapped, and outlives everything",
  { opencl: true },
  `${MEMORY}
if (has) {
  const t = make("fine");
  const peers = [0, 1, 2].map(() => host.wrap(t.handle, init));
  fails("in part", () => host.wrap(t.handle - 4n, init), "ArgumentError");
  cl[Symbol.dispose]();
  for (const peer of peers) { peer.view().fill(1); peer[Symbol.dispose](); }
  same("ledger", ledger.alive["opencl.svm"] ?? 0, 0);
}
`,
);
