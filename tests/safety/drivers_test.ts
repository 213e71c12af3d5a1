import { isolated } from "./process.ts";

for (
  const options of [
    "-I",
    "-D",
    "-DA -I",
    "x",
    "-",
    "'",
    '"',
    "\\0",
    "-W",
    "-cl-std=CL9.9",
    "-Xclang -ast-dump",
    "-include /nope",
    "-mllvm -bogus",
    " -DA\\t-DB ",
  ]
) {
  isolated(
    `build options "${options}" do not end the process`,
    { opencl: true },
    `
using cl = open();
safe("program", () => cl.program("kernel void k() {}", { options: ${
      JSON.stringify(options).replaceAll("\\\\", "\\")
    } })[Symbol.dispose]());
`,
  );
}

for (
  const global of [
    "[2 ** 53 - 1]",
    "[2 ** 32, 2 ** 32]",
    "[2 ** 21, 2 ** 21, 2 ** 21]",
    "[2 ** 22, 2 ** 22, 2 ** 20]",
    "[2 ** 32]",
    "[2 ** 32 + 15]",
  ]
) {
  isolated(
    `${global} work-items run or are refused`,
    { opencl: true },
    `
using cl = open();
using program = cl.program("kernel void k(global int* o) { if (get_global_id(0) == 0) o[0] = 7; }");
using k = program.kernel("k");
const t = cl.allocate({ shape: [4], dtype: "i32" });
const out = new Int32Array(4);
cl.queue.write(t, out);
const accepted = safe("run", () => { k.run(${global}, [t]); return true; });
setTimeout(() => Deno.exit(0), 2000); // it runs on: that is the program's own wish
if (accepted) {
  await cl.queue.fence().wait();
  cl.queue.read(t, out);
  same("the first work-item's mark", out[0], 7);
}
Deno.exit(0);
`,
  );
}

isolated(
  "blocks with guard pages stop before the process has no mapping left",
  { limit: 60 },
  `
const kept = [];
safe("allocate", () => { for (let i = 0; i < 40_000; i++) kept.push(host.allocate({ shape: [4096], dtype: "u8", guard: true })); });
new ArrayBuffer(1 << 22);
for (let i = 0; i < 200; i++) kept.push(new Array(10_000).fill(i).map((x) => ({ x }))); // V8 needs mappings too
for (const tensor of kept) tensor[Symbol.dispose]?.();
same("ledger", JSON.stringify(ledger.alive), "{}");
`,
);
