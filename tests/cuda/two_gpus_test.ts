/** What CUDA's contexts of two GPUs share: copies, memory of the host, virtual memory by its fd, and memory of other processes. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host, InteropError, MapperGraph } from "@samepage/interop";
import { CudaContext, type CudaTensor } from "@samepage/interop/cuda";
import { closeFd } from "../../src/core/native/fd.ts";
import { runModule } from "../process.ts";
import { gpuTest } from "./help.ts";

const N = 1 << 20;
const SHAPE = { shape: [N], dtype: "u8" } as const;
const SOURCE = `extern "C" __global__ void add(unsigned char* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 5; }`;

/** What the other process makes of each byte. */
const KEY = 0xa5;

/** A test with a context of each of two GPUs. */
function twoGpus(name: string, run: (first: CudaContext, second: CudaContext) => unknown): void {
  gpuTest(`two GPUs: ${name}`, async () => {
    await using first = CudaContext.open({ ordinal: 0 });
    await using second = CudaContext.open({ ordinal: 1 });
    await run(first, second);
  }, 2);
}

/** Adds 5 to each byte, on a context's device; blocks. */
function addOn(cuda: CudaContext, tensor: CudaTensor): void {
  using program = cuda.program(SOURCE);
  using add = program.kernel("add", ["unsigned char*"]);
  add.run({ groups: [N / 256], groupSize: [256] }, [tensor]);
  cuda.stream.finish();
}

function noise(): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(N);
  for (let at = 0; at < N; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}

function bytesOf(cuda: CudaContext, tensor: CudaTensor): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(N);
  cuda.stream.read(tensor, bytes);
  return bytes;
}

twoGpus("stream.copy() goes from one to the other and back, by a stream of either", (first, second) => {
  using here = first.allocate(SHAPE);
  using there = second.allocate(SHAPE);
  for (const { stream } of [first, second]) {
    const bytes = noise();
    first.stream.write(here, bytes);
    second.stream.fill(there, 0);
    stream.copy(here, there);
    assertEquals(bytesOf(second, there), bytes);
    second.stream.fill(there, 7);
    stream.copy(there, here);
    assert(bytesOf(first, here).every((byte) => byte === 7));
  }
});

twoGpus("work of both on one memory is ordered on the device, without a wait of this thread", (first, second) => {
  using graph = new MapperGraph([first, second]);
  using tensor = first.allocate(SHAPE);
  using programs = new DisposableStack();
  const [mine, its] = [first, second].map((cuda) =>
    programs.use(programs.use(cuda.program(SOURCE)).kernel("add", ["unsigned char*"]))
  );
  const grid = { groups: [N / 256], groupSize: [256] };
  first.stream.fill(tensor, 0);
  for (let lap = 0; lap < 25; lap++) {
    mine.run(grid, [tensor]);
    const mapped = graph.map(tensor, second);
    its.run(grid, [mapped]);
    mapped.disposeAfter(second.stream.fence());
  }
  assert(bytesOf(first, tensor).every((byte) => byte === 250));
});

twoGpus("pinned and managed memory is used by the kernels of both as it is", (first, second) => {
  using graph = new MapperGraph([host, first, second]);
  for (const [kind, transfer] of [["pinned", "alias"], ["managed", "migrate"]] as const) {
    using tensor = first[kind].allocate(SHAPE);
    first.stream.fill(tensor, 1);
    addOn(first, tensor);
    addOn(second, tensor);
    {
      using there = graph.map(tensor, second);
      assertEquals(there.route.steps.map((step) => step.transfer), [transfer, transfer], kind);
      assertEquals(there.handle, tensor.rawHandle, kind);
      addOn(second, there);
    }
    using seen = graph.map(tensor, host, { access: "read" });
    assert(seen.view().every((byte) => byte === 16), kind);
  }
});

