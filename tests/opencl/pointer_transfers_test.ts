import { assert, assertEquals } from "@std/assert";
import { AccessError, ArgumentError, host, LayoutError, type LayoutInit, MapperGraph } from "@samepage/interop";
import type { UsmKind } from "@samepage/interop/backend";
import type { OpenCLContext, OpenCLSvmTensor, OpenCLUsmTensor, SvmGrain } from "@samepage/interop/opencl";
import { kernelsOf, LONG, thrown } from "./help.ts";
import { LACKS, type Lacks, onDevices } from "./on_devices.ts";

const BYTES = { shape: [3, 5], dtype: "u8" } as const;
const PADDED = { ...BYTES, strides: [16, 1] } as const;
const WORDS = { shape: [2, 3], dtype: "u32" } as const;

type Init = Pick<LayoutInit, "shape" | "dtype" | "strides">;

/** Memory at an address: its name, what a device may lack for it, and what allocates it. */
type Memory = readonly [string, Lacks, (cl: OpenCLContext, init: Init) => OpenCLSvmTensor | OpenCLUsmTensor];

const GRAINS: readonly SvmGrain[] = ["coarse", "fine"];
const KINDS: readonly UsmKind[] = ["host", "shared", "device"];
const MEMORIES: readonly Memory[] = [
  ...GRAINS.map((grain): Memory => [`svm ${grain}`, LACKS[grain], (cl, init) => cl.svm.allocate({ ...init, grain })]),
  ...KINDS.map((kind): Memory => [`usm ${kind}`, LACKS.usm, (cl, init) => cl.usm.allocate({ ...init, kind })]),
];

for (const [name, lacks, allocate] of MEMORIES) {
  onDevices(`${name}: a queue fills, writes, copies and reads it, and leaves the gaps alone`, lacks, (open) => {
    using cl = open();
    using padded = allocate(cl, PADDED);
    using dense = allocate(cl, BYTES);
    const all = new Uint8Array(padded.layout.byteLength);
    cl.queue.write(padded, all.fill(1));
    cl.queue.fill(padded, 7);
    cl.queue.read(padded, all);
    all.forEach((byte, i) => assertEquals(byte, i % 16 < 5 ? 7 : 1, `byte ${i}`));
    const counted = Uint8Array.from({ length: 15 }, (_, i) => i);
    cl.queue.write(padded, counted, { at: "dense" });
    cl.queue.copy(padded, dense);
    const seen = new Uint8Array(15);
    cl.queue.read(dense, seen);
    assertEquals(seen, counted);
    cl.queue.fill(dense, 0);
    cl.queue.copy(dense, padded);
    cl.queue.read(padded, seen, { at: "dense" });
    assertEquals(seen, new Uint8Array(15));
    cl.queue.read(padded, all);
    assertEquals(all[5], 1);
    assertEquals(cl.bytesCopied, 3 * all.length + 3 * 15);
  });

  onDevices(`${name}: a queue's commands wait for a kernel, and a kernel waits for them`, lacks, (open) => {
    using cl = open();
    using other = cl.createQueue();
    using memory = allocate(cl, BYTES);
    const { slow, add } = kernelsOf(cl);
    cl.queue.fill(memory, 1);
    slow.run({ items: [15] }, [memory, 1, LONG]);
    const running = cl.queue.fence();
    other.fill(memory, 5);
    add.run({ items: [15] }, [memory, 1]);
    const seen = new Uint8Array(15);
    cl.queue.read(memory, seen);
    assertEquals(seen, new Uint8Array(15).fill(6));
    assert(running.reached());
  });

  onDevices(
    `${name}: a queue refuses what is lent, what a pattern does not fit, and copies to a buffer`,
    lacks,
    (open) => {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using memory = allocate(cl, WORDS);
      using buffer = cl.allocate(WORDS);
      cl.queue.fill(memory, 0x01020304);
      {
        using seen = graph.map(memory, host, { copy: "allow" });
        thrown(AccessError, () => cl.queue.fill(memory, 1));
        assertEquals(seen.view(), new Uint32Array(6).fill(0x01020304));
      }
      for (const [from, to] of [[memory, buffer], [buffer, memory]] as const) {
        const error = thrown(ArgumentError, () => cl.queue.copy(from, to));
        assertEquals([error.argument, error.message.includes(`from ${from.target.kind} to ${to.target.kind}`)], [
          "to",
          true,
        ]);
      }
      using bytes = allocate(cl, PADDED);
      using odd = bytes.slice({ shape: [2], dtype: "u8", byteOffset: 1 });
      cl.queue.fill(odd, 3);
      using off = memory.slice({ shape: [4], dtype: "u32", byteOffset: 4 });
      const error = thrown(LayoutError, () => cl.queue.fill(off, [3, 4]));
      assertEquals([error.argument, /4 bytes after a multiple of the pattern's 8/.test(error.message)], ["to", true]);
    },
  );
}
