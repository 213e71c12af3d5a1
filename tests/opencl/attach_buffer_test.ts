import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  LayoutError,
  ledger,
  NoRouteError,
  region,
} from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import {
  CL_BUFFER_CREATE_TYPE_REGION,
  CL_MEM_ALLOC_HOST_PTR,
  CL_MEM_HOST_NO_ACCESS,
  CL_MEM_HOST_READ_ONLY,
  CL_MEM_HOST_WRITE_ONLY,
  CL_MEM_OBJECT_IMAGE2D,
  CL_MEM_READ_ONLY,
  CL_MEM_READ_WRITE,
  CL_MEM_REFERENCE_COUNT,
  CL_MEM_USE_HOST_PTR,
  CL_MEM_WRITE_ONLY,
  CL_RGBA,
  CL_UNORM_INT8,
} from "../../ffi/opencl/constants.ts";
import { cl_image_desc, writeClBufferRegion, writeClImageFormat } from "../../ffi/opencl/structs.ts";
import {
  assertBytes,
  assertHeld,
  bench,
  collect,
  filled,
  kernelsOf,
  LONG,
  MIGRATING,
  open,
  type Platform,
  random,
  testEach,
  thrown,
  warningsOf,
} from "./help.ts";
import { addressOf, bufferOf, made, raw, release, told } from "./raw.ts";

const BYTES = { shape: [4096], dtype: "u8" } as const;

const references = (mem: bigint) => told("clGetMemObjectInfo", mem, CL_MEM_REFERENCE_COUNT);

/** What we have retained we have released. A kernel of rusticl's keeps what was last passed to it. */
function assertReferences(platform: Platform, mems: readonly bigint[], before: readonly number[]): void {
  if (platform === "pocl") mems.forEach((mem, i) => assertHeld(() => references(mem), before[i]));
}

function partOf(buffer: bigint, begin: number, size: number, flags = 0n): bigint {
  const at = new DataView(new ArrayBuffer(16));
  writeClBufferRegion(at, 0, { origin: BigInt(begin), size: BigInt(size) });
  return made((code) => raw().clCreateSubBuffer(buffer, flags, CL_BUFFER_CREATE_TYPE_REGION, at, code));
}

testEach("a foreign buffer is retained, used by kernels, and mapped to the host", (platform) => {
  using b = bench(platform);
  for (const flags of [CL_MEM_READ_WRITE, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR]) {
    const theirs = bufferOf(b.cl, flags);
    const before = references(theirs);
    {
      using tensor = b.cl.attach(theirs, BYTES);
      assertStrictEquals(tensor.handle as bigint, theirs);
      assert(references(theirs) > before);
      b.kernels.fill.run({ items: [4096] }, [tensor, 21]);
      using seen = b.graph.map(tensor, host);
      assertEquals(seen.route.steps.length, 1);
      assertBytes(seen.bytes(), filled(4096, 21));
      thrown(AccessError, () => b.kernels.fill.run({ items: [4096] }, [tensor, 1]));
    }
    assertReferences(platform, [theirs], [before]);
    release(theirs);
  }
});

testEach("it lives on when its own owner has released it", (platform) => {
  using b = bench(platform);
  const theirs = bufferOf(b.cl);
  using tensor = b.cl.attach(theirs, BYTES);
  release(theirs);
  b.kernels.fill.run({ items: [4096] }, [tensor, 2]);
  const bytes = new Uint8Array(4096);
  b.cl.queue.read(tensor, bytes);
  assertBytes(bytes, filled(4096, 2));
});

testEach("a layout that begins further in, or is shorter, has its bytes", (platform) => {
  using b = bench(platform);
  const theirs = bufferOf(b.cl);
  {
    using whole = b.cl.attach(theirs, BYTES);
    b.kernels.fill.run({ items: [4096] }, [whole, 0]);
    using part = b.cl.attach(theirs, { shape: [10], dtype: "u8", byteOffset: 100 });
    const bytes = new Uint8Array(10);
    b.cl.queue.read(part, bytes);
    assertBytes(bytes, filled(4096, 0).subarray(100, 110));
    using seen = b.graph.map(part, host, { access: "read" });
    assertBytes(seen.bytes(), filled(4096, 0).subarray(100, 110));
  }
  for (const init of [{ shape: [4097], dtype: "u8" }, { shape: [4096], dtype: "u8", byteOffset: 1 }] as const) {
    assertEquals(thrown(LayoutError, () => b.cl.attach(theirs, init)).argument, "init");
  }
  thrown(LayoutError, () => b.cl.attach(theirs, { shape: [-1], dtype: "u8" }));
  assertReferences(platform, [theirs], [1]);
  release(theirs);
});

