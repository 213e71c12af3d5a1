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
import type { UsmAllocation, UsmKind } from "@samepage/interop/backend";
import { assertBytes, filled, kernelsOf, LONG, thrown } from "./help.ts";
import { LACKS, onDevices, without } from "./on_devices.ts";

const KINDS: readonly UsmKind[] = ["host", "shared", "device"];

for (const kind of KINDS) {
  onDevices(`usm ${kind}: kernels, slices, and the route to the host`, LACKS.usm, (open) => {
    using cl = open();
    using graph = new MapperGraph([host, cl]);
    const { fill, add } = kernelsOf(cl);
    using memory = cl.usm.allocate({ kind, shape: [1000], dtype: "u8", align: 1024 });
    assertEquals(memory.handle % 1024n, 0n);
    fill.run({ items: [1000] }, [memory, 0]);
    {
      using part = memory.slice(region(memory.layout, [13], [100]));
      fill.run({ items: [100] }, [part, 200]);
    }
    const expected = filled(1000, 0);
    expected.set(filled(100, 200), 13);
    {
      using seen = graph.map(memory, host, { copy: "allow" });
      assertBytes(seen.bytes(), expected);
      seen.bytes().fill(3);
      thrown(AccessError, () => add.run({ items: [1000] }, [memory, 1]));
      assertEquals(seen.handle === memory.rawHandle, kind !== "device");
      assertEquals(seen.route.steps[0].transfer === "copy", kind === "device");
    }
    add.run({ items: [1000] }, [memory, 1]);
    using seen = graph.map(memory, host, { access: "read", copy: "allow" });
    assertBytes(seen.bytes(), new Uint8Array(1000).fill(4));
  });

  onDevices(`usm ${kind}: what is disposed while a kernel runs is freed afterwards`, LACKS.usm, (open) => {
    using cl = open();
    const { slow } = kernelsOf(cl);
    const memory = cl.usm.allocate({ kind, shape: [4096], dtype: "u8" });
    slow.run({ items: [4096] }, [memory, 1, LONG]);
    const fence = cl.queue.fence();
    memory[Symbol.dispose]();
    assert(fence.reached(), "it was freed while the kernel was at work");
    thrown(DisposedError, () => slow.run({ items: [4096] }, [memory, 1, 1]));
  });

  onDevices(`usm ${kind}: a kernel follows a pointer that it finds in memory`, LACKS.usm, (open) => {
    using cl = open();
    using graph = new MapperGraph([host, cl]);
    using program = cl.program(`
kernel void follow(global const ulong* pointers, uchar n) {
  global uchar* x = (global uchar*) pointers[0];
  x[get_global_id(0)] += n;
}`);
    using pointers = cl.svm.allocate({ shape: [1], dtype: "u64" });
    using target = cl.usm.allocate({ kind, shape: [64], dtype: "u8" });
    {
      using seen = graph.map(pointers, host, { access: "write" });
      seen.view({ dtype: "u64" })[0] = target.handle;
    }
    {
      using seen = graph.map(target, host, { access: "write", copy: "allow" });
      seen.bytes().fill(10);
    }
    // Shared virtual memory holds the pointer, unified shared memory is what it points to.
    program.kernel("follow").run({ items: [64] }, [pointers, 1], { indirect: [target] });
    using seen = graph.map(target, host, { access: "read", copy: "allow" });
    assertBytes(seen.bytes(), new Uint8Array(64).fill(11));
  });
}

for (const kind of ["host", "shared"] as const) {
  onDevices(`usm ${kind}: an address that the host wraps is a peer's`, LACKS.usm, (open) => {
    const cl = open();
    const { fill } = kernelsOf(cl);
    const memory = cl.usm.allocate({ kind, shape: [4096], dtype: "u8" });
    using peer = host.wrap(memory.handle, { shape: [4096], dtype: "u8" });
    const view = peer.view();
    fill.run({ items: [4096] }, [memory, 0]);
    assertEquals(view.length, 0, "a view of the peer's, while a kernel writes");
    cl[Symbol.dispose]();
    thrown(DisposedError, () => memory.handle);
    assertBytes(peer.view(), filled(4096, 0), "the peer's bytes, when the context is gone");
  });
}

