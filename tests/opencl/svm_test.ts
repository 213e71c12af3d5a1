import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  LayoutError,
  MapperGraph,
  NoRouteError,
  region,
} from "@samepage/interop";
import { OpenCLContext, openclDevices, type SvmAllocation, type SvmGrain } from "@samepage/interop/opencl";
import { assertBytes, filled, gate, kernelsOf, LONG, thrown, until } from "./help.ts";
import { LACKS, onDevices, without } from "./on_devices.ts";

const GRAINS: readonly SvmGrain[] = ["coarse", "fine"];

for (const grain of GRAINS) {
  onDevices(`${grain}: a kernel and the host use the same bytes at the same address`, LACKS[grain], (open) => {
    using cl = open();
    using graph = new MapperGraph([host, cl]);
    const { add, fill } = kernelsOf(cl);
    using memory = cl.svm.allocate({ shape: [5000], dtype: "u8", grain });
    assertEquals(memory.target, cl.svm);
    fill.run({ items: [5000] }, [memory, 3]);
    {
      using seen = graph.map(memory, host);
      assertEquals(seen.handle, memory.rawHandle);
      assertEquals(seen.route.steps.map(({ edge }) => edge), ["opencl.svm→host"]);
      assertBytes(seen.bytes(), filled(5000, 3));
      seen.bytes().fill(9);
    }
    add.run({ items: [5000] }, [memory, 1]);
    using seen = graph.map(memory, host, { access: "read" });
    assertBytes(seen.bytes(), new Uint8Array(5000).fill(10));
  });

  onDevices(`${grain}: slices begin at any byte, and need no object of their own`, LACKS[grain], (open) => {
    using cl = open();
    using graph = new MapperGraph([host, cl]);
    const { fill } = kernelsOf(cl);
    using memory = cl.svm.allocate({ shape: [1000], dtype: "u8", grain });
    fill.run({ items: [1000] }, [memory, 0]);
    {
      using part = memory.slice(region(memory.layout, [13], [100]));
      assertEquals(part.handle, memory.rawHandle);
      assertEquals(part.address, memory.rawHandle + 13n);
      fill.run({ items: [100] }, [part, 200]);
      using again = part.slice(region(part.layout, [1], [2]));
      assertEquals([again.handle, again.address], [memory.rawHandle, memory.rawHandle + 14n]);
    }
    using seen = graph.map(memory, host, { access: "read" });
    const expected = filled(1000, 0);
    expected.set(filled(100, 200), 13);
    assertBytes(seen.bytes(), expected);
  });

  onDevices(
    `${grain}: two readers of the same bytes, of which one is longer, end in any order`,
    LACKS[grain],
    (open) => {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      const { add, fill } = kernelsOf(cl);
      using memory = cl.svm.allocate({ shape: [4096], dtype: "u8", grain });
      for (const order of [[0, 1, 2], [2, 1, 0], [1, 0, 2]]) {
        fill.run({ items: [4096] }, [memory, 0]);
        const parts = [64, 4096, 1000].map((n) => memory.slice(region(memory.layout, [0], [n]), { access: "read" }));
        const readers = parts.map((part) => graph.map(part, host));
        readers.forEach((reader) => assertBytes(reader.bytes(), filled(reader.layout.byteLength, 0)));
        for (const i of order) readers[i][Symbol.dispose]();
        for (const part of parts) part[Symbol.dispose]();
        add.run({ items: [4096] }, [memory, 1]);
      }
      cl.queue.finish();
    },
  );

  onDevices(`${grain}: alignment beyond what the driver offers`, LACKS[grain], (open) => {
    using cl = open();
    for (let align = 1; align <= 65536; align *= 4) {
      using memory = cl.svm.allocate({ shape: [100], dtype: "u8", grain, align });
      assertEquals(memory.handle % BigInt(align), 0n);
    }
    thrown(LayoutError, () => cl.svm.allocate({ shape: [100], dtype: "u8", grain, align: 96 }));
  });

  onDevices(`${grain}: what is disposed while a kernel runs is freed afterwards`, LACKS[grain], (open) => {
    using cl = open();
    const { slow } = kernelsOf(cl);
    const memory = cl.svm.allocate({ shape: [4096], dtype: "u8", grain });
    slow.run({ items: [4096] }, [memory, 1, LONG]);
    const fence = cl.queue.fence();
    memory[Symbol.dispose]();
    assert(fence.reached(), "it was freed while the kernel was at work");
    thrown(DisposedError, () => memory.handle);
    thrown(DisposedError, () => slow.run({ items: [4096] }, [memory, 1, 1]));
  });

  onDevices(
    `${grain}: while the host holds it for writing no kernel has it, nor its neighbour's bytes`,
    LACKS[grain],
    (open) => {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      const { fill } = kernelsOf(cl);
      using memory = cl.svm.allocate({ shape: [200], dtype: "u8", grain });
      using left = memory.slice(region(memory.layout, [0], [100]));
      using right = memory.slice(region(memory.layout, [100], [100]));
      using seen = graph.map(left, host);
      thrown(AccessError, () => fill.run({ items: [100] }, [left, 1]));
      thrown(AccessError, () => fill.run({ items: [200] }, [memory, 1]));
      thrown(AccessError, () => fill.run({ items: [1] }, [right, 1], { indirect: [left] }));
      fill.run({ items: [100] }, [right, 1]);
      seen.bytes().fill(4);
    },
  );

  onDevices(`${grain}: the host waits for the kernel`, LACKS[grain], async (open) => {
    using cl = open();
    using graph = new MapperGraph([host, cl]);
    const { slow } = kernelsOf(cl);
    using memory = cl.svm.allocate({ shape: [4096], dtype: "u8", grain });
    {
      using seen = graph.map(memory, host, { access: "write" });
      seen.bytes().fill(1);
    }
    using event = gate();
    slow.run({ items: [4096] }, [memory, 5, LONG], { after: event.fence });
    assert(graph.explain(memory, host, { access: "read" }).steps[0].hostWait);
    await event.complete();
    using seen = graph.map(memory, host, { access: "read" });
    assertBytes(seen.bytes(), new Uint8Array(4096).fill(6));
  });

  onDevices(`${grain}: a kernel follows a pointer that it finds in memory`, LACKS[grain], (open) => {
    using cl = open();
    using graph = new MapperGraph([host, cl]);
    using program = cl.program(`
kernel void follow(global const ulong* pointers, uchar n) {
  global uchar* x = (global uchar*) pointers[get_global_id(0)];
  for (uint i = 0; i < 64; i++) x[i] += n;
}`);
    const follow = program.kernel("follow");
    using pointers = cl.svm.allocate({ shape: [2], dtype: "u64", grain });
    const targets = [1, 2].map(() => cl.svm.allocate({ shape: [64], dtype: "u8", grain }));
    {
      using seen = graph.map(pointers, host, { access: "write" });
      seen.view({ dtype: "u64" }).set(targets.map((target) => target.handle));
    }
    for (const target of targets) {
      using seen = graph.map(target, host, { access: "write" });
      seen.bytes().fill(10);
    }
    follow.run({ items: [2] }, [pointers, 1], { indirect: targets });
    {
      // Recorded as an argument's: the host waits.
      using seen = graph.map(targets[1], host, { access: "read" });
      assertBytes(seen.bytes(), new Uint8Array(64).fill(11));
    }
    {
      using readOnly = targets[1].slice(targets[1].layout, { access: "read" });
      using _alsoRead = graph.map(targets[1], host, { access: "read" });
      follow.run({ items: [1] }, [pointers, 1], { indirect: [targets[0], readOnly] });
    }
    using _held = graph.map(targets[0], host);
    thrown(AccessError, () => follow.run({ items: [2] }, [pointers, 1], { indirect: targets }));
    for (const target of targets) target[Symbol.dispose]();
    const gone = thrown(DisposedError, () => follow.run({ items: [2] }, [pointers, 1], { indirect: targets }));
    assertStringIncludes(gone.message, "was disposed");
  });

  onDevices(`${grain}: eight times as many pointers take a kernel about eight times as long`, LACKS[grain], (open) => {
    using cl = open();
    const { fill } = kernelsOf(cl);
    using seen = cl.svm.allocate({ shape: [1], dtype: "u8", grain });
    using whole = cl.svm.allocate({ shape: [65_536], dtype: "u8", grain });
    const targets = Array.from({ length: 65_536 }, (_, i) => whole.slice({ shape: [1], dtype: "u8", byteOffset: i }));
    /** The quickest of several turns: other work on the machine makes some slow. */
    const timeOf = (indirect: typeof targets) => {
      let least = Infinity;
      for (let turn = 0; turn < 4; turn++) {
        const start = performance.now();
        fill.run({ items: [1] }, [seen, 1], { indirect });
        least = Math.min(least, performance.now() - start);
      }
      return least;
    };
    timeOf(targets.slice(0, 1024)); // compiles
    const few = timeOf(targets.slice(0, 8192));
    const many = timeOf(targets);
    assert(many < 4 * 8 * few, `8 times as many took ${many / few} times as long`); // 64 with a list copied for each
    cl.queue.finish();
  });
}

