import type { Address } from "../../ffi/address.ts";
import type { Memory } from "../core/contract.ts";
import { PointerTensor, samePointers } from "../core/tensors/pointer.ts";

/** Bytes of a GstBuffer: a plane of a picture, or of sound. Its handle is an address. */
export class GStreamerTensor extends PointerTensor {}

/** GStreamer's memory that the CPU sees is the host's. */
export const ports: Memory<GStreamerTensor, Address> = samePointers((init) => new GStreamerTensor(init));
