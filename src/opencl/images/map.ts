import { type Address, NULL } from "../../../ffi/address.ts";
import { CL_FALSE, CL_TRUE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { Call, Exported } from "../../core/contract.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Block } from "../../core/memory/allocation.ts";
import type { Line } from "../../core/device/line.ts";
import type { Layout } from "../../core/layout/layout.ts";
import type { BaseContext } from "../base_context.ts";
import { errcode } from "../errors.ts";
import type { ClLane } from "../lane.ts";
import type { ImageTensor } from "./tensor.ts";
import { nativePitches, ORIGIN, pitchesOf, regionOf } from "./native.ts";
import { type ImageShape, pitched, type Pitches } from "./shape.ts";
import { opencl } from "../library.ts";
import { viewOf } from "../buffers/host_view.ts";
import { type MapCall, mapFlags, mapped, MappedRange, unmapOf } from "../buffers/native.ts";
import type { RootBuffer } from "../buffers/tensor.ts";

interface MappedImage {
  readonly range: MappedRange;
  readonly pitch: Pitches;
}

export interface MapImageCall extends MapCall {
  pitch: Pitches;
}

const row = new BigUint64Array(1);
const slice = new BigUint64Array(1);

export function mapImageCall(mem: ClMem, image: ImageShape, blocks: boolean, flags: bigint): MapImageCall {
  const region = regionOf(image.extent);
  const map: MapImageCall = {
    fn: "clEnqueueMapImage",
    blocks,
    address: NULL,
    pitch: image.pitch,
    call({ queue, waitCount, waitList, slot }) {
      row[0] = slice[0] = 0n;
      map.address = opencl().clEnqueueMapImage(
        queue,
        mem,
        blocks ? CL_TRUE : CL_FALSE,
        flags,
        ORIGIN,
        region,
        row,
        slice,
        waitCount,
        waitList,
        slot,
        errcode,
      );
      if (errcode[0] !== 0) return errcode[0];
      map.pitch = pitchesOf(image, Number(row[0]), Number(slice[0]));
      map.unmap = unmapOf(mem, map.address);
      return 0;
    },
  };
  return map;
}

export function mapImage(
  line: Line<ClLane>,
  mem: ClMem,
  image: ImageShape,
  flags: bigint,
): MappedImage {
  const map = mapImageCall(mem, image, true, flags);
  line.submitRaw(map);
  return { range: new MappedRange(line, map.address, () => map.unmap), pitch: map.pitch };
}

/** Maps an image, or the buffer under it, for the host; blocks. */
export function imageView(context: BaseContext, source: ImageTensor, access: Access, exact: boolean): Exported {
  const { root, bufferOffset, image, layout, format } = source;
  if (bufferOffset !== undefined) {
    const range = mapped(context, root.mem, access, bufferOffset, layout.byteLength, exact);
    return viewOf(root, range, layout.byteLength, access);
  }
  const { range, pitch } = mapImage(context.queue.line, root.mem, image, mapFlags(access, true));
  const { address } = range;
  const inPlace = address === root.hostAddress && pitch.row === image.pitch.row && pitch.slice === image.pitch.slice;
  if (inPlace) return viewOf(root, range, layout.byteLength, access);
  try {
    const at = pitched(layout, format, image.type, pitch);
    return {
      ...viewOf(root, range, at.byteLength, access),
      shown: { block: blockOf(root, address, at), layouts: [at] },
    };
  } catch (error) {
    range.end();
    throw error;
  }
}

function blockOf(root: RootBuffer, address: Address, { byteLength }: Layout): Block {
  return { kind: "opencl.map", address, byteLength, free: (fate) => void (root.kept ||= fate !== "unused") };
}

/** A driver image that is a copy of host memory. */
export interface ImageCopy {
  /** The call that copies to the image. The host's bytes must not change before it is done. */
  write(): Call<ClLane>;
  /** The call that copies back. The host's bytes must not be read before it is done. */
  read(): Call<ClLane>;
}

/** Copies between an image and host memory with the image's pitches; counted in `cl.bytesCopied`. */
export function imageCopy(
  context: BaseContext,
  mem: ClMem,
  image: ImageShape,
  address: Address,
  byteLength: number,
): ImageCopy {
  const [row, length] = nativePitches(image);
  const region = regionOf(image.extent);
  const copy = (fn: "clEnqueueReadImage" | "clEnqueueWriteImage"): Call<ClLane> => ({
    fn,
    call({ queue, waitCount, waitList, slot }) {
      const enqueue = opencl()[fn];
      const code = enqueue(queue, mem, CL_FALSE, ORIGIN, region, row, length, address, waitCount, waitList, slot);
      if (code === 0) context.countCopied(byteLength);
      return code;
    },
  });
  return { write: () => copy("clEnqueueWriteImage"), read: () => copy("clEnqueueReadImage") };
}
