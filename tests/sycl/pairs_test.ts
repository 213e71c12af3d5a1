/** SYCL's unified shared memory with OpenVINO, with OpenCL's, and lent by DLPack's struct. */
import { assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  type Context,
  type Frame,
  host,
  type HostTensor,
  MapperGraph,
  type Tensor,
} from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import { OpenCLContext, type OpenCLUsmTensor } from "@samepage/interop/opencl";
import { SyclContext, type SyclTensor } from "@samepage/interop/sycl";
import { DLManagedTensorVersioned, readDLManagedTensorVersioned } from "../../ffi/dlpack/structs.ts";
import { kDLOneAPI } from "../../ffi/dlpack/constants.ts";
import { hasDevice } from "../opencl/present.ts";
import { unary } from "../openvino/models.ts";
import { LIBRARY, openOpenVINO } from "../openvino/open.ts";
import { isStandIn, openSycl } from "./open.ts";

const missing = await openSycl();
const noIntel = isStandIn() || !hasDevice("Intel") ? "Intel's OpenCL: deno task setup sycl" : undefined;

function test(name: string, fn: () => void | Promise<void>, ...reasons: (string | undefined)[]): void {
  const reason = [missing, ...reasons].find((one) => one !== undefined);
  Deno.test({ name: reason === undefined ? name : `${name} (not here: ${reason})`, ignore: reason !== undefined, fn });
}

const SOURCE = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }";
const FEW = { shape: [64], dtype: "f32" } as const;

function open(): SyclContext {
  return SyclContext.open(isStandIn() ? {} : { platform: "Intel" });
}

const noOpenVINO = LIBRARY === undefined ? "OpenVINO: deno task setup inference" : undefined;

for (const kind of ["host", "shared"] as const) {
  test(`map() shares ${kind} memory of SYCL's with OpenVINO, and its runs wait for kernels`, async () => {
    using sycl = open(); // before OpenVINO, which has a TBB of its own
    using ov = openOpenVINO();
    using graph = new MapperGraph([host, sycl, ov]);
    using session = ov.compileSync(unary("Relu", "f32", FEW.shape));
    using program = sycl.program(SOURCE);
    using twice = program.kernel("twice", ["global float*"]);
    using input = sycl.usm.allocate({ kind, ...FEW });
    using output = sycl.usm.allocate({ kind, ...FEW });
    {
      using filled = graph.map(input, host);
      (filled.view({ dtype: "f32" }) as Float32Array).set(Array.from({ length: 64 }, (_, i) => i - 32));
    }
    const transfers = graph.explain(input, ov).steps.map(({ transfer }) => transfer);
    assertEquals(transfers.every((one) => one === "alias"), true, transfers.join());
    for (let round = 0; round < 3; round++) {
      twice.run({ items: [64] }, [input]);
      {
        using x = graph.map(input, ov, { access: "read" });
        using y = graph.map(output, ov);
        await session.runAsync({ x }, { y });
      }
      twice.run({ items: [64] }, [output]);
      using seen = graph.map(output, host, { access: "read" });
      assertEquals(
        seen.view({ dtype: "f32" }),
        Float32Array.from({ length: 64 }, (_, i) => 2 ** (round + 2) * Math.max(0, i - 32)),
      );
    }
    assertEquals([sycl.bytesCopied, ov.bytesCopied], [0, 0]);
  }, noOpenVINO);
}

test("map() gives SYCL a decoded picture, in the memory that FFmpeg decoded it into", async () => {
  using sycl = open();
  using ffmpeg = FFmpegContext.open();
  using graph = new MapperGraph([host, ffmpeg, sycl]);
  for await (using frame of ffmpeg.decode("examples/edges/photo.jpg")) {
    using picture = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
    using mapped = graph.map(frame, sycl.usm, { access: "read" }) as Frame<SyclTensor>;
    const [luma] = mapped.planes;
    assertEquals([mapped.route!.bytesMoved, luma.address], [0, picture.planes[0].address]);
    using copied = sycl.usm.allocate({ kind: "shared", shape: luma.shape, dtype: "u8" });
    sycl.queue.copy(luma, copied);
    using seen = graph.map(copied, host, { access: "read" });
    assertEquals(seen.elements(), picture.planes[0].elements());
  }
});

