import type { Address } from "../../ffi/address.ts";
import type { Memory } from "../core/contract.ts";
import { Port } from "../core/device/port.ts";
import { SAME_ADDRESS } from "../core/graph/mapper.ts";
import { PointerTensor } from "../core/tensors/pointer.ts";
import type { Part } from "../core/tensors/tensor.ts";

/** Bytes of an AVFrame: a plane of a picture, or of sound. Its handle is an address. */
export class FFmpegTensor extends PointerTensor {
  /** A part of it, over the same handle. */
  protected derive(part: Part): FFmpegTensor {
    return new FFmpegTensor(this.initOf(part));
  }
}

/** FFmpeg's memory is the host's: the address is the same on both sides. */
export const ports: Memory<FFmpegTensor, Address> = {
  exports: [{ kind: "host-pointer", judge: () => SAME_ADDRESS }],
  imports: [{ kind: "host-pointer", judge: () => SAME_ADDRESS }],
  export: ({ address }, kind, byteLength) => ({ port: new Port(kind, { value: address, byteLength }) }),
  import: ({ value }) => ({ handle: value as Address }),
  tensor: (init) => new FFmpegTensor(init),
};
