/** The routes of CUDA's memory, over a recording of CUDA: what its rules say, without a GPU. */
import * as constants from "../../ffi/cuda_runtime/constants.ts";
import { mapBlock, PAGE } from "../../src/core/native/blocks.ts";
import { CudaContext } from "../../src/cuda/mod.ts";
import type { Fakes } from "../cuda/kernels/recording.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { warningsOf } from "../warnings.ts";
import { assertRoutes, bytesOf, hostNode, routesOf } from "./routes.ts";

/** A GPU beside the CPU, as an H200 is. */
const ATTRIBUTES = new Map<number, number>([
  [constants.cudaDevAttrUnifiedAddressing, 1],
  [constants.cudaDevAttrManagedMemory, 1],
  [constants.cudaDevAttrConcurrentManagedAccess, 1],
  [constants.cudaDevAttrHostRegisterSupported, 1],
  [constants.cudaDevAttrCanMapHostMemory, 1],
  [constants.cudaDevAttrMaxTexture2DWidth, 131_072],
  [constants.cudaDevAttrMaxTexture2DHeight, 65_536],
  [constants.cudaDevAttrMaxSurface2DWidth, 131_072],
  [constants.cudaDevAttrMaxSurface2DHeight, 65_536],
]);

const BLOCK = { byteLength: 4 * PAGE, align: PAGE, sharable: false, guard: false };

/** Memory that the CPU reads and writes: it is the CPU's own. */
function onHost(out: BigUint64Array): number {
  out[0] = mapBlock(BLOCK).address;
  return 0;
}

let array = 0x55n;

/** A recording runs no experiment. What a GPU would have to show is taken for shown. */
function believe({ proofs }: CudaContext): void {
  const shown = { aliases: true, evidence: "taken for proven" } as const;
  Object.assign(proofs, { prove: () => shown, tryToProve() {}, judge: () => shown });
}

const FAKES = {
  cudaDeviceGetAttribute: (value: Int32Array, attribute: number) => {
    value[0] = ATTRIBUTES.get(attribute) ?? 0;
    return 0;
  },
  cudaMallocManaged: onHost,
  cudaHostAlloc: onHost,
  cudaMallocHost: onHost,
  cudaMalloc3DArray: (out: BigUint64Array) => {
    out[0] = array++;
    return 0;
  },
  cudaFreeArray: () => 0,
  cudaHostRegister: () => 0,
  cudaHostUnregister: () => 0,
  cudaDeviceCanAccessPeer: (can: Int32Array) => {
    can[0] = 1;
    return 0;
  },
} as Fakes;

recordedTests(FAKES)("explain() finds the routes of cuda", async () => {
  await using cuda = CudaContext.open();
  await using other = CudaContext.open({ ordinal: 1 });
  for (const context of [cuda, other]) believe(context);
  const image = cuda.image({ dtype: "u8" });
  const nodes = [
    hostNode(),
    bytesOf("cuda", cuda, (init) => cuda.allocate(init)),
    bytesOf("cuda.pinned", cuda.pinned, (init) => cuda.pinned.allocate(init)),
    bytesOf("cuda.managed", cuda.managed, (init) => cuda.managed.allocate(init)),
    bytesOf("cuda.virtual", cuda.virtual, (init) => cuda.virtual.allocate(init)),
    { name: "cuda.image", target: image, sources: {} },
    bytesOf("another cuda", other, (init) => other.allocate(init)),
  ];
  let routes = "";
  await warningsOf(async () => void (routes = await routesOf(nodes))); // of a speed between GPUs, which is not measured
  await assertRoutes("cuda_recorded", routes);
});
