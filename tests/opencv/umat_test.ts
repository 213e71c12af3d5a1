// UMats over OpenCL buffers, and over host memory through them.

import { assert, assertEquals, assertInstanceOf, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, host, ledger, MapperGraph, NoRouteError, region } from "@samepage/interop";
import { OpenCVContext, OpenCVUMat, ReallocatedError } from "@samepage/interop/opencv";
import { UMat } from "../../ffi/opencv_core/structs.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { opencl } from "../../src/opencl/library.ts";
import { umatIn } from "../../src/opencv/header.ts";
import { core } from "../../src/opencv/library.ts";
import { viewAt } from "../../src/opencv/memory.ts";
import { noArray, viewOf } from "../../src/opencv/slots.ts";
import { warningsOf } from "../warnings.ts";
import { assertBytes, assertHeld, gate } from "../opencl/help.ts";
import { bufferOwners, dataAt, openPoCL, pattern, testUMat } from "./help.ts";

/** Inverts a UMat, as an operation would: submitted, and recorded. */
function invert(umat: OpenCVUMat): void {
  const execution = umat.buffer.execution!;
  execution.run(() => core().bitwise_not(umat.slot.input, umat.slot.output, noArray()));
  umat.usedBy(execution.queue.line.waitFor([]));
}

testUMat("umat: the graph finds the route from host memory, and OpenCV's writes land there", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  for (const padding of [0, 1, 64, 4096]) {
    const row = 50 * 3;
    using tensor = host.allocate({ shape: [40, 50, 3], strides: [row + padding, 3, 1], dtype: "u8" });
    const before = pattern(tensor.layout.byteLength, padding + 1);
    tensor.view().set(before);
    {
      using umat = graph.map(tensor, cv.umat);
      assertEquals(umat.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
        ["host→opencl", "alias"],
        ["opencl→opencv.umat", "alias"],
      ]);
      assertEquals(umatIn(viewOf(umat.slot)).shape.steps, [row + padding, 3]);
      invert(umat);
    }
    const after = tensor.view();
    for (let i = 0; i < after.length; i++) {
      const isPixel = i % (row + padding) < row;
      assertEquals(after[i], isPixel ? 255 - before[i] : before[i], `byte ${i}, padded by ${padding}`);
    }
  }
});

testUMat("umat: the cl_mem is the buffer's own; it has no other holder before or after", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using buffer = cl.allocate({ shape: [16, 16], dtype: "u8" });
  const owners = bufferOwners(buffer.handle);
  {
    using umat = graph.map(buffer, cv.umat);
    const header = umatIn(viewOf(umat.slot));
    assertEquals<bigint>(dataAt(header.u).handle, buffer.rawHandle);
    assertEquals<bigint>(core().UMat_handle(umat.slot.header, 1 << 24), buffer.rawHandle);
    invert(umat);
    cl.queue.finish();
  }
  assertHeld(() => bufferOwners(buffer.handle), owners);
});

testUMat("umat: offset and step are right for a region at odd offsets, in host memory and in a buffer", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using image = host.allocate({ shape: [20, 31, 3], dtype: "u8" });
  const part = region(image.layout, [3, 5, 0], [7, 11, 3]);
  const inPart = (i: number) => {
    const [y, x] = [Math.floor(i / 93), Math.floor((i % 93) / 3)];
    return y >= 3 && y < 10 && x >= 5 && x < 16;
  };
  const ways: (() => void)[] = [
    () => {
      using slice = image.slice(part);
      using umat = graph.map(slice, cv.umat);
      invert(umat);
    },
    () => {
      using buffer = graph.map(image, cl);
      using slice = buffer.slice(region(buffer.layout, [3, 5, 0], [7, 11, 3]));
      using umat = graph.map(slice, cv.umat);
      invert(umat);
    },
    () => {
      using umat = graph.map(image, cv.umat);
      using slice = umat.slice(region(umat.layout, [3, 5, 0], [7, 11, 3]));
      assertEquals(Number(umatIn(viewOf(slice.slot)).offset), 3 * 93 + 15);
      invert(slice);
    },
  ];
  for (const way of ways) {
    image.view().fill(0);
    way();
    image.view().forEach((byte, i) => assertEquals(byte, inPart(i) ? 255 : 0, `byte ${i}`));
  }
});