onDevices("fine: an address that the host wraps is a peer's", LACKS.fine, async (open) => {
  const cl = open();
  const { fill, slow } = kernelsOf(cl);
  const memory = cl.svm.allocate({ shape: [4096], dtype: "u8", grain: "fine" });
  const peer = host.wrap(memory.handle, { shape: [4096], dtype: "u8" });
  assertEquals(peer.grant.allocation, memory.grant.allocation);
  const view = peer.view();
  fill.run({ items: [4096] }, [memory, 0]);
  assertEquals(view.length, 0, "a view of the peer's, while a kernel writes");
  cl.queue.finish();
  assertBytes(peer.view(), filled(4096, 0));
  const event = gate();
  slow.run({ items: [4096] }, [memory, 1, LONG], { after: event.fence });
  thrown(AccessError, () => peer.view());
  await event.complete();
  event[Symbol.dispose]();
  {
    using graph = new MapperGraph([host, cl]);
    using lent = graph.map(peer, cl.svm);
    assertEquals([lent.handle, lent.route.steps[0].edge], [peer.rawHandle, "host→opencl.svm"]);
    fill.run({ items: [4096] }, [lent, 7]);
    thrown(AccessError, () => fill.run({ items: [4096] }, [memory, 0]));
  }
  cl[Symbol.dispose]();
  thrown(DisposedError, () => memory.handle);
  assertBytes(peer.view(), filled(4096, 7), "the peer's bytes, when the context is gone");
  await peer[Symbol.asyncDispose]();
});

