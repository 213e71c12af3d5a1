/**
 * Sessions on CUDA's memory. No library of the tests has CUDA's provider, and no machine of theirs has both: the library is
 * `cuda.c` over the real one, which runs the model on the CPU, and the GPU is a recording whose memory the CPU sees.
 */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, host, InteropError, MapperGraph } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
import { viewAt } from "../../src/core/native/pin.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { unary } from "../inference/onnx.ts";
import { FAKES, freeAll, simulated } from "./cuda.ts";
import { LIBRARY } from "./open.ts";

const SIGMOID = unary("Sigmoid", "f32", [64]);
const CUDA = "CUDAExecutionProvider";

const recorded = recordedTests(FAKES);

/** What the library was asked for. */
function asked() {
  const { symbols } = Deno.dlopen(simulated(), {
    ...{ device_id: { type: "pointer" }, stream: { type: "pointer" }, has_cuda: { type: "pointer" } },
    ...{ memory_device: { type: "i32" }, appended: { type: "i32" }, options_alive: { type: "i32" } },
  });
  const { device_id, stream, has_cuda, memory_device, appended, options_alive } = symbols;
  return { device_id, stream, has_cuda, memory_device, appended, options_alive };
}

interface There {
  readonly cuda: CudaContext;
  readonly ort: OnnxRuntimeContext;
  readonly graph: MapperGraph;
}

function test(name: string, use: (there: There) => unknown): void {
  const lacks = LIBRARY === undefined ? "deno task setup inference" : undefined;
  recorded(
    `onnxruntime: ${name}`,
    async () => {
      {
        using cuda = CudaContext.open();
        using ort = OnnxRuntimeContext.open({ library: simulated(), on: cuda });
        using graph = new MapperGraph([host, cuda, ort]);
        await use({ cuda, ort, graph });
      }
      freeAll();
    },
    {},
    lacks,
  );
}

test("run() reads and writes a GPU's memory in place, by its number and the context's stream", async (there) => {
  const { cuda, ort, graph } = there;
  const [read, written] = [0, 1].map(() => cuda.allocate({ shape: [64], dtype: "f32" }));
  const floats = (at: { readonly address: bigint }) =>
    new Float32Array(viewAt(at.address as never, 256, "onnxruntime").buffer);
  floats(read).fill(2);
  {
    using session = ort.compileSync(SIGMOID);
    using x = graph.map(read, ort, { access: "read" });
    using y = graph.map(written, ort, { access: "write" });
    assertEquals([x.route!.bytesMoved, x.address, y.address], [0, read.address, written.address]);
    assertEquals([x, y].map(({ handle }) => ort.values.infoOf(handle).address), [read.address, written.address]);
    session.run({ x }, { y });
    assertEquals(Math.round(1000 * floats(written)[63]), 881);
    floats(written).fill(0);
    await session.runAsync({ x }, { y });
    assertEquals(Math.round(1000 * floats(written)[63]), 881);
    assertThrows(() => session.run({ x }), ArgumentError, "outputs.y: it is missing.");
  }
  assertEquals([ort.bytesCopied, ort.providers], [0, [CUDA, "CPUExecutionProvider"]]);
  const { device_id, stream, memory_device, appended, options_alive } = asked();
  const text = (at: unknown) => new Deno.UnsafePointerView(at as Deno.PointerObject).getCString();
  assertEquals([text(device_id), text(stream)], ["0", String(cuda.stream.handle)]);
  assertEquals([memory_device, appended > 0, options_alive], [0, true, 0]);
  for (const tensor of [read, written]) tensor[Symbol.dispose]();
});

test("compile() appends the providers that are named, and refuses others", ({ ort }) => {
  ort.compileSync(SIGMOID, { providers: [CUDA, "CPUExecutionProvider"] })[Symbol.dispose]();
  const error = assertThrows(() => ort.compileSync(SIGMOID, { providers: ["NoProvider"] }), ArgumentError);
  assertStringIncludes(error.message, "providers[0]: there is no NoProvider. This library has CUDAExecutionProvider");
});

test("allocate() of a context on a GPU says who allocates", ({ ort }) => {
  assertThrows(
    () => ort.allocate({ shape: [4], dtype: "f32" }),
    InteropError,
    "Allocate it in the context that this one was opened on",
  );
});

test("open() refuses a library without CUDA's provider, and anything but a CudaContext", ({ cuda }) => {
  const has = new Int32Array(Deno.UnsafePointerView.getArrayBuffer(asked().has_cuda!, 4));
  has[0] = 0;
  const error = assertThrows(() => OnnxRuntimeContext.open({ on: cuda }), InteropError);
  has[0] = 1;
  assertStringIncludes(error.message, "has no CUDAExecutionProvider: it has CPUExecutionProvider.");
  assertThrows(() => OnnxRuntimeContext.open({ on: host as never }), ArgumentError, "Pass a CudaContext.");
});
