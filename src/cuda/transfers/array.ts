import { cudaMemcpyDefault, cudaStreamLegacy } from "../../../ffi/cuda_runtime/constants.ts";
import type { CudaArray as ArrayHandle, CudaStream as StreamHandle } from "../../../ffi/cuda_runtime/handles.ts";
import { NULL } from "../../../ffi/address.ts";
import {
  type CudaMemcpy3DParms,
  cudaMemcpy3DParms,
  writeCudaMemcpy3DParms,
} from "../../../ffi/cuda_runtime/structs.ts";
import type { Call } from "../../core/contract.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import { describeLayout, type Layout } from "../../core/layout/layout.ts";
import type { PictureSize } from "../../core/layout/pictures.ts";
import { addressOf } from "../../core/native/pin.ts";
import type { CudaArray } from "../arrays/array.ts";
import type { ArrayExtent } from "../arrays/extent.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check } from "../errors.ts";
import { cudart } from "../library.ts";
import { onStream, type StreamLane } from "../stream_lane.ts";
import type { CudaTensor } from "../tensor.ts";
import { checks } from "../check.ts";

const FN = "cudaMemcpy3DAsync";

export interface Pitched {
  readonly pitch: number;
  readonly rows: number;
}

/** Copies an image's pixels from or to bytes of the host without gaps, and blocks: for experiments. Not counted. */
export function copyPixels(
  context: CudaPrimaryContext,
  array: ArrayHandle,
  { width, height, layers = 0 }: PictureSize,
  bytes: Uint8Array,
  toArray: boolean,
): void {
  const pitch = BigInt(bytes.length / (height * (layers || 1)));
  const host = { ptr: addressOf(bytes, "cuda"), pitch, xsize: BigInt(width), ysize: BigInt(height) };
  const ends = toArray ? { ...from(host), dstArray: array } : { ...to(host), srcArray: array };
  const parameters = parametersOf({ width, height, depth: layers }, ends);
  context.within(() => {
    const stream = cudaStreamLegacy as StreamHandle;
    check(cudart().cudaMemcpy3DAsync(parameters, stream), FN);
    check(cudart().cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  });
}

interface PitchedPtr {
  readonly ptr: CudaMemcpy3DParms["srcPtr_ptr"];
  readonly pitch: bigint;
  readonly xsize: bigint;
  readonly ysize: bigint;
}

export function copyArray(tensor: CudaTensor, array: CudaArray, argument: "from" | "to"): Call<StreamLane> {
  const { pitch, rows } = pitchesOf(tensor.layout, array, argument === "to" ? "from" : "to");
  const { extent, extent: { width } } = array;
  const ptr = { ptr: tensor.address, pitch: BigInt(pitch), xsize: BigInt(width), ysize: BigInt(rows) };
  const ends = argument === "to"
    ? { ...from(ptr), dstArray: array.rawHandle }
    : { ...to(ptr), srcArray: array.rawHandle };
  const parameters = parametersOf(extent, ends);
  return onStream(FN, (on) => {
    const code = cudart().cudaMemcpy3DAsync(parameters, on);
    if (code === 0 && tensor.hostHandle !== undefined) array.context.countCopied(tensor.layout.byteLength);
    return code;
  });
}

function from({ ptr, pitch, xsize, ysize }: PitchedPtr): Partial<CudaMemcpy3DParms> {
  return { srcPtr_ptr: ptr, srcPtr_pitch: pitch, srcPtr_xsize: xsize, srcPtr_ysize: ysize };
}

function to({ ptr, pitch, xsize, ysize }: PitchedPtr): Partial<CudaMemcpy3DParms> {
  return { dstPtr_ptr: ptr, dstPtr_pitch: pitch, dstPtr_xsize: xsize, dstPtr_ysize: ysize };
}

function parametersOf(
  { width, height, depth }: ArrayExtent,
  ends: Partial<CudaMemcpy3DParms>,
): Uint8Array<ArrayBuffer> {
  const parameters = new Uint8Array(cudaMemcpy3DParms.size);
  writeCudaMemcpy3DParms(new DataView(parameters.buffer), 0, {
    ...NOTHING,
    ...ends,
    extent_width: BigInt(width),
    extent_height: BigInt(height || 1),
    extent_depth: BigInt(depth || 1),
    kind: cudaMemcpyDefault,
  });
  return parameters;
}

export function pitchesOf(
  at: Layout,
  array: Pick<CudaArray, "shape" | "dtype" | "channels" | "extent">,
  argument: string,
): Pitched {
  const unfit = (what: string) => checks.unfit(argument, what, undefined, FN);
  const { dtype, channels, extent: { width, height, depth } } = array;
  const flat = channels === 1 ? array.shape.slice(0, -1) : array.shape;
  const shapes = at.shape.length === flat.length ? flat : array.shape;
  if (at.dtype !== dtype || at.shape.length !== shapes.length || at.shape.some((n, i) => n !== shapes[i])) {
    throw unfit(`it has the elements of ${describeLayout(at)}, and the array [${array.shape.join(",")}] ${dtype}.`);
  }
  const outer = [depth, height].filter((size) => size > 0).length;
  let next = sizeOf(dtype);
  for (let i = at.shape.length - 1; i >= outer; i--) {
    if (at.shape[i] > 1 && at.strides[i] !== next) throw unfit("its rows have gaps between their elements.");
    next *= at.shape[i];
  }
  const rowBytes = width * channels * sizeOf(dtype);
  const pitch = height > 1 ? at.strides[outer - 1] : rowBytes;
  const slice = depth > 1 ? at.strides[0] : pitch * (height || 1);
  if (pitch < rowBytes || slice % pitch !== 0 || slice / pitch < height) {
    throw unfit("its rows overlap, or its slices do not begin at multiples of the rows' pitch.");
  }
  return { pitch, rows: slice / pitch };
}

const NO_ARRAY = 0n as ArrayHandle;

const NOTHING: CudaMemcpy3DParms = {
  srcArray: NO_ARRAY,
  srcPos_x: 0n,
  srcPos_y: 0n,
  srcPos_z: 0n,
  srcPtr_ptr: NULL,
  srcPtr_pitch: 0n,
  srcPtr_xsize: 0n,
  srcPtr_ysize: 0n,
  dstArray: NO_ARRAY,
  dstPos_x: 0n,
  dstPos_y: 0n,
  dstPos_z: 0n,
  dstPtr_ptr: NULL,
  dstPtr_pitch: 0n,
  dstPtr_xsize: 0n,
  dstPtr_ysize: 0n,
  extent_width: 0n,
  extent_height: 0n,
  extent_depth: 0n,
  kind: cudaMemcpyDefault,
};