twoGpus("memory of the host maps to both, one after the other, and for reading at once", (first, second) => {
  using graph = new MapperGraph([host, first, second]);
  using memory = host.allocate(SHAPE);
  for (const cuda of [first, second, first]) {
    using mapped = graph.map(memory, cuda);
    addOn(cuda, mapped);
  }
  assert(memory.view().every((byte) => byte === 15));
  using one = graph.map(memory, first, { access: "read" });
  using other = graph.map(memory, second, { access: "read" });
  assertEquals(one.handle, other.handle);
  for (const [cuda, tensor] of [[first, one], [second, other]] as const) {
    assert(bytesOf(cuda, tensor).every((byte) => byte === 15));
  }
});

twoGpus("cuda.virtual.import() on one takes an fd of the other's memory, on device and host", (first, second) => {
  for (const location of ["device", "host"] as const) {
    using tensor = first.virtual.allocate({ ...SHAPE, location });
    const fd = first.virtual.exportFd(tensor);
    using there = second.virtual.import(fd, SHAPE);
    closeFd(fd);
    const bytes = noise();
    first.stream.write(tensor, bytes);
    assertEquals(bytesOf(second, there), bytes, location);
    addOn(second, there);
    assertEquals(bytesOf(first, tensor), bytes.map((byte) => byte + 5), location);
  }
});

twoGpus(
  "another process opens memory of one on the other: by CUDA's handle, and not by an envelope",
  async (first, _) => {
    using tensor = first.allocate({ shape: [2 << 20], dtype: "u8" });
    first.stream.fill(tensor, 1);
    first.stream.finish();
    const { bytes, handle } = first.exportMemory(tensor);
    const { code, stdout, stderr, late } = await runModule(
      `import { CudaContext } from "./src/cuda/mod.ts";
     const given = (name) => Uint8Array.fromHex(Deno.env.get(name));
     using cuda = CudaContext.open({ ordinal: 1 });
     try { cuda.openMemory(given("ENVELOPE")); } catch (error) { console.log(error.constructor.name, error.message); }
     using tensor = cuda.openMemory({ handle: given("HANDLE"), layout: { shape: [2 << 20], dtype: "u8" } });
     using program = cuda.program(\`extern "C" __global__ void key(unsigned char* x) {
       x[blockIdx.x * blockDim.x + threadIdx.x] ^= ${KEY};
     }\`);
     using key = program.kernel("key", ["unsigned char*"]);
     key.run({ groups: [(2 << 20) / 256], groupSize: [256] }, [tensor]);
     const seen = new Uint8Array(2 << 20);
     cuda.stream.read(tensor, seen);
     console.log(seen.every((byte) => byte === ${1 ^ KEY}));`,
      { env: { ENVELOPE: bytes.toHex(), HANDLE: handle.toHex() }, limit: 60 },
    );
    assert(code === 0 && !late, `${code}: ${stderr}`);
    const [refused, right] = stdout.trim().split("\n");
    assert(refused.startsWith("ArgumentError") && refused.includes("it is of device"), refused);
    assertEquals(right, "true");
    const after = new Uint8Array(2 << 20);
    first.stream.read(tensor, after);
    assert(after.every((byte) => byte === (1 ^ KEY)));
  },
);

twoGpus("memory, streams and kernels of one are refused by the other, and both are named", (first, second) => {
  using tensor = first.allocate(SHAPE);
  const both = (error: Error) => ["device 0", "device 1"].every((name) => error.message.includes(name));
  const refused = assertThrows(() => addOn(second, tensor), ArgumentError);
  assert(both(refused) && refused.hint?.includes("graph.map(tensor, otherContext)"), String(refused));
  const filled = assertThrows(() => second.stream.fill(tensor, 1), ArgumentError);
  assert(both(filled), String(filled));
  const attached = assertThrows(() => second.attach(tensor.handle, SHAPE), ArgumentError);
  assert(both(attached) && attached.hint?.includes("ordinal: 0"), String(attached));
  const stream = assertThrows(() => second.attachStream(first.stream.handle), ArgumentError);
  assert(both(stream), String(stream));
  using alone = new MapperGraph([host, second]);
  const { message } = assertThrows(() => alone.map(tensor, second), InteropError);
  console.log(`two GPUs: a graph of the other alone: ${message}`);
  assert(message.includes("graph"), message);
});
