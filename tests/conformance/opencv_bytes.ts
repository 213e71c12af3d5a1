import { host } from "../../src/host/mod.ts";
import type { Tensor } from "../../src/core/tensors/tensor.ts";
import type { OpenCVContext, OpenCVMat, OpenCVTensor } from "../../src/opencv/mod.ts";
import { bytesAt, separateFrame } from "./bytes.ts";
import { hostEnd } from "./host_end.ts";
import type { End } from "./subject.ts";

/** A Mat of the suite's own, with these bytes. */
export function matWith({ mat }: OpenCVContext, bytes: Uint8Array, shape: readonly number[]): OpenCVMat {
  const made = mat.create({ shape, dtype: "u8" });
  bytesAt(made.address, bytes.length).set(bytes);
  return made;
}

/** The bytes of such a Mat. */
export function bytesIn({ address, layout }: OpenCVMat): Uint8Array {
  return bytesAt(address, layout.byteLength).slice();
}

/** The tensor's whole range, padding included, as one row of bytes. */
export function asRow<T extends OpenCVTensor>(tensor: T, access = tensor.access): T {
  const { byteOffset, byteLength } = tensor.layout;
  const row = { shape: [1, byteLength], dtype: "u8" as const, strides: [byteLength, 1], byteOffset, byteLength };
  return tensor.slice(row, { access }) as Tensor as T;
}

/** The CPU's end, of frames that OpenCV takes. */
export const hostOfPlanes: End = {
  ...hostEnd,
  allocateFrame: (info) => separateFrame((init) => host.allocate(init), info),
};