onDevices("coarse: an address cannot be wrapped, only mapped; nor mapped on while it is", LACKS.coarse, (open) => {
  using cl = open();
  using graph = new MapperGraph([host, cl]);
  const pixels = { shape: [64, 64, 4], dtype: "u8" } as const;
  using memory = cl.svm.allocate({ ...pixels, align: 4096 });
  const error = thrown(ArgumentError, () => host.wrap(memory.handle, pixels));
  assertStringIncludes(error.message, "graph.map(tensor, host)");
  using seen = graph.map(memory, host);
  const image = cl.image({ order: "RGBA", type: "UNSIGNED_INT8" });
  for (const map of [() => graph.map(seen, cl), () => graph.map(seen, cl.svm), () => graph.map(seen, image)]) {
    assertStringIncludes(thrown(NoRouteError, map).message, "Dispose that map");
  }
});

onDevices("fine: host and device add to one counter at the same time", LACKS.atomics, async (open) => {
  using cl = open();
  using program = cl.program(
    `kernel void count(volatile global int* x) { for (int i = 0; i < 100; i++) atomic_inc(x); }`,
  );
  const count = program.kernel("count");
  using memory = cl.svm.allocate({ shape: [1], dtype: "i32", grain: "fine", atomics: true });
  using peer = host.wrap(memory.handle, { shape: [1], dtype: "i32" });
  peer.view()[0] = 0;
  // Past the grants, which keep host and device apart: what a program does on a raw handle is its own.
  const pointer = Deno.UnsafePointer.create(memory.handle)!;
  const shared = new Int32Array(Deno.UnsafePointerView.getArrayBuffer(pointer, 4));
  count.run({ items: [10_000] }, [memory]);
  cl.queue.flush();
  for (let i = 0; i < 1000; i++) Atomics.add(shared, 0, 1);
  const fence = cl.queue.fence();
  await fence.wait();
  assertEquals(peer.view()[0], 1_001_000);
});

