import { isolated } from "./process.ts";

/** A queue out of order where the device can, the context's own, a tensor, a kernel. */
const START = `
const cl = open();
const kernel = cl.program("kernel void k(global uchar* o) { o[get_global_id(0)]++; }").kernel("k");
const tensor = (n = 64) => cl.allocate({ shape: [n], dtype: "u8" });
const t = tensor();
let queue;
try { queue = cl.createQueue({ order: "out-of-order", profiling: true }); } catch { queue = cl.createQueue(); }
`;

isolated(
  "options whose getters dispose the context",
  { opencl: true },
  `${START}
for (const name of ["order", "profiling", "device"]) {
  const own = open();
  const options = Object.defineProperty({}, name, { get() { own[Symbol.dispose](); } });
  fails(name, () => own.createQueue(options), "DisposedError");
}
fails("device", () => cl.createQueue({ device: { get handle() { cl[Symbol.dispose](); return 5n; } } }), "ArgumentError", "DisposedError");
`,
);

isolated(
  "a fence of the program's own that disposes everything while it is waited for",
  { opencl: true },
  `
const uses = {
  marker: (q, t, other, fence) => q.marker([fence]),
  barrier: (q, t, other, fence) => q.barrier([fence]),
  fill: (q, t) => q.fill(t, 1),
  copyFrom: (q, t, other) => q.copy(t, other),
  copyTo: (q, t, other) => q.copy(other, t),
  migrate: (q, t, other) => q.migrate([other, t], { to: "host" }),
  read: (q, t) => q.read(t, new Uint8Array(64)),
  writeRect: (q, t) => q.writeRect(t, new Uint8Array(64)),
};
for (const [name, use] of Object.entries(uses)) {
  for (const what of ["tensor", "queue", "context"]) {
    const cl = open();
    const [t, other] = [cl.allocate({ shape: [64], dtype: "u8" }), cl.allocate({ shape: [64], dtype: "u8" })];
    const queue = cl.createQueue();
    class Ending extends OwnFence {
      waitSync() { this.done = true; ({ tensor: t, queue, context: cl })[what][Symbol.dispose](); }
    }
    const fence = new Ending();
    t.usedBy(fence);
    const action = () => use(queue, t, other, fence);
    if (what === "tensor" && ["marker", "barrier"].includes(name)) safe(name, action);
    else fails(name + " " + what, action, "DisposedError");
    safe("end", () => cl[Symbol.dispose]());
  }
}
same("ledger", JSON.stringify(ledger.alive), "{}");
`,
);

isolated(
  "layouts and options whose getters move the bytes away or dispose the tensor",
  { opencl: true },
  `${START}
const bytes = new Uint8Array(64);
const at = (get) => Object.defineProperty({ dtype: "u8" }, "shape", { get });
fails("moved", () => queue.readRect(t, bytes, at(() => { bytes.buffer.transfer(); return [64]; })), "LayoutError");
const second = tensor();
fails("disposed", () => queue.writeRect(second, new Uint8Array(64), at(() => { second[Symbol.dispose](); return [64]; })), "DisposedError");
const third = tensor();
const list = [t, third];
Object.defineProperty(list, 1, { get() { t[Symbol.dispose](); return third; } });
fails("migrate", () => queue.migrate(list, { to: "host" }), "DisposedError");
const pattern = [1, 2];
Object.defineProperty(pattern, 1, { get() { third[Symbol.dispose](); return 2; } });
fails("fill", () => queue.fill(third, pattern), "DisposedError");
const fourth = tensor();
fails("length", () => queue.fill(fourth, new Proxy([1], { get: (of, name) => name === "length" ? 2 ** 32 : of[name] })), "ArgumentError");
fails("endless", () => queue.marker(new Proxy([], { get: (of, name) => name === "length" ? 2 ** 53 : of[name] })), "ArgumentError");
fails("fractions", () => queue.marker(new Proxy([], { get: (of, name) => name === "length" ? 0.5 : of[name] })), "ArgumentError");
class Odd extends Uint8Array { static get [Symbol.species]() { return Array; } get length() { return 3; } }
queue.fill(fourth, new Odd([7]));
const got = new Uint8Array(64);
queue.read(fourth, got);
same("filled", got.join(), new Uint8Array(64).fill(7).join());
`,
);

