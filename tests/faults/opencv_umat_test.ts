/** Every native call around a UMat fails once: what comes of it is typed, nothing stays behind, the bytes are as they were. */
import { assert, assertEquals } from "@std/assert";
import { USAGE_DEFAULT } from "../../ffi/opencv_core/constants.ts";
import { host, MapperGraph } from "../../mod.ts";
import { OpenCLContext, type OpenCLQueue } from "../../src/opencl/mod.ts";
import { core } from "../../src/opencv/library.ts";
import { OpenCVContext, OpenCVError } from "../../src/opencv/mod.ts";
import { operate } from "../../src/opencv/operate.ts";
import { giveSlot, takeSlot } from "../../src/opencv/slots.ts";
import { assertSame, random } from "../conformance/bytes.ts";
import { rawInvert } from "../conformance/opencv_calls.ts";
import { warningsOf } from "../warnings.ts";
import { close, lackingOfOpenCL, test } from "./opencl.ts";
import {
  assertOwners,
  endReallocated,
  makeAndEndUMat,
  missing,
  settledOwners,
  some,
  sweepFor,
  testMat,
  threadState,
  unchanged,
} from "./opencv.ts";
import { sweep } from "./sweep.ts";

/** A test of OpenCV on every OpenCL device; both contexts end after it. */
function testUMat(name: string, run: (cl: OpenCLContext, cv: OpenCVContext) => Promise<unknown>): void {
  if (missing !== undefined) return testMat(name, () => Promise.resolve());
  test(`${name},`, (open) =>
    unchanged(async () => {
      const [cl, cv] = [open(), OpenCVContext.open()];
      await run(cl, cv);
      close(cv, cl);
    }));
}

testUMat("the first map of a buffer to a UMat, which tells OpenCV of its context", async (cl) => {
  const buffer = cl.allocate({ shape: [8, 9], dtype: "u8" });
  {
    using first = OpenCVContext.open(); // the driver makes what it keeps
    using graph = new MapperGraph([cl, first]);
    using _ = graph.map(buffer, first.umat);
  }
  const [before, state] = [await settledOwners(cl, buffer.handle), threadState()];
  const faults = await sweep(() => {
    using cv = OpenCVContext.open();
    using graph = new MapperGraph([cl, cv]);
    using _ = graph.map(buffer, cv.umat);
  }, async () => {
    await assertOwners(cl, buffer.handle, before);
    assertEquals(threadState(), state, "OpenCV's OpenCL state of this thread");
  }, ["opencv_core.Context_getDefault"]); // then OpenCV has none by itself
  for (const call of ["ocl_attachContext", "Queue_getDefault"]) some(faults, `opencv_core.${call}`);
  for (const call of ["clRetainContext", "clRetainDevice", "clRetainCommandQueue"]) some(faults, `opencl.${call}`);
});

testUMat("maps of a buffer to a UMat and back, and a part of it", async (cl, cv) => {
  using graph = new MapperGraph([host, cl, cv]);
  const buffer = cl.allocate({ shape: [3, 4, 5, 7], dtype: "u8" });
  const bytes = random(buffer.layout.byteLength);
  cl.queue.write(buffer, bytes);
  graph.map(buffer, cv.umat)[Symbol.dispose]();
  const before = await settledOwners(cl, buffer.handle);
  const faults = await sweep(() => {
    using umat = graph.map(buffer, cv.umat);
    using _part = umat.borrow("read");
    using _back = graph.map(umat, cl, { access: "read" });
  }, async () => {
    await assertOwners(cl, buffer.handle, before);
    const now = new Uint8Array(bytes.length);
    cl.queue.read(buffer, now);
    assertSame(now, bytes, "the buffer's bytes");
  });
  for (const call of ["fastMalloc", "UMat_copy"]) some(faults, `opencv_core.${call}`);
  buffer[Symbol.dispose]();
});

testUMat("host memory as a UMat, with work of both queues on it", async (cl, cv) => {
  using graph = new MapperGraph([host, cl, cv]);
  using source = host.allocate({ shape: [64, 64], dtype: "u8" });
  using to = host.allocate({ shape: [64, 64], dtype: "u8" });
  const bytes = random(4096);
  source.view().set(bytes);
  const state = threadState();
  let isDone = false;
  const operation = () => {
    isDone = false; // nothing is checked after a run without a failure
    using a = graph.map(source, cv.umat, { access: "read" });
    using b = graph.map(to, cv.umat);
    {
      using buffer = graph.map(b, cl);
      cl.queue.fill(buffer, 7);
    }
    cv.bitwise_not(a, b);
    isDone = true;
  };
  operation();
  const inverse = bytes.map((byte) => ~byte);
  await warningsOf(async () => {
    const calls = ["opencv_core.bitwise_not", "opencl.clEnqueueMarkerWithWaitList"];
    await sweepFor(calls, operation, () => {
      assertSame(source.bytes({ access: "read" }), bytes, "the source's bytes");
      if (isDone) assertSame(to.bytes({ access: "read" }), inverse, "the result");
      assertEquals(threadState(), state, "OpenCV's OpenCL state of this thread");
      cl.queue.finish();
    });
  });
});