testEach("anything but a handle is refused", (platform) => {
  using cl = open(platform);
  for (const handle of [0n, -1n, 2n ** 64n, 2n ** 70n, 1, NaN, "1", null, undefined, {}]) {
    assertEquals(thrown(ArgumentError, () => cl.attach(handle as bigint, BYTES)).argument, "handle");
  }
  for (const options of [null, 1, { access: "none" }]) {
    thrown(ArgumentError, () => cl.attach(1n, BYTES, options as unknown as undefined));
  }
});

testEach("a buffer of another context, and an image, are refused", (platform) => {
  using cl = open(platform);
  using other = open(platform);
  const theirs = bufferOf(other);
  const error = thrown(ArgumentError, () => cl.attach(theirs, BYTES));
  assert(error.argument === "handle" && error.message.includes("another context"), error.message);
  const format = new DataView(new ArrayBuffer(8));
  writeClImageFormat(format, 0, { image_channel_order: CL_RGBA, image_channel_data_type: CL_UNORM_INT8 });
  const desc = new DataView(new ArrayBuffer(cl_image_desc.size));
  desc.setUint32(cl_image_desc.fields.image_type.offset, CL_MEM_OBJECT_IMAGE2D, true);
  desc.setBigUint64(cl_image_desc.fields.image_width.offset, 16n, true);
  desc.setBigUint64(cl_image_desc.fields.image_height.offset, 16n, true);
  const image = made((code) => raw().clCreateImage!(cl.handle, CL_MEM_READ_WRITE, format, desc, 0n, code));
  assert(thrown(ArgumentError, () => cl.attach(image, BYTES)).message.includes("expected a buffer"));
  release(theirs, image);
});

testEach("attached twice, they are peers: what one lends, the other may not use", (platform) => {
  using b = bench(platform);
  const theirs = bufferOf(b.cl);
  {
    using one = b.cl.attach(theirs, BYTES);
    using two = b.cl.attach(theirs, BYTES);
    using half = b.cl.attach(theirs, { shape: [2048], dtype: "u8", byteOffset: 2048 });
    assertStrictEquals(one.grant.allocation, two.grant.allocation);
    {
      using mapped = b.graph.map(one, host);
      mapped.bytes().fill(3);
      for (const peer of [two, half]) {
        assert(thrown(AccessError, () => peer.handle).message.includes("lent"));
        thrown(AccessError, () => b.graph.map(peer, host, { access: "read" }));
      }
    }
    {
      using _reading = b.graph.map(one, host, { access: "read" });
      two.assertUsable("read");
      thrown(AccessError, () => b.kernels.add.run({ items: [4096] }, [two, 1]));
      thrown(AccessError, () => b.graph.map(half, host));
    }
    using front = one.slice(region(one.layout, [0], [2048]));
    half.assertUsable("read-write"); // other bytes
    thrown(AccessError, () => two.assertUsable("read"));
    front[Symbol.dispose]();
    b.kernels.add.run({ items: [4096] }, [two, 1]);
    one[Symbol.dispose]();
    const bytes = new Uint8Array(4096);
    b.cl.queue.read(two, bytes);
    assertBytes(bytes, new Uint8Array(4096).fill(4));
  }
  assertReferences(platform, [theirs], [1]);
  release(theirs);
});

testEach("what one peer has in flight, the others wait for", (platform) => {
  using b = bench(platform);
  const theirs = bufferOf(b.cl);
  {
    using one = b.cl.attach(theirs, BYTES);
    using two = b.cl.attach(theirs, BYTES);
    using queue = b.cl.createQueue();
    for (let i = 0; i < 5; i++) {
      b.kernels.fill.run({ items: [4096] }, [one, i]);
      b.kernels.slow.run({ items: [4096] }, [one, 1, LONG], { queue });
      b.kernels.add.run({ items: [4096] }, [two, 1]);
      using seen = b.graph.map(two, host, { access: "read" });
      assertBytes(seen.bytes(), filled(4096, i).map((byte) => byte + 2));
    }
  }
  release(theirs);
});