onDevices("usm device: the host has it only as a copy, where that is allowed", LACKS.usm, (open) => {
  using cl = open();
  using graph = new MapperGraph([host, cl]);
  const { fill } = kernelsOf(cl);
  using memory = cl.usm.allocate({ kind: "device", shape: [100], dtype: "u8" });
  const closed = thrown(NoRouteError, () => graph.map(memory, host));
  assertStringIncludes(closed.message, 'Pass { copy: "allow" } to allow it');
  const wrapped = thrown(ArgumentError, () => host.wrap(memory.handle, { shape: [100], dtype: "u8" }));
  assertStringIncludes(wrapped.message, "which the CPU cannot reach");
  const before = cl.bytesCopied;
  fill.run({ items: [100] }, [memory, 1]);
  {
    using seen = graph.map(memory, host, { access: "read", copy: "allow" });
    assertEquals([seen.route.bytesMoved, cl.bytesCopied - before], [100, 100]);
    // On from the copy, which is memory of the host: two copies of the same bytes are two buffers.
    using other = graph.map(memory, host, { access: "read", copy: "allow" });
    using first = graph.map(seen, cl, { access: "read" });
    using second = graph.map(other, cl, { access: "read" });
    assert(first.rawHandle !== second.rawHandle);
    first[Symbol.dispose]();
    seen[Symbol.dispose]();
    const bytes = new Uint8Array(100);
    cl.queue.read(second, bytes);
    assertBytes(bytes, filled(100, 1));
  }
  using written = graph.map(memory, host, { access: "write", copy: "allow" });
  assertEquals(written.route.bytesMoved, 100);
  written.bytes().fill(1);
});

onDevices("usm device: of a copy whose view was moved away, the copy is kept", LACKS.usm, (open) => {
  using cl = open();
  using graph = new MapperGraph([host, cl]);
  const memory = cl.usm.allocate({ kind: "device", shape: [100_000], dtype: "u8" });
  const seen = graph.map(memory, host, { copy: "allow" });
  const moved = seen.bytes().buffer.transfer();
  const { warn } = console;
  console.warn = () => {};
  seen[Symbol.dispose]();
  memory[Symbol.dispose]();
  console.warn = warn;
  new Uint8Array(moved).fill(7); // still memory
});

onDevices("usm: what cannot be allocated is refused before any native call", LACKS.usm, (open, device) => {
  using cl = open();
  const wrong: [UsmAllocation, new (...args: never[]) => Error, string][] = [
    [{ kind: "fast" as never, shape: [64], dtype: "u8" }, ArgumentError, "kind"],
    [{ shape: [64], dtype: "u8" } as never, ArgumentError, "kind"],
    [{ kind: "host", shape: [2 ** 64], dtype: "u8" }, LayoutError, "shape[0]"],
    [{ kind: "host", shape: [device.maxAllocation + 1], dtype: "u8" }, LayoutError, "shape"],
    [{ kind: "device", shape: [64], dtype: "u8", align: 3 }, LayoutError, "align"],
  ];
  for (const [init, kind, argument] of wrong) {
    assertEquals((thrown(kind, () => cl.usm.allocate(init)) as ArgumentError).argument, argument);
  }
});

onDevices("usm: where a driver has none, it says so", without(LACKS.usm), (open, { platform }) => {
  using cl = open();
  assertEquals([cl.usm.available, cl.usm.capabilities], [false, undefined]);
  for (const kind of KINDS) {
    const error = thrown(ArgumentError, () => cl.usm.allocate({ kind, shape: [64], dtype: "u8" }));
    assertStringIncludes(error.message, `${platform} has no cl_intel_unified_shared_memory`);
    assert(error.hint!.includes("cl.svm"));
  }
});

for (const kind of KINDS) {
  onDevices(`usm ${kind}: attach() asks the driver where an address lies`, LACKS.usm, (open) => {
    using cl = open();
    const owners: string[] = [];
    using memory = cl.usm.allocate({ kind, shape: [100], dtype: "u8" });
    cl.queue.finish();
    using part = cl.usm.attach(memory.handle + 10n, { shape: [50], dtype: "u8" }, { owner: () => owners.push("over") });
    assert(part.grant.overlaps(memory.grant), "they are not known as the same bytes");
    const { fill, add } = kernelsOf(cl);
    fill.run({ items: [100] }, [memory, 0]);
    add.run({ items: [50] }, [part, 1]);
    using graph = new MapperGraph([host, cl]);
    {
      using seen = graph.map(memory, host, { copy: "allow" });
      const expected = filled(100, 0);
      for (let i = 10; i < 60; i++) expected[i] += 1;
      assertBytes(seen.bytes(), expected);
      thrown(AccessError, () => add.run({ items: [50] }, [part, 1]));
    }
    thrown(LayoutError, () => cl.usm.attach(memory.handle + 90n, { shape: [50], dtype: "u8" }));
    using other = host.allocate({ shape: [64], dtype: "u8" });
    const wrong = thrown(ArgumentError, () => cl.usm.attach(other.handle, { shape: [64], dtype: "u8" }));
    assertStringIncludes(wrong.message, "it is not unified memory of");
    part[Symbol.dispose]();
    assertEquals(owners, ["over"]);
  });
}
