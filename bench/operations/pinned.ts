import { host, type HostTensor } from "@samepage/interop";
import type { CudaTensor } from "@samepage/interop/cuda";
import { gpu } from "../harness/cuda.ts";
import { randomize } from "../harness/frame.ts";

/** Random bytes in pinned memory. */
export function makePinned(byteLength: number): CudaTensor {
  const { cuda } = gpu();
  const bytes = cuda.pinned.allocate({ shape: [byteLength], dtype: "u8" });
  using seen = onHost(bytes);
  randomize(seen.view());
  return bytes;
}

/** The same bytes for the host, once the GPU is done with them. */
export function onHost(bytes: CudaTensor): HostTensor<"u8"> {
  return gpu().graph.map(bytes, host) as HostTensor<"u8">;
}

/** A copy of the bytes, for a comparison. */
export function bytesOf(bytes: CudaTensor): Uint8Array {
  using seen = onHost(bytes);
  return seen.view().slice();
}