testEach("a sub-buffer is a part of its root, attached or not", (platform) => {
  using b = bench(platform);
  const theirs = bufferOf(b.cl);
  const begin = b.cl.subBufferAlign;
  const part = partOf(theirs, begin, 256);
  const before = [references(theirs), references(part)];
  {
    using inner = b.cl.attach(part, { shape: [256], dtype: "u8" });
    using outer = b.cl.attach(theirs, BYTES);
    assertStrictEquals(inner.grant.allocation, outer.grant.allocation);
    assertEquals([inner.origin, inner.rootOffset, inner.grant.start], [begin, begin, begin]);
    thrown(LayoutError, () => b.cl.attach(part, { shape: [257], dtype: "u8" }));
    b.kernels.fill.run({ items: [4096] }, [outer, 0]);
    b.kernels.add.run({ items: [256] }, [inner, 5]);
    const expected = filled(4096, 0).map((byte, i) => i >= begin && i < begin + 256 ? byte + 5 : byte);
    {
      using seen = b.graph.map(outer, host);
      assertBytes(seen.bytes(), expected);
      thrown(AccessError, () => inner.handle);
    }
    {
      using seen = b.graph.map(inner, host);
      assertBytes(seen.bytes(), expected.subarray(begin, begin + 256));
      thrown(AccessError, () => outer.handle);
    }
    using slice = inner.slice(region(inner.layout, [0], [16]));
    b.kernels.add.run({ items: [16] }, [slice, 1]);
    outer[Symbol.dispose]();
    slice[Symbol.dispose]();
    const bytes = new Uint8Array(256);
    b.cl.queue.read(inner, bytes);
    assertBytes(bytes, expected.subarray(begin, begin + 256).map((byte, i) => byte + (i < 16 ? 1 : 0)));
  }
  assertReferences(platform, [theirs, part], before);
  release(part, theirs);
});

testEach("samepage's own buffer, attached to by its handle, is a peer", (platform) => {
  using b = bench(platform);
  using own = b.cl.allocate(BYTES);
  using peer = b.cl.attach(own.handle, BYTES);
  assertStrictEquals(peer.grant.allocation, own.grant.allocation);
  b.kernels.fill.run({ items: [4096] }, [own, 9]);
  {
    using mapped = b.graph.map(peer, host);
    assertBytes(mapped.bytes(), filled(4096, 9));
    thrown(AccessError, () => own.handle);
  }
  own[Symbol.dispose]();
  const bytes = new Uint8Array(4096);
  b.cl.queue.read(peer, bytes);
  assertBytes(bytes, filled(4096, 9));
});

testEach("the buffer of a slice that samepage made is the slice's: its bytes are lent", (platform) => {
  using b = bench(platform);
  using own = b.cl.allocate(BYTES);
  using slice = own.slice({ ...region(own.layout, [b.cl.subBufferAlign], [256]) });
  using peer = b.cl.attach(slice.handle, { shape: [256], dtype: "u8" });
  thrown(AccessError, () => b.kernels.add.run({ items: [256] }, [peer, 1]));
  slice[Symbol.dispose]();
  b.kernels.add.run({ items: [256] }, [peer, 1]);
});

testEach("two attachments of one cl_context share what they know", (platform) => {
  using cl = open(platform);
  using other = OpenCLContext.attach(cl.handle);
  const theirs = bufferOf(cl);
  {
    using one = cl.attach(theirs, BYTES);
    using two = other.attach(theirs, BYTES);
    assertStrictEquals(one.grant.allocation, two.grant.allocation);
    kernelsOf(cl).fill.run({ items: [4096] }, [one, 1]);
    kernelsOf(other).add.run({ items: [4096] }, [two, 1]);
    const bytes = new Uint8Array(4096);
    cl.queue.read(one, bytes);
    assertBytes(bytes, filled(4096, 2));
  }
  release(theirs);
});

