import type { Address } from "../../ffi/address.ts";
import type { Memory } from "../core/contract.ts";
import { PointerTensor, samePointers } from "../core/tensors/pointer.ts";

/** Bytes of an AVFrame: a plane of a picture, or of sound. Its handle is an address. */
export class FFmpegTensor extends PointerTensor {}

/** FFmpeg's memory is the host's. */
export const ports: Memory<FFmpegTensor, Address> = samePointers((init) => new FFmpegTensor(init));