test("map() shares OpenVINO's memory with SYCL, whose device uses the host's", () => {
  using sycl = open();
  using ov = openOpenVINO();
  using graph = new MapperGraph([host, sycl, ov]);
  using session = ov.compileSync(unary("Negative", "f32", FEW.shape));
  using twice = sycl.program(SOURCE).kernel("twice", ["global float*"]);
  using x = ov.allocate(FEW);
  {
    using filled = graph.map(x, sycl.usm);
    sycl.queue.fill(filled, 3);
    twice.run({ items: [64] }, [filled]);
  }
  using y = session.run({ x }).y;
  using seen = graph.map(y, host, { access: "read" });
  assertEquals(seen.view({ dtype: "f32" }), new Float32Array(64).fill(-6));
  assertEquals([sycl.bytesCopied, ov.bytesCopied], [0, 0]);
}, noOpenVINO);

/** What the struct says. */
function structAt(address: bigint) {
  const memory = Deno.UnsafePointerView.getArrayBuffer(
    Deno.UnsafePointer.create(address)!,
    DLManagedTensorVersioned.size,
  );
  return readDLManagedTensorVersioned(new DataView(memory), 0);
}

for (const kind of ["host", "shared", "device"] as const) {
  test(`toDLPack() and fromDLPack() lend ${kind} memory from OpenCL to SYCL, and back`, async () => {
    using cl = OpenCLContext.open({ platform: "Intel" });
    using sycl = SyclContext.open({ on: cl });
    using ofSycl = sycl.program(SOURCE).kernel("twice", ["global float*"]);
    using ofCl = cl.program(SOURCE).kernel("twice");
    using theirs = cl.usm.allocate({ kind, ...FEW });
    using ours = sycl.usm.allocate({ kind, ...FEW });
    sycl.queue.fill(ours, 21);
    const seen = () => {
      using graph = new MapperGraph([host, sycl]);
      using onHost = graph.map(ours, host, { access: "read", copy: "allow" });
      return onHost.view({ dtype: "f32" })[63];
    };
    lend(ours, [host, cl], (lent) => {
      assertEquals(lent.target, cl.usm);
      ofCl.run({ items: [64] }, [lent as OpenCLUsmTensor]);
    });
    assertEquals(seen(), 42);
    lend(theirs, [sycl], (lent) => {
      assertEquals([lent.target, (lent as SyclTensor).usm], [sycl.usm, kind]);
      sycl.queue.fill(lent as SyclTensor, 1);
      ofSycl.run({ items: [64] }, [lent as SyclTensor]);
      sycl.queue.copy(lent as SyclTensor, ours);
    });
    ofCl.run({ items: [64] }, [theirs]);
    await theirs.finished();
    assertEquals(seen(), 2);
    lend(theirs, [sycl], (lent) => sycl.queue.copy(lent as SyclTensor, ours));
    assertEquals(seen(), 4);
  }, noIntel);
}

/** Lends a tensor to a consumer, which gives it back. */
function lend(tensor: OpenCLUsmTensor | SyclTensor, contexts: readonly Context[], use: (lent: Tensor) => void): void {
  const { address } = tensor;
  using loan = toDLPack(tensor);
  assertEquals([loan.device.type, loan.device.id], [kDLOneAPI, 0]);
  assertEquals(structAt(loan.address).data, address);
  assertThrows(() => tensor.handle, AccessError, "are lent to");
  using lent = fromDLPack(loan.handOver(), { contexts });
  use(lent);
}

test("fromDLPack() finds the context whose memory it is", () => {
  using cl = OpenCLContext.open({ platform: "Intel" });
  using other = OpenCLContext.open({ platform: "Intel" });
  using sycl = open();
  const contexts = [host, cl, other, sycl];
  for (const context of [cl, other, sycl]) {
    using memory: OpenCLUsmTensor | SyclTensor = context.usm.allocate({ kind: "device", ...FEW });
    using loan = toDLPack(memory);
    using lent = fromDLPack(loan.address, { contexts });
    loan.handOver();
    assertEquals(lent.target, context.usm);
  }
  using memory = other.usm.allocate({ kind: "device", ...FEW });
  using loan = toDLPack(memory);
  const refused = assertThrows(() => fromDLPack(loan.address, { contexts: [host, cl, sycl] }), ArgumentError);
  assertEquals(refused.argument, "pointer");
}, noIntel);