testUMat("umat: a region of a photograph may begin at any address: OpenCV's buffer begins lower", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using program = cl.program(ADD_AT);
  using addAt = program.kernel("add_at");
  using photo = host.allocate({ shape: [480, 640], dtype: "u8" });
  const part = region(photo.layout, [10, 10], [64, 64]);
  const isInside = (i: number) => {
    const [y, x] = [Math.floor(i / 640), i % 640];
    return y >= 10 && y < 74 && x >= 10 && x < 74;
  };
  const ways: (() => void)[] = [
    () => {
      using slice = photo.slice(part);
      using umat = graph.map(slice, cv.umat);
      assertEquals(umat.route.steps.map(({ transfer }) => transfer), ["alias", "alias"]);
      assertEquals(umat.buffer.offset, Number(slice.address % BigInt(cl.subBufferAlign)));
      assertEquals(umat.grant.start, part.byteOffset);
      cv.threshold(umat, umat, 100, 200, "binary");
      { // a kernel of ours has the tensor's own buffer, which begins with it
        using buffer = graph.map(umat, cl);
        assertEquals(buffer.layout.byteOffset, 0);
        addAt.run({ items: [64, 64] }, [buffer, 0n]);
      }
      cv.bitwise_not(umat, umat);
    },
    () => {
      using slice = photo.slice(part);
      using buffer = graph.map(slice, cl);
      addAt.run({ items: [64, 64] }, [buffer, 0n]);
      using umat = graph.map(buffer, cv.umat);
      cv.threshold(umat, umat, 100, 200, "binary");
      cv.bitwise_not(umat, umat);
    },
    () => { // a peer of the buffer: both maps have the same cl_mem, and the smaller one begins within
      using slice = photo.slice(part);
      using buffer = graph.map(slice, cl);
      using rows = buffer.slice(region(buffer.layout, [1, 0], [63, 64]));
      using first = buffer.slice(region(buffer.layout, [0, 0], [1, 64]));
      for (const each of [rows, first]) {
        using umat = graph.map(each, cv.umat);
        cv.threshold(umat, umat, 99, 201, "binary");
        cv.bitwise_not(umat, umat);
      }
    },
  ];
  const before = pattern(480 * 640);
  // [threshold, bytes added before it, bytes added behind it, what is above]
  for (const [i, [thresh, first, later, above]] of [[100, 0, 1, 200], [100, 1, 0, 200], [99, 0, 0, 201]].entries()) {
    photo.view().set(before);
    ways[i]();
    const expected = before.map((byte, at) => {
      const to = (((byte + first) & 255) > thresh ? above : 0) + later;
      return isInside(at) ? 255 - to : byte;
    });
    assertBytes(photo.view(), expected, `way ${i}`);
  }
});

testUMat("graph.map() to a UMat finds the bytes of a buffer's part that the host has mapped", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using buffer = cl.allocate({ shape: [64, 64], dtype: "u8" });
  cl.queue.fill(buffer, 0);
  {
    using part = buffer.slice(region(buffer.layout, [20, 0], [16, 64]));
    using onHost = graph.map(part, host);
    using umat = graph.map(onHost, cv.umat);
    cv.bitwise_not(umat, umat);
  }
  const seen = new Uint8Array(64 * 64);
  cl.queue.read(buffer, seen);
  seen.forEach((byte, i) => assertEquals(byte, i >= 20 * 64 && i < 36 * 64 ? 255 : 0, `byte ${i}`));
});

testUMat("graph.map() from a UMat finds the cl_mem of the UMat's own cl_context", () => {
  using first = openPoCL();
  using second = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, first, second, cv]);
  using buffer = first.allocate({ shape: [64, 64], dtype: "u8" });
  first.queue.fill(buffer, 0);
  {
    using there = graph.map(buffer, second);
    using umat = graph.map(there, cv.umat);
    cv.bitwise_not(umat, umat);
    using back = graph.map(umat, second);
    assertEquals(back.handle, there.rawHandle);
    second.queue.fill(back, 7);
    using onHost = graph.map(back, host);
    assertEquals(onHost.view().every((byte) => byte === 7), true);
  }
  const seen = new Uint8Array(64 * 64);
  first.queue.read(buffer, seen);
  assertEquals(seen.every((byte) => byte === 7), true);
});

/** Adds one to each pixel of rows that lie 640 bytes apart. */
const ADD_AT = `
kernel void add_at(global uchar *a, ulong base) { a[base + get_global_id(1) * 640 + get_global_id(0)] += 1; }`;

testUMat("umat: memory that begins at an odd address itself is refused, with what to do", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  const bytes = new Uint8Array(8192);
  const begin = addressOf(bytes, "opencl");
  using odd = host.wrap(begin + 5n - begin % 16n + 16n, { shape: [32, 64], dtype: "u8" });
  const { refused } = assertThrows(() => graph.map(odd, cv.umat), NoRouteError);
  const reason = refused.find(({ edge }) => edge === "opencl→opencv.umat");
  assertStringIncludes(reason!.reason, "cannot begin lower");
  assertStringIncludes(reason!.remedy!, "slice the UMat");
  using mat = graph.map(odd, cv.mat);
  cv.bitwise_not(mat, mat);
  assert(bytes.includes(255));
});

