/** Memory that host and device use at a time, wrapped by its address: what a stream's commands do to a peer's views. */
import { assertEquals } from "@std/assert";
import { host } from "../../mod.ts";
import * as constants from "../../ffi/cuda_runtime/constants.ts";
import { mapBlock, PAGE } from "../../src/core/native/blocks.ts";
import { CudaContext, type CudaTensor } from "../../src/cuda/mod.ts";
import type { Fakes } from "./kernels/recording.ts";
import { recordedTests } from "./recorded.ts";

const INIT = { shape: [16, 16, 4], dtype: "u8" } as const;
const SIZE = 1024;

/** What the recorded device is: host and device use managed memory at a time, so that no command takes all views. */
const ATTRIBUTES = new Map<number, number>([
  [constants.cudaDevAttrUnifiedAddressing, 1],
  [constants.cudaDevAttrManagedMemory, 1],
  [constants.cudaDevAttrConcurrentManagedAccess, 1],
  [constants.cudaDevAttrMaxTexture2DWidth, 1024],
  [constants.cudaDevAttrMaxTexture2DHeight, 1024],
]);

const done = () => 0;

const FAKES: Fakes = {
  cudaDeviceGetAttribute: (value: Int32Array, attribute: number) => {
    value[0] = ATTRIBUTES.get(attribute) ?? 0;
    return 0;
  },
  cudaEventQuery: done,
  cudaFree: done,
  cudaMallocManaged: (out: BigUint64Array) => {
    out[0] = mapBlock({ byteLength: PAGE, align: PAGE, sharable: false, guard: false }).address;
    return 0;
  },
  cudaMalloc3DArray: (out: BigUint64Array) => {
    out[0] = 0x55n;
    return 0;
  },
  cudaFreeArray: done,
  cudaMemcpyAsync: done,
  cudaMemcpy2DAsync: done,
  cudaMemcpy3DAsync: done,
  cudaMemset2DAsync: done,
} as Record<string, (...args: never[]) => number>;

const recordedTest = recordedTests(FAKES);

/** A command that uses a tensor, and what it does with its bytes. */
interface Command {
  readonly access: "read" | "write";
  run(cuda: CudaContext, tensor: CudaTensor): void;
}

/** Everything that a stream does to a tensor by a name of its own. */
const COMMANDS: Readonly<Record<string, Command>> = {
  fill: { access: "write", run: ({ stream }, tensor) => stream.fill(tensor, 7) },
  write: { access: "write", run: ({ stream }, tensor) => stream.write(tensor, new Uint8Array(SIZE)) },
  read: { access: "read", run: ({ stream }, tensor) => stream.read(tensor, new Uint8Array(SIZE)) },
  "copy to": {
    access: "write",
    run(cuda, tensor) {
      using from = cuda.managed.allocate(INIT);
      cuda.stream.copy(from, tensor);
    },
  },
  "copy from": {
    access: "read",
    run(cuda, tensor) {
      using to = cuda.managed.allocate(INIT);
      cuda.stream.copy(tensor, to);
    },
  },
  copyFromArray: {
    access: "write",
    run(cuda, tensor) {
      using array = cuda.array({ width: 16, height: 16, channels: 4, dtype: "u8", surface: false });
      cuda.stream.copy(array, tensor);
    },
  },
  copyToArray: {
    access: "read",
    run(cuda, tensor) {
      using array = cuda.array({ width: 16, height: 16, channels: 4, dtype: "u8", surface: false });
      cuda.stream.copy(tensor, array);
    },
  },
};

for (const [name, { access, run }] of Object.entries(COMMANDS)) {
  recordedTest(`peers: ${name} takes away the host's views that a kernel would`, () => {
    using cuda = CudaContext.open();
    using tensor = cuda.managed.allocate(INIT);
    using peer = host.wrap(tensor.address, INIT);
    const [writable, readable] = [peer.view(), peer.view({ access: "read" })];
    run(cuda, tensor);
    assertEquals([writable.length, readable.length], [0, access === "read" ? SIZE : 0]);
  });
}