isolated(
  "commands that fail, out of order, while others that they stand behind are at work",
  { opencl: true, limit: 40 },
  `${START}
const slow = cl.program(\`kernel void k(global uchar* o) {
  uint y = o[get_global_id(0)]; for (uint i = 0; i < 60000; i++) y = y * y + i; o[get_global_id(0)] = (uchar)y;
}\`).kernel("k");
for (let turn = 0; turn < 20; turn++) {
  const event = cl.userEvent();
  const [one, two, three] = [tensor(512), tensor(512), tensor(512)];
  slow.run([512], [one], { queue });
  kernel.run([512], [two], { queue, after: event.fence });
  const waits = [queue.marker([queue.lastCommand()]), queue.barrier(), queue.fence()];
  queue.copy(one, two);
  slow.run([512], [three], { queue });
  if (turn % 2 === 0) event.fail();
  else event[Symbol.dispose]();
  if (turn % 3 === 0) safe("finish", () => queue.finish());
  for (const each of [two, one, three]) try { await each[Symbol.asyncDispose](); } catch (error) { judge("end", error, []); }
  for (const fence of waits) { try { await fence.wait(); } catch (error) { judge("wait", error, []); } fence[Symbol.dispose](); }
}
try { await cl[Symbol.asyncDispose](); } catch (error) { judge("the context", error, []); }
same("ledger", JSON.stringify(ledger.alive), "{}");
`,
);

// The first command waits: rusticl 22.3 may fault in its own exit handlers while its thread is at work.
isolated(
  "the process ends with a queue out of order in the middle of it",
  { opencl: true },
  `${START}
const event = cl.userEvent();
for (let i = 0; i < 200; i++) {
  if (i % 20 === 0) queue.barrier();
  kernel.run([64], [tensor()], { queue, ...(i === 0 ? { after: event.fence } : {}) });
}
queue.fence().wait().catch(() => {});
`,
);

isolated(
  "a fence at every one of ten thousand commands, and markers over all",
  { opencl: true, limit: 60 },
  `${START}
const event = cl.userEvent();
kernel.run([64], [t], { queue, after: event.fence });
const kept = [];
for (let i = 0; i < 10_000; i++) {
  queue.fill(t, i % 256);
  kept.push(queue.lastCommand());
  if (i % 500 === 0) kept.push(queue.fence());
}
event.complete();
queue.finish();
for (const fence of kept) { if (!fence.reached()) throw new Error("not reached"); fence[Symbol.dispose](); }
const got = new Uint8Array(64);
queue.read(t, got);
same("the last", got[63], 9_999 % 256);
`,
);

isolated(
  "handles of the wrong kind",
  { opencl: true },
  `${START}
for (const handle of [0n, -1n, 2n ** 64n, 2n ** 70n, 5, NaN, "1", null, undefined, {}, [], Symbol.iterator, () => {}, { valueOf: () => 5n }]) {
  fails("queue", () => cl.attachQueue(handle), "ArgumentError");
  fails("event", () => cl.attachEvent(handle), "ArgumentError");
}
`,
);

isolated(
  "fences, tensors and queues of a disposed context",
  { opencl: true },
  `${START}
queue.fill(t, 1);
const fence = queue.lastCommand();
const raw = queue.handle;
cl[Symbol.dispose]();
for (const action of [
  () => queue.fill(t, 1), () => queue.copy(t, t), () => queue.readRect(t, new Uint8Array(64)), () => queue.migrate([t], { to: "host" }),
  () => queue.marker([fence]), () => queue.barrier(), () => queue.fence(), () => queue.lastCommand(), () => queue.finish(),
  () => cl.createQueue(), () => cl.attachQueue(raw), () => cl.attachEvent(raw),
]) fails(String(action), action, "DisposedError");
queue.flush();
safe("times", () => fence.times());
fence[Symbol.dispose]();
fails("times", () => fence.times(), "DisposedError");
using other = open();
fails("marker", () => other.queue.marker([fence]), "DisposedError");
`,
);