testUMat("umat: it goes back to OpenCL, and on to the host and to a Mat, in the order of all queues", async () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using program = cl.program("kernel void add(global uchar *a) { a[get_global_id(0)] += 1; }");
  using add = program.kernel("add");
  using tensor = host.allocate({ shape: [256, 256], dtype: "u8" });
  {
    await using umat = graph.map(tensor, cv.umat);
    for (let i = 0; i < 10; i++) {
      invert(umat);
      using buffer = graph.map(umat, cl);
      add.run({ items: [256 * 256] }, [buffer]);
    }
    invert(umat);
    using mat = graph.map(umat, cv.mat, { access: "read" });
    assertEquals(mat.route.steps.map(({ edge }) => edge), [
      "opencv.umat→opencl",
      "opencl→host",
      "host→opencv.mat",
    ]);
    assertThrows(() => umat.usable("write"), AccessError);
  }
  let expected = 0;
  for (let i = 0; i < 10; i++) expected = (255 - expected + 1) & 255;
  expected = 255 - expected;
  assert(tensor.view().every((byte) => byte === expected));
});

testUMat("umat: an operation waits for work that was submitted before", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using program = cl.program(`
    kernel void slow(global uchar *a) {
      uint x = 1;
      for (int i = 0; i < 200000; i++) x = x * 1664525 + 1013904223;
      a[get_global_id(0)] = x == 0 ? 0 : 3;
    }`);
  using slow = program.kernel("slow");
  using tensor = host.allocate({ shape: [64, 64], dtype: "u8" });
  {
    using buffer = graph.map(tensor, cl);
    slow.run({ items: [64 * 64] }, [buffer]);
    using umat = graph.map(buffer, cv.umat);
    cv.GaussianBlur(umat, umat, [3, 3]);
  }
  assert(tensor.view().every((byte) => byte === 3));
});

testUMat(
  "umat: an operation waits for the newest work, however it was found: a slice's, a peer's, a fence of the map's",
  () => {
    using cl = openPoCL();
    using cv = OpenCVContext.open();
    using graph = new MapperGraph([host, cl, cv]);
    using program = cl.program(`kernel void slow(global uchar *x, uint turns) {
    uint a = x[0];
    for (uint i = 0; i < turns; i++) { a ^= a << 13; a ^= a >> 17; a ^= a << 5; a += x[1]; }
    x[0] = (a == 42u) ? 9 : x[0] + 1;
  }`);
    using slow = program.kernel("slow");
    const [short, long] = [10_000_000, 60_000_000];
    const init = { shape: [64, 64], dtype: "u8" } as const;
    const seen = new Uint8Array(4096);
    {
      using built = cl.allocate(init); // builds the kernels, which takes longer than they do
      slow.run({ items: [1] }, [built, 1]);
      using umat = graph.map(built, cv.umat);
      cv.bitwise_not(umat, umat);
    }
    for (const way of ["slice", "peer", "after"] as const) {
      using tensor = cl.allocate(init);
      using other = way === "peer" ? cl.attach(tensor.handle, init) : cl.allocate(init);
      cl.queue.fill(tensor, 1);
      cl.queue.finish();
      slow.run({ items: [1] }, [way === "slice" ? tensor : other, short]);
      const after = cl.queue.fence();
      using part = way === "slice" ? tensor.slice(tensor.layout) : undefined;
      const source = part ?? tensor;
      slow.run({ items: [1] }, [source, long]);
      {
        using umat = graph.map(source, cv.umat, way === "after" ? { after } : {});
        cv.bitwise_not(umat, umat);
      }
      cl.queue.read(source, seen);
      assertEquals(seen[0], 255 - (way === "after" ? 2 : 3), way);
    }
  },
);

testUMat("umat: an operation behind a promise that is not settled is refused: OpenCV may block", async () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using buffer = cl.allocate({ shape: [64, 64], dtype: "u8" });
  cl.queue.fill(buffer, 9);
  await using umat = graph.map(buffer, cv.umat);
  using opening = gate();
  using queue = cl.createQueue();
  umat.usedBy(queue.waitFor(opening.fence));
  assertThrows(() => cv.GaussianBlur(umat, umat, [3, 3]), AccessError, "a promise that is not settled");
  await opening.complete();
  cv.GaussianBlur(umat, umat, [3, 3]);
});