onDevices("system: a kernel has host memory by its own address", LACKS.system, (open) => {
  using cl = open();
  using graph = new MapperGraph([host, cl]);
  const { fill } = kernelsOf(cl);
  using memory = host.allocate({ shape: [3, 1000], dtype: "u8" });
  {
    using lent = graph.map(memory, cl.svm);
    assertEquals(lent.handle, memory.rawHandle);
    assert(cl.svm.is(lent));
    using row = lent.slice(region(lent.layout, [1, 0], [1, 1000]));
    fill.run({ items: [1000] }, [row, 5]);
    thrown(AccessError, () => memory.view());
  }
  assertBytes(memory.view().subarray(1000, 2000), filled(1000, 5));
  assertEquals(memory.view()[2000], 0);
});

onDevices(
  "without system sharing, host memory is not shared memory, and the reason is said",
  without(LACKS.system),
  (open) => {
    using cl = open();
    using graph = new MapperGraph([host, cl]);
    using memory = host.allocate({ shape: [64], dtype: "u8" });
    const error = thrown(NoRouteError, () => graph.map(memory, cl.svm));
    assertStringIncludes(error.message, "CL_DEVICE_SVM_FINE_GRAIN_SYSTEM");
    assert(error.refused.every(({ remedy }) => remedy !== undefined));
  },
);

onDevices("a device without any says so", without(LACKS.coarse), (open, device) => {
  using cl = open();
  const error = thrown(ArgumentError, () => cl.svm.allocate({ shape: [64], dtype: "u8" }));
  assertEquals([error.fn, error.argument], ["clSVMAlloc", "grain"]);
  assertStringIncludes(error.message, device.name);
  assertStringIncludes(error.message, "CL_DEVICE_SVM_COARSE_GRAIN_BUFFER");
});

onDevices("fine-grained memory is refused where there is only coarse", without(LACKS.fine), (open) => {
  using cl = open();
  const error = thrown(ArgumentError, () => cl.svm.allocate({ shape: [64], dtype: "u8", grain: "fine" }));
  assertStringIncludes(error.message, "CL_DEVICE_SVM_FINE_GRAIN_BUFFER");
});

onDevices("what cannot be allocated is refused before any native call", LACKS.coarse, (open, device) => {
  using cl = open();
  const wrong: [SvmAllocation, new (...args: never[]) => Error, string][] = [
    [{ shape: [64], dtype: "u8", atomics: true }, ArgumentError, "atomics"],
    [{ shape: [64], dtype: "u8", atomics: 1 as never }, ArgumentError, "atomics"],
    [{ shape: [64], dtype: "u8", grain: "middling" as never }, ArgumentError, "grain"],
    [{ shape: [2 ** 64], dtype: "u8" }, LayoutError, "shape[0]"],
    [{ shape: [2 ** 52], dtype: "u8" }, LayoutError, "shape"],
    [{ shape: [device.maxAllocation + 1], dtype: "u8" }, LayoutError, "shape"],
    [{ shape: [device.maxAllocation], dtype: "u8", align: 4096 }, LayoutError, "shape"],
    [{ shape: [64], dtype: "u8", align: 2 ** 52 }, LayoutError, "shape"],
    [{ shape: [64], dtype: "u8", align: -8 }, LayoutError, "align"],
    [{ shape: [64], dtype: "u8", align: NaN }, LayoutError, "align"],
  ];
  for (const [init, kind, argument] of wrong) {
    const error = thrown(kind, () => cl.svm.allocate(init));
    assertEquals((error as ArgumentError).argument, argument, error.message);
  }
  for (const init of [undefined, null, 5]) thrown(ArgumentError, () => cl.svm.allocate(init as never));
});

