/** What PyTorch and other APIs of the same GPU have of each other's memory, by CUDA; and Arrow's arrays of that. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Context, host, type HostTensor, MapperGraph, NoRouteError, type Tensor } from "@samepage/interop";
import { fromArrow, toArrow } from "@samepage/interop/arrow";
import type { CudaTensor } from "@samepage/interop/cuda";
import { ArrowDeviceArray } from "../../../ffi/arrow/structs.ts";
import { takeCallbackMemory } from "../../../src/core/native/callbacks.ts";
import { viewAt } from "../../../src/core/native/pin.ts";
import { gpus } from "../../vulkan/gpu.ts";
import { sharedGpus } from "../../../bench/harness/gpus.ts";
import { type Both, lackingOnGpu, made, type Needs, numbersIn, take, test } from "./gpu.ts";

const WORDS = { shape: [1024], dtype: "f32" } as const;

/** What tests with Vulkan and OpenCL need. */
const needs: Needs = { lacks: lackingOnGpu("torch") ?? sharedGpus().missing };

/** A context that shares memory with CUDA, and reads words of it. */
interface Other extends Context, Disposable {
  readonly queue: { read(from: Tensor, into: Float32Array): void };
}

/** The APIs that import memory of the GPU. */
const OTHERS: Readonly<Record<string, () => Other>> = {
  Vulkan: () => gpus[0].vulkan() as unknown as Other,
  OpenCL: () => gpus[0].opencl() as unknown as Other,
};

function wordsIn(other: Other, tensor: Tensor): number[] {
  const words = new Float32Array(WORDS.shape[0]);
  other.queue.read(tensor, words);
  return [...new Set(words)];
}

for (const [api, open] of Object.entries(OTHERS)) {
  test(`what PyTorch writes into CUDA's virtual memory is ${api}'s in place`, ["torch"], ({ python, cuda }) => {
    using other = open();
    using graph = new MapperGraph([cuda, other]);
    using tensor = cuda.virtual.allocate(WORDS);
    for (const value of [3, 7]) {
      {
        using array = python.toArray(tensor, "torch");
        python.run("array.fill_(value)\nNone", { array, value });
      }
      using there = graph.map(tensor, other as never) as Tensor;
      assertEquals(there.route.steps.map(({ transfer }) => transfer), ["alias"]);
      assertEquals(wordsIn(other, there), [value]);
    }
  }, needs);

  test(`memory that PyTorch has allocated is ${api}'s in place, or the reason is said`, ["torch"], (both) => {
    using other = open();
    using graph = new MapperGraph([both.cuda, other]);
    using array = made(both.python, "torch.full((1024,), 3.0, device='cuda')");
    using tensor = take(both, array);
    try {
      using there = graph.map(tensor, other as never) as Tensor;
      assertEquals(wordsIn(other, there), [3]);
      console.log(`sharing: PyTorch's memory is ${api}'s in place`);
    } catch (error) {
      if (!(error instanceof NoRouteError)) throw error;
      console.log(`sharing: PyTorch's memory is not ${api}'s: ${error.message}`);
      assertStringIncludes(error.message, `cuda→${api.toLowerCase()}: closed: `);
    }
  }, needs);
}

test("PyTorch has Vulkan's memory in place by CUDA, and OpenCL sees what it writes", ["torch"], ({ python, cuda }) => {
  using vulkan = gpus[0].vulkan();
  using cl = OTHERS.OpenCL();
  using graph = new MapperGraph([vulkan, cuda, cl]);
  using tensor = vulkan.allocate(WORDS);
  vulkan.queue.fill(tensor, 2);
  {
    using onCuda = graph.map(tensor, cuda) as CudaTensor;
    using array = python.toArray(onCuda, "torch");
    assertEquals(python.run("float(array.sum())", { array }), 2048);
    python.run("array.mul_(4)\nNone", { array });
  }
  using onCl = graph.map(tensor, cl as never) as Tensor;
  assertEquals(wordsIn(cl, onCl), [8]);
}, needs);

test("page-locked memory of PyTorch's is the host's in place", ["torch"], (both) => {
  const { python, cuda } = both;
  using array = made(python, "torch.full((2, 3), 3.0).pin_memory()");
  using tensor = take(both, array);
  using graph = new MapperGraph([host, cuda]);
  using onHost = graph.map(tensor, host) as HostTensor<"f32">;
  onHost.view().fill(4);
  assertEquals(Number(onHost.address), python.run("array.data_ptr()", { array }));
  onHost[Symbol.dispose]();
  assertEquals(python.run("float(array.sum())", { array }), 24);
});

/** What a tensor by Arrow holds, right after PyTorch was asked to write 9 into it, some milliseconds later. */
function readThrough({ python, cuda }: Both, event: boolean): number[] {
  python.run("torch.cuda.synchronize()");
  using array = made(python, "torch.full((6,), 3.0, device='cuda')");
  using tensor = take({ python, cuda }, array);
  numbersIn(cuda, tensor); // what is loaded at the first use would wait for all streams
  const handle = python.run<number>(
    `
with torch.cuda.stream(stream):
    torch.cuda._sleep(100_000_000)
    array.fill_(9)
    event.record()
event.cuda_event`,
    { array },
  );
  using arrow = toArrow(tensor);
  const { bytes, address } = takeCallbackMemory(8);
  new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(0, BigInt(handle), true);
  const struct = viewAt(arrow.array, ArrowDeviceArray.size, "test");
  if (event) struct.setBigUint64(ArrowDeviceArray.fields.sync_event.offset, address, true);
  using same = fromArrow(arrow.schema, arrow.array, { contexts: [cuda], device: true }) as CudaTensor;
  assertEquals(same.address, tensor.address);
  const numbers = numbersIn(cuda, same);
  python.run("torch.cuda.synchronize()");
  return [...new Set(numbers)];
}

test("Arrow's device arrays bring the producer's event, which ours waits for on the device", ["torch"], (both) => {
  both.python.run(
    "stream = torch.cuda.Stream(); event = torch.cuda.Event()\nwith torch.cuda.stream(stream): torch.zeros(6, device='cuda').fill_(9)",
  );
  assertEquals(readThrough(both, true), [9]);
  assertEquals(readThrough(both, false), [3], "without the event nothing is waited for: the test sees nothing");
});