testUMat("umat: a buffer of another context is refused, and both are named", () => {
  using cl = openPoCL();
  using other = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, other, cv]);
  using a = cl.allocate({ shape: [8, 8], dtype: "u8" });
  using b = other.allocate({ shape: [8, 8], dtype: "u8" });
  using mine = graph.map(a, cv.umat);
  using theirs = graph.map(b, cv.umat);
  const error = assertThrows(() => cv.GaussianBlur(mine, theirs, [3, 3]), ArgumentError);
  for (const context of [cl, other]) assertStringIncludes(error.message, context.handle.toString(16));
  const refused = assertThrows(() => new MapperGraph([other, cv]).map(mine, other), NoRouteError);
  for (const context of [cl, other]) assertStringIncludes(refused.message, context.handle.toString(16));
  using back = graph.map(theirs, other);
  assertEquals(back.target, other);
});

testUMat("umat: what OpenCV has as its thread's state is as it was, after a call and after an exception", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  const state = new BigUint64Array(viewAt(core().OpenCLExecutionContext_getCurrentRef(), 24).buffer, 0, 3);
  const before = state.slice();
  using a = cl.allocate({ shape: [8, 8], dtype: "u8" });
  using b = cl.allocate({ shape: [9, 8], dtype: "u8" });
  using mapped = graph.map(a, cv.umat);
  using other = graph.map(b, cv.umat);
  cv.GaussianBlur(mapped, mapped, [3, 3]);
  assertEquals(state.slice(), before);
  const fail = () =>
    mapped.buffer.execution!.run(() => core().bitwise_not(mapped.slot.input, other.slot.output, noArray()));
  assertMatch(assertThrows(fail, Error).message, /fixedSize|locked size/); // 4.6, 4.10
  assertEquals(state.slice(), before);
});

testUMat("umat: an output that OpenCV reallocates is noticed, and handed over with its context", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using large = host.allocate({ shape: [40, 50, 3], dtype: "u8" });
  large.view().set(pattern(6000));
  using small = host.allocate({ shape: [10, 10], dtype: "u8" });
  using source = graph.map(large, cv.umat, { access: "read" });
  const output = graph.map(small, cv.umat);
  cv.GaussianBlur(source, output, [3, 3], { reallocate: true });
  const error = assertThrows(() => output[Symbol.dispose](), ReallocatedError);
  using result = error.result as OpenCVUMat;
  assertInstanceOf(result, OpenCVUMat);
  assertEquals([result.type, result.layout.shape], ["CV_8UC3", [40, 50, 3]]);
  assertEquals(small.view().every((byte) => byte === 0), true);
  using expected = cv.mat.create({ shape: [40, 50, 3], dtype: "u8" });
  {
    using mat = graph.map(large, cv.mat, { access: "read" });
    cv.GaussianBlur(mat, expected, [3, 3]);
  }
  using seen = graph.map(result, host);
  using wanted = graph.map(expected, host);
  const wantedBytes = wanted.bytes();
  seen.bytes().forEach((byte, i) => assert(Math.abs(byte - wantedBytes[i]) <= 1, `byte ${i}`));
});

testUMat("umat: a buffer whose flags close it to the host is refused: what OpenCV wrote could not be published", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  const code = new Int32Array(1);
  for (const [flag, name] of [[1n << 9n, "CL_MEM_HOST_NO_ACCESS"], [1n << 8n, "CL_MEM_HOST_READ_ONLY"]] as const) {
    const mem = opencl().clCreateBuffer(cl.handle, flag, 4096n, 0n as never, code);
    {
      using buffer = cl.attach(mem, { shape: [64, 64], dtype: "u8" });
      const error = assertThrows(() => graph.map(buffer, cv.umat), NoRouteError);
      assertStringIncludes(error.message, name);
    }
    opencl().clReleaseMemObject(mem);
  }
});

testUMat("umat: what somebody in OpenCV still has is never given back", async () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  const copy = new DataView(new ArrayBuffer(UMat.size));
  const at = addressOf(copy, "opencv");
  const buffer = cl.allocate({ shape: [8, 8], dtype: "u8" });
  const mem = buffer.handle;
  const owners = bufferOwners(mem);
  const umat = graph.map(buffer, cv.umat);
  core().UMat_copy(at, umat.slot.header);
  const [warning, ...others] = await warningsOf(() => umat[Symbol.dispose]());
  assertStringIncludes(warning, "OpenCV still uses");
  assertEquals([others, bufferOwners(mem)], [[], owners + 1]);
  buffer[Symbol.dispose]();
  core().UMat_destruct(at);
  // What was kept for good, the buffer's own share as well, is given back here, for the ledger.
  assertEquals(bufferOwners(mem), 2);
  for (let i = 0; i < 2; i++) {
    opencl().clReleaseMemObject(mem);
    ledger.remove("opencl.cl_mem");
  }
});
