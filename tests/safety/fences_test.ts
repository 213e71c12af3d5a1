import { isolated } from "./process.ts";

isolated(
  "a fence that is never reached though its wait returns does not hang a dispose",
  { limit: 25 },
  `
const t = host.allocate({ shape: [64], dtype: "u8" });
class Never extends OwnFence { waitSync() {} async waitNonblocking() {} }
t.usedBy(new Never());
safe("dispose", () => t[Symbol.dispose]()); // after LOST_AFTER_MS at the latest
`,
);

isolated(
  "a fence that is never reached does not stop the event loop",
  { limit: 25 },
  `
const t = host.allocate({ shape: [64], dtype: "u8" });
class Never extends OwnFence { waitSync() {} async waitNonblocking() {} }
const fence = new Never();
t.usedBy(fence);
setTimeout(() => fence.done = true, 100);
await t[Symbol.asyncDispose]();
`,
);

for (const what of ["over", "reached", "line", "context", "waitSync", "wait", "retain"]) {
  isolated(
    `a fence whose ${what} throws ends nothing`,
    { limit: 60 },
    `
const boom = () => { throw new Error("of the fence's own"); };
function fence() {
  const fence = new OwnFence();
  Object.defineProperty(fence, "${what}", ${
      ["over", "line", "context"].includes(what) ? "{ get: boom }" : "{ value: boom }"
    });
  ${what === "over" ? 'fence.reached = () => { throw new Error("of the fence\'s own"); };' : ""}
  return fence;
}
const tensor = () => host.allocate({ shape: [64], dtype: "u8" });
const attempt = (action) => { try { return action(); } catch { /* the fence's own error may come through */ } };
const [a, b, c] = [tensor(), tensor(), tensor()];
attempt(() => a.disposeAfter(fence()));
attempt(() => b.usedBy(fence()));
attempt(() => b[Symbol.dispose]());
attempt(() => c.usedBy(fence()));
try { await c[Symbol.asyncDispose](); } catch { /* likewise */ }
attempt(() => a[Symbol.dispose]());
await sleep(100);
`,
  );
}

isolated(
  "fences outlive their context",
  { opencl: true },
  `
const cl = open();
const t = cl.allocate({ shape: [64], dtype: "u8" });
const k = cl.program("kernel void k(global uchar* o) { o[get_global_id(0)] = 1; }").kernel("k");
k.run([64], [t]);
const second = cl.createQueue();
k.run([64], [t], { queue: second });
const fences = [cl.queue.fence(), second.fence(), cl.userEvent().fence.retain()];
cl[Symbol.dispose]();
gc();
for (let i = 0; i < 3; i++) { using _ = open(); }
for (const fence of fences) {
  safe("reached", () => fence.reached());
  safe("waitSync", () => fence.waitSync());
  try { await fence.wait(); } catch (error) { judge("wait", error, []); }
  fence.retain()[Symbol.dispose]();
  fence[Symbol.dispose]();
  fence[Symbol.dispose]();
  fails("after dispose", () => fence.reached(), "DisposedError");
}
same("ledger", JSON.stringify(ledger.alive), "{}");
`,
);
