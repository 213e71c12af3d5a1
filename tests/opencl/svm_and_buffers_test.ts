// One kernel, given an address here and a buffer there.

import { assertEquals } from "@std/assert";
import { host, MapperGraph } from "@samepage/interop";
import { assertBytes, filled, kernelsOf, test } from "./help.ts";
import { LACKS, onDevices } from "./on_devices.ts";
import { runModule } from "../process.ts";

onDevices("a kernel's pointers are memory by address and buffers, in any order", LACKS.coarse, (open) => {
  using cl = open();
  using graph = new MapperGraph([host, cl]);
  const { fill, xorFrom } = kernelsOf(cl);
  const memory = () => [cl.svm.allocate({ shape: [64], dtype: "u8" }), cl.allocate({ shape: [64], dtype: "u8" })];
  const [from, to] = [memory(), memory()];
  let key = 0;
  for (const [a, b] of [[0, 1], [1, 0], [0, 0], [1, 1], [0, 1], [1, 1]]) {
    fill.run({ items: [64] }, [from[b], 3]);
    xorFrom.run({ items: [64] }, [to[a], from[b], ++key]);
    using seen = graph.map(to[a], host, { access: "read" });
    assertBytes(seen.bytes(), filled(64, 3).map((byte) => byte ^ key), `to ${a} from ${b}`);
  }
  for (const tensor of [...from, ...to]) tensor[Symbol.dispose]();
});

/** PoCL, with what NVIDIA's driver does: a parameter that was given an address once never again takes a buffer. */
const STICKY = `
import { host, ledger, MapperGraph } from "@samepage/interop";
import { setTap } from "${new URL("../../src/core/native/library.ts", import.meta.url)}";
const { OpenCLContext } = await import("@samepage/interop/opencl");
const kernels = new Map(); // by handle: which parameters had an address, which are spoilt
const of = (kernel) => kernels.get(kernel) ?? kernels.set(kernel, { had: new Set(), spoilt: new Set() }).get(kernel);
const around = {
  clCreateKernel: (call, ...args) => { const kernel = call(...args); kernels.delete(kernel); return kernel; },
  clSetKernelArgSVMPointer: (call, kernel, i, address) => {
    of(kernel).had.add(i);
    of(kernel).spoilt.delete(i);
    return call(kernel, i, address);
  },
  clSetKernelArg: (call, kernel, i, ...args) => {
    if (of(kernel).had.has(i)) of(kernel).spoilt.add(i);
    return call(kernel, i, ...args);
  },
  clEnqueueNDRangeKernel: (call, queue, kernel, ...args) => of(kernel).spoilt.size > 0 ? -52 : call(queue, kernel, ...args),
};
setTap((_, functions) => Object.fromEntries(Object.entries(functions).map(([name, call]) =>
  [name, around[name] === undefined ? call : (...args) => around[name](call, ...args)])));
const cl = OpenCLContext.open({ platform: "portable" });
using program = cl.program("kernel void add(global uchar* to, global const uchar* from) { to[0] += from[0]; }");
const add = program.kernel("add");
const tensors = [cl.svm.allocate({ shape: [1], dtype: "u8" }), cl.allocate({ shape: [1], dtype: "u8" })];
for (const [a, b] of [[0, 1], [1, 0], [0, 0], [1, 1]]) add.run({ items: [1] }, [tensors[a], tensors[b]]);
cl.queue.finish();
program[Symbol.dispose]();
for (const tensor of tensors) tensor[Symbol.dispose]();
cl[Symbol.dispose]();
console.log(JSON.stringify(ledger.alive));
`;

test("a driver that takes no buffer where an address was gets a kernel of its own", ["pocl"], async () => {
  const { code, stdout, stderr } = await runModule(STICKY);
  assertEquals([code, stdout.trim()], [0, "{}"], stderr);
});