testEach("a buffer over host memory is a peer of that memory's tensor", (platform) => {
  using b = bench(platform);
  using source = host.allocate(BYTES);
  const theirs = bufferOf(b.cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, source.handle);
  {
    using tensor = b.cl.attach(theirs, BYTES);
    assertStrictEquals(tensor.grant.allocation, source.grant.allocation);
    const before = random(4096);
    const view = source.view();
    view.set(before);
    b.kernels.add.run({ items: [4096] }, [tensor, 1]);
    assertEquals(view.length, 0, "a kernel writes: the host's view is revoked");
    {
      using seen = b.graph.map(tensor, host, { access: "read" });
      assertEquals(seen.route.steps[0].transfer, MIGRATING.includes(platform) ? "migrate" : "alias");
      assertBytes(seen.bytes(), before.map((byte) => byte + 1));
      thrown(AccessError, () => b.graph.map(source, b.cl));
    }
    {
      // A map of the tensor has the same buffer: two over the same bytes are undefined.
      using mapped = b.graph.map(source, b.cl);
      assertStrictEquals(mapped.handle as bigint, theirs);
      thrown(AccessError, () => tensor.handle);
      b.kernels.add.run({ items: [4096] }, [mapped, 1]);
    }
    assertBytes(source.view(), before.map((byte) => byte + 2));
    source[Symbol.dispose](); // the memory is its peers'
    b.kernels.add.run({ items: [4096] }, [tensor, 1]);
    const bytes = new Uint8Array(4096);
    b.cl.queue.read(tensor, bytes);
    assertBytes(bytes, before.map((byte) => byte + 3));
    release(theirs);
  }
});

testEach("a map's buffer, attached to by its handle, is a peer of its source", (platform) => {
  using b = bench(platform);
  using source = host.allocate(BYTES);
  const mapped = b.graph.map(source, b.cl);
  using peer = b.cl.attach(mapped.handle, BYTES);
  thrown(AccessError, () => peer.handle);
  b.kernels.fill.run({ items: [4096] }, [mapped, 4]);
  mapped[Symbol.dispose]();
  b.kernels.add.run({ items: [4096] }, [peer, 1]);
  {
    using seen = b.graph.map(peer, host, { access: "read" });
    assertBytes(seen.bytes(), filled(4096, 5));
  }
  using again = b.graph.map(source, b.cl);
  assertStrictEquals(again.handle, peer.rawHandle);
});

testEach("a buffer over memory that samepage does not know is found by its pointer", (platform) => {
  using b = bench(platform);
  const memory = new Uint8Array(8192);
  const address = addressOf(memory);
  const theirs = bufferOf(b.cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, address);
  {
    using tensor = b.cl.attach(theirs, BYTES);
    using wrapped = host.wrap(Deno.UnsafePointer.create(address)!, BYTES);
    assertStrictEquals(wrapped.grant.allocation, tensor.grant.allocation);
    using mapped = b.graph.map(wrapped, b.cl);
    assertStrictEquals(mapped.handle as bigint, theirs);
    thrown(AccessError, () => tensor.handle);
    thrown(ArgumentError, () => host.wrap(Deno.UnsafePointer.create(address)!, { shape: [8192], dtype: "u8" }));
  }
  release(theirs);
  assertEquals(memory.length, 8192);
});

testEach("two buffers over the same host memory: the second is refused", (platform) => {
  using b = bench(platform);
  using source = host.allocate(BYTES);
  using mapped = b.graph.map(source, b.cl, { access: "read" });
  const theirs = bufferOf(b.cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, source.rawHandle);
  const error = thrown(ArgumentError, () => b.cl.attach(theirs, BYTES));
  assert(error.message.includes("undefined in OpenCL"), error.message);
  release(theirs);
  mapped.assertUsable("read");
});

testEach("flags: what kernels may not do is refused, with the flag's name", (platform) => {
  using b = bench(platform);
  const [readOnly, writeOnly] = [CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY].map((flags) => bufferOf(b.cl, flags));
  {
    using from = b.cl.attach(readOnly, BYTES);
    using to = b.cl.attach(writeOnly, BYTES);
    assertEquals([from.limits?.kernel, to.limits?.kernel], ["read", "write"]);
    const bytes = random(4096);
    b.cl.queue.write(from, bytes); // the host may
    b.kernels.xorFrom.run({ items: [4096] }, [to, from, 1]);
    const result = new Uint8Array(4096);
    b.cl.queue.read(to, result);
    assertBytes(result, bytes.map((byte) => byte ^ 1));
    using slice = from.slice(from.layout);
    for (const tensor of [slice]) {
      const error = thrown(AccessError, () => b.kernels.fill.run({ items: [4096] }, [tensor, 1]));
      assert(error.message.includes("CL_MEM_READ_ONLY"), error.message);
    }
    slice[Symbol.dispose]();
    const error = thrown(AccessError, () => b.kernels.xorFrom.run({ items: [4096] }, [to, to, 1]));
    assert(error.message.includes("CL_MEM_WRITE_ONLY"), error.message);
  }
  release(readOnly, writeOnly);
});

