/**
 * Models on buffers of a `cl_context`. No machine of the tests has Intel's GPU: the library is `gpu.c` over the real one,
 * whose GPU is the CPU, and PoCL's buffers are the host's memory.
 */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, host, InteropError, LayoutError, MapperGraph } from "@samepage/interop";
import { OpenVINOContext } from "@samepage/interop/openvino";
import { HERE, open as openCL } from "../opencl/help.ts";
import { asked, simulated } from "./gpu.ts";
import { test as openvinoTest } from "./help.ts";
import { unary } from "./models.ts";

const SIGMOID = unary("Sigmoid", "f32", [64]);

/** A test on PoCL's context. */
function test(name: string, use: (cl: ReturnType<typeof openCL>) => unknown): void {
  openvinoTest(name, async () => {
    using cl = openCL("pocl");
    await use(cl);
  }, HERE.includes("pocl") ? undefined : "PoCL");
}

test("run() reads and writes buffers of a cl_context in place, behind its kernels", async (cl) => {
  {
    using ov = OpenVINOContext.open({ library: simulated(), on: cl });
    using graph = new MapperGraph([host, cl, ov]);
    using session = ov.compileSync(SIGMOID);
    using program = cl.program("kernel void fill(global float *x, float by) { x[get_global_id(0)] = by; }");
    using fill = program.kernel("fill");
    using read = host.allocate({ shape: [64], dtype: "f32" });
    using written = host.allocate({ shape: [64], dtype: "f32" });
    for (const [by, expected] of [[2, 881], [-2, 119]]) {
      {
        using buffer = graph.map(read, cl);
        using result = graph.map(written, cl);
        fill.run({ items: [64] }, [buffer, by]);
        const mem = result.handle;
        using x = graph.map(buffer, ov, { access: "read" });
        using y = graph.map(result, ov, { access: "write" });
        assertEquals([x.route!.bytesMoved, y.route!.bytesMoved], [0, 0]);
        if (by > 0) session.run({ x }, { y });
        else await session.runAsync({ x }, { y });
        assertEquals(asked().cl_mem, mem);
        assertThrows(() => session.run({ x }), ArgumentError, "outputs.y: it is missing.");
      }
      assertEquals(Math.round(1000 * written.view()[63]), expected);
    }
    using compiled = await ov.compile(SIGMOID);
    assertEquals([compiled.inputs.length, ov.device, ov.bytesCopied], [1, "GPU", 0]);
    assertEquals([asked().cl_context, asked().contexts_alive], [cl.handle, 1]);
  }
  assertEquals(asked().contexts_alive, 0);
});

test("map() refuses buffers of another cl_context, and parts of a cl_mem", (cl) => {
  using other = openCL("pocl");
  using ov = OpenVINOContext.open({ library: simulated(), on: cl });
  using graph = new MapperGraph([host, cl, other, ov]);
  using pixels = other.allocate({ shape: [64], dtype: "f32" });
  assertStringIncludes(String(graph.explain(pixels, ov)), "it belongs to another context than");
  using buffer = cl.allocate({ shape: [64], dtype: "f32" });
  using part = buffer.slice({ shape: [2], dtype: "f32", byteOffset: 4 });
  assertThrows(() => graph.map(part, ov), LayoutError, "it begins at byte 4 of its cl_mem.");
});

test("allocate() of a context on a GPU says who allocates, and open() refuses anything but an OpenCLContext", (cl) => {
  using ov = OpenVINOContext.open({ library: simulated(), on: cl });
  assertThrows(
    () => ov.allocate({ shape: [4], dtype: "f32" }),
    InteropError,
    "Allocate it in the context that this one",
  );
  assertThrows(() => OpenVINOContext.open({ on: host }), ArgumentError, "Pass an OpenCLContext or a VaapiContext");
});

test("run() takes tensors for apart whose cl_mems are, and for one what is one", (cl) => {
  using ov = OpenVINOContext.open({ library: simulated(), on: cl });
  using graph = new MapperGraph([host, cl, ov]);
  using session = ov.compileSync(unary("Sigmoid", "f32", [1 << 16]));
  using buffers = new DisposableStack();
  // A cl_mem points to a small struct: many of them lie within the length of one buffer.
  const all = Array.from({ length: 8 }, () => {
    const buffer = graph.map(buffers.use(host.allocate({ shape: [1 << 16], dtype: "f32" })), cl);
    return buffers.use(graph.map(buffers.use(buffer), ov));
  });
  for (const [i, x] of all.entries()) for (const y of all.slice(i + 1)) session.run({ x }, { y });
  const [one] = all;
  assertThrows(() => session.run({ x: one }, { y: one }), ArgumentError, "it shares bytes with inputs.x");
});

test("slice() refuses what does not begin with its cl_mem", (cl) => {
  using ov = OpenVINOContext.open({ library: simulated(), on: cl });
  using graph = new MapperGraph([host, cl, ov]);
  using memory = host.allocate({ shape: [128], dtype: "f32" });
  using buffer = graph.map(memory, cl);
  using whole = graph.map(buffer, ov);
  whole.slice({ shape: [64], dtype: "f32" })[Symbol.dispose]();
  assertThrows(
    () => whole.slice({ shape: [32], dtype: "f32", byteOffset: 256 }),
    LayoutError,
    "it begins at byte 256 of its cl_mem.",
  );
});