testUMat("an output that OpenCV gives a buffer of its own", async (cl, cv) => {
  using graph = new MapperGraph([host, cl, cv]);
  const [large, small] = [8, 2].map((rows) => cl.allocate({ shape: [rows, 9], dtype: "u8" }));
  const operation = () => {
    using source = graph.map(large, cv.umat, { access: "read" });
    const mapped = graph.map(small, cv.umat);
    try {
      cv.bitwise_not(source, mapped, { reallocate: true });
    } finally {
      endReallocated(mapped);
    }
  };
  operation(); // OpenCV keeps its kernels
  const execution = cv.executionIn(cl.rawHandle)!;
  (execution.queue as OpenCLQueue).finish();
  makeAndEndUMat(execution);
  const before = await settledOwners(cl, small.handle);
  await sweepFor(["opencv_core.bitwise_not", "opencv_core.UMat_handle"], operation, async () => {
    cl.queue.finish();
    (execution.queue as OpenCLQueue).finish(); // what could not be asked about is asked again
    await assertOwners(cl, small.handle, before, () => makeAndEndUMat(execution));
  });
  for (const buffer of [large, small]) buffer[Symbol.dispose]();
});

testUMat("an exception of OpenCV's own in the middle of a chain", async (cl, cv) => {
  using graph = new MapperGraph([host, cl, cv]);
  using source = host.allocate({ shape: [64, 64], dtype: "u8" });
  using to = host.allocate({ shape: [64, 64], dtype: "f32" });
  const bytes = random(4096);
  source.view().set(bytes);
  const state = threadState();
  {
    using a = graph.map(source, cv.umat);
    using b = graph.map(to, cv.umat);
    cv.bitwise_not(a, a);
    let thrown: unknown;
    try {
      // Past the check that b has the type of the result.
      operate(cv, {
        ...{ fn: "bitwise_not", inputs: { a }, dst: b },
        ...{ makes: () => b.matShape, reallocate: false, call: () => rawInvert(a, b) },
      });
    } catch (error) {
      thrown = error;
    }
    assert(thrown instanceof OpenCVError && /^Sts(Assert|Error)$/.test(thrown.codeName!), String(thrown)); // 4.6, 4.10
    assertEquals(threadState(), state, "OpenCV's OpenCL state of this thread");
    cv.bitwise_not(a, a);
    cv.bitwise_not(a, a);
  }
  assertSame(source.bytes({ access: "read" }), bytes.map((byte) => ~byte), "what the calls around it have made");
  assert(to.bytes({ access: "read" }).every((byte) => byte === 0), "the output of the call that threw was written");
  await Promise.resolve();
});

// OpenCV uses no CPU by itself unless it is told to; it asks once.
if (Deno.env.get("OPENCV_OPENCL_DEVICE") === undefined) Deno.env.set("OPENCV_OPENCL_DEVICE", ":CPU:");

/** What OpenCV uses by itself; it chooses that when it is asked for the first time. */
function ownContext(): bigint | undefined {
  using cv = OpenCVContext.open();
  const { openCLContext } = cv;
  core().ocl_useOpenCL();
  return openCLContext;
}

testMat(
  "attaching to another library's UMat, and mapping it to OpenCL",
  async () => {
    const handle = ownContext()!;
    using cv = OpenCVContext.open();
    using cl = OpenCLContext.attach(handle);
    using graph = new MapperGraph([cl, cv]);
    const slot = takeSlot();
    core().UMat_construct(slot.header, USAGE_DEFAULT);
    core().UMat_create(slot.header, 2, Int32Array.of(8, 9), 0, USAGE_DEFAULT);
    const operation = () => {
      using umat = cv.umat.attach(slot.header);
      using _ = graph.map(umat, cl);
    };
    operation();
    const faults = await sweep(operation);
    for (const call of ["opencv_core.UMat_copy", "opencv_core.UMat_handle"]) some(faults, call);
    core().UMat_destruct(slot.header);
    giveSlot(slot);
  },
  ownContext,
  lackingOfOpenCL(),
);