onDevices("arguments are checked as buffers are", LACKS.coarse, (open) => {
  using cl = open();
  using other = open();
  using program = cl.program(`
kernel void four(global float4* x) { x[0] = 1; }
kernel void whole(global int* x) { x[0] = 1; }
kernel void constant_(constant uchar* from, global uchar* to) { to[0] = from[0]; }`);
  using memory = cl.svm.allocate({ shape: [64], dtype: "f32" });
  {
    using odd = memory.slice(region(memory.layout, [1], [32]));
    thrown(LayoutError, () => program.kernel("four").run({ items: [1] }, [odd]));
  }
  {
    using even = memory.slice(region(memory.layout, [4], [32]));
    program.kernel("four").run({ items: [1] }, [even]);
  }
  thrown(ArgumentError, () => program.kernel("whole").run({ items: [1] }, [memory]));
  using foreign = other.svm.allocate({ shape: [64], dtype: "i32" });
  thrown(ArgumentError, () => program.kernel("whole").run({ items: [1] }, [foreign]));
  const own = cl.svm.allocate({ shape: [64], dtype: "i32" });
  for (const indirect of [5, [5], [foreign], [cl.allocate({ shape: [4], dtype: "u8" })], "ab", [undefined]]) {
    const error = thrown(
      ArgumentError,
      () => program.kernel("whole").run({ items: [1] }, [own], { indirect: indirect as never }),
    );
    assertEquals(error.fn, "clSetKernelExecInfo");
  }
  using from = cl.svm.allocate({ shape: [1], dtype: "u8" });
  using to = cl.svm.allocate({ shape: [1], dtype: "u8" });
  using readable = from.slice(from.layout, { access: "read" });
  program.kernel("constant_").run({ items: [1] }, [readable, to]);
  thrown(AccessError, () => program.kernel("constant_").run({ items: [1] }, [to, readable]));
  own[Symbol.dispose]();
});

onDevices("a tensor of one platform is refused by another's kernel", LACKS.coarse, (open, device) => {
  const others = openclDevices().filter(({ platform }) => platform !== device.platform);
  using cl = open();
  using memory = cl.svm.allocate({ shape: [64], dtype: "u8" });
  for (const { platform, name } of others) {
    using other = OpenCLContext.open({ platform, device: name });
    const { fill } = kernelsOf(other);
    const error = thrown(ArgumentError, () => fill.run({ items: [64] }, [memory, 1]));
    assertStringIncludes(error.message, device.name);
  }
});

onDevices("a view that was moved away keeps the memory for good", LACKS.fine, async (open) => {
  const cl = open();
  const memory = cl.svm.allocate({ shape: [64], dtype: "u8", grain: "fine" });
  {
    using graph = new MapperGraph([host, cl]);
    const seen = graph.map(memory, host);
    const moved = seen.bytes().buffer.transfer();
    const { warn } = console;
    const warnings: string[] = [];
    console.warn = (text: string) => warnings.push(text);
    seen[Symbol.dispose]();
    console.warn = warn;
    assertEquals(warnings.length, 1);
    cl[Symbol.dispose]();
    new Uint8Array(moved).fill(7); // the driver has not freed it, nor its context
  }
  await until(() => memory.resource.state === "freed", "the context's end");
});