testEach("flags: what the host may not do is refused before the native call, with the reason", (platform) => {
  using b = bench(platform);
  const cases = [
    [CL_MEM_HOST_NO_ACCESS, "CL_MEM_HOST_NO_ACCESS", []],
    [CL_MEM_HOST_READ_ONLY, "CL_MEM_HOST_READ_ONLY", ["read"]],
    [CL_MEM_HOST_WRITE_ONLY, "CL_MEM_HOST_WRITE_ONLY", ["write"]],
  ] as const;
  for (const [flags, name, allowed] of cases) {
    const theirs = bufferOf(b.cl, flags);
    {
      using tensor = b.cl.attach(theirs, BYTES);
      b.kernels.fill.run({ items: [4096] }, [tensor, 6]); // the device may
      for (const access of ["read", "write", "read-write"] as const) {
        if ((allowed as readonly string[]).includes(access)) {
          using mapped = b.graph.map(tensor, host, { access });
          assertEquals(mapped.access, access);
          continue;
        }
        const error = thrown(NoRouteError, () => b.graph.map(tensor, host, { access }));
        assertEquals(error.refused.map(({ edge }) => edge), ["opencl→host"]);
        assert(error.refused[0].reason.includes(name), error.refused[0].reason);
        assert(b.graph.explain(tensor, host, { access }).open === false);
      }
      for (const access of ["read", "write"] as const) {
        const bytes = new Uint8Array(4096);
        if ((allowed as readonly string[]).includes(access)) b.cl.queue[access](tensor, bytes);
        else assert(thrown(AccessError, () => b.cl.queue[access](tensor, bytes)).message.includes(name));
      }
    }
    release(theirs);
  }
});

testEach("flags: a limited buffer over host memory is not shared by maps", (platform) => {
  using b = bench(platform);
  using source = host.allocate(BYTES);
  const flags = CL_MEM_USE_HOST_PTR | CL_MEM_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
  const theirs = bufferOf(b.cl, flags, source.handle);
  {
    using _attached = b.cl.attach(theirs, BYTES);
    const error = thrown(NoRouteError, () => b.graph.map(source, b.cl));
    assert(error.refused[0].reason.includes("CL_MEM_READ_ONLY, CL_MEM_HOST_NO_ACCESS"), error.message);
  }
  using _mapped = b.graph.map(source, b.cl);
  release(theirs);
});

testEach("it ends with its context, and nothing is left", (platform) => {
  const before = ledger.alive;
  const cl = open(platform);
  const theirs = bufferOf(cl);
  const part = partOf(theirs, 0, 64);
  const all = [theirs, part, theirs].map((mem) => cl.attach(mem, { shape: [64], dtype: "u8" }));
  release(part, theirs);
  cl[Symbol.dispose]();
  for (const tensor of all) thrown(DisposedError, () => tensor.handle);
  thrown(DisposedError, () => cl.attach(1n, BYTES));
  assertEquals(ledger.alive, before);
});

testEach("a layout whose getters end the context: nothing is attached", (platform) => {
  const cl = open(platform);
  const init = {
    dtype: "u8" as const,
    get shape() {
      cl[Symbol.dispose]();
      return [1];
    },
  };
  thrown(DisposedError, () => cl.attach(1n, init));
  const again = open(platform);
  thrown(DisposedError, () =>
    again.allocate({
      dtype: "u8",
      get shape() {
        again[Symbol.dispose]();
        return [1];
      },
    }));
});

testEach("a forgotten one is released, with a warning", async (platform) => {
  using cl = open(platform);
  const theirs = bufferOf(cl);
  const before = ledger.alive;
  const warnings = await warningsOf(async () => {
    (() => void cl.attach(theirs, BYTES))();
    await collect();
  });
  assertEquals(warnings.length, 1, warnings.join());
  assertEquals(ledger.alive, before);
  assertHeld(() => references(theirs), 1);
  release(theirs);
});

testEach("ten thousand times attached and disposed, nothing grows", (platform) => {
  using cl = open(platform);
  const theirs = bufferOf(cl);
  const before = ledger.alive;
  for (let i = 0; i < 10_000; i++) cl.attach(theirs, BYTES)[Symbol.dispose]();
  const many = Array.from({ length: 1000 }, () => cl.attach(theirs, BYTES));
  for (const tensor of many.reverse()) tensor[Symbol.dispose]();
  assertEquals(ledger.alive, before);
  assertHeld(() => references(theirs), 1);
  release(theirs);
});
