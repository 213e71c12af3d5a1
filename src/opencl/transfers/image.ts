import { CL_TRUE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { isGapless } from "../../core/layout/layout.ts";
import { checks, refused } from "../check.ts";
import { ImageTensor } from "../images/tensor.ts";
import { ORIGIN, regionOf } from "../images/native.ts";
import { opencl } from "../library.ts";
import type { Call } from "../../core/contract.ts";
import { colourIn, type FillValue } from "../../core/device/pattern.ts";
import type { Direction, HostBytes } from "../../core/device/queue.ts";
import type { ClLane } from "../lane.ts";
import type { BufferTensor } from "../buffers/tensor.ts";
import type { MemTensor } from "./commands.ts";

/** The command that copies an image's pixels to the program's bytes, which have no gaps, or back. */
export function movePixels(
  direction: Direction,
  { rawHandle, image }: ImageTensor,
  { address }: HostBytes,
): Call<ClLane> {
  const fn = direction === "read" ? "clEnqueueReadImage" : "clEnqueueWriteImage";
  const region = regionOf(image.extent);
  return {
    fn,
    blocks: true,
    call: ({ queue, waitCount, waitList, slot }) =>
      opencl()[fn](queue, rawHandle, CL_TRUE, ORIGIN, region, 0n, 0n, address, waitCount, waitList, slot),
  };
}

/**
 * The command that copies between two images of one format and size, or between an image and a buffer of its pixels
 * without gaps. It uses the whole buffer: PoCL 3.1 crashes on a sub-buffer. Undefined between two buffers.
 */
export function copyImage(from: MemTensor, to: MemTensor): Call<ClLane> | undefined {
  const [source, target] = [memOf(from), memOf(to)];
  if (ImageTensor.isImage(from) && ImageTensor.isImage(to)) {
    const fn = "clEnqueueCopyImage";
    assertAlike(from, to, fn);
    const region = regionOf(from.image.extent);
    return {
      fn,
      call: ({ queue, waitCount, waitList, slot }) =>
        opencl()[fn](queue, source, target, ORIGIN, ORIGIN, region, waitCount, waitList, slot),
    };
  }
  if (ImageTensor.isImage(from)) {
    const fn = "clEnqueueCopyImageToBuffer";
    const offset = bufferOffset(to as BufferTensor, from, "to", fn);
    const region = regionOf(from.image.extent);
    return {
      fn,
      call: ({ queue, waitCount, waitList, slot }) =>
        opencl()[fn](queue, source, target, ORIGIN, region, offset, waitCount, waitList, slot),
    };
  }
  if (ImageTensor.isImage(to)) {
    const fn = "clEnqueueCopyBufferToImage";
    const offset = bufferOffset(from, to, "from", fn);
    const region = regionOf(to.image.extent);
    return {
      fn,
      call: ({ queue, waitCount, waitList, slot }) =>
        opencl()[fn](queue, source, target, offset, ORIGIN, region, waitCount, waitList, slot),
    };
  }
  return undefined;
}

function assertAlike(from: ImageTensor, to: ImageTensor, fn: string): void {
  if (from.format !== to.format || String(from.image.extent) !== String(to.image.extent)) {
    throw checks.unfit(
      "to",
      `${to.name} (${to.format.name}) is not of the format and size of ${from.name} (${from.format.name}).`,
      undefined,
      fn,
    );
  }
  if (from.grant.overlaps(to.grant)) {
    throw checks.unfit("to", `its bytes overlap those of ${from.name}.`, undefined, fn);
  }
}

function memOf(use: MemTensor): ClMem {
  return ImageTensor.isImage(use) ? use.rawHandle : use.root.mem;
}

function bufferOffset(buffer: BufferTensor, image: ImageTensor, argument: string, fn: string): bigint {
  const { layout, name, rootOffset } = buffer;
  assertMovesRows(image, fn);
  if (!isGapless(layout)) {
    throw checks.unfit(argument, `${name} has gaps; pixels in a buffer have none.`, undefined, fn);
  }
  const length = pixelBytes(image);
  if (layout.byteLength === length) return BigInt(rootOffset);
  throw checks.unfit(
    argument,
    `${name} has ${layout.byteLength} bytes, the pixels of ${image.name} have ${length}.`,
    undefined,
    fn,
  );
}

/** NVIDIA's driver (580.159) cannot copy a 1D array to or from a buffer, not even by layers (CL_INVALID_VALUE). */
function assertMovesRows({ type, context: { device } }: ImageTensor, fn: string): void {
  if (type !== "1D array" || device.platform !== "NVIDIA CUDA") return;
  throw refused(
    fn,
    "image",
    `${device.platform} ${device.driver} copies no 1D array to or from a buffer.`,
    "Use a 2D image, or go through the host: queue.read(), queue.write().",
  );
}

const CHANNELS = { f: "float", i: "int", ui: "uint" } as const;

export function fillImage({ rawHandle, image, format }: ImageTensor, value: FillValue): Call<ClLane> {
  const fn = "clEnqueueFillImage";
  const bytes = colourIn(value, checks, CHANNELS[format.access]);
  const region = regionOf(image.extent);
  return {
    fn,
    call: ({ queue, waitCount, waitList, slot }) =>
      opencl()[fn](queue, rawHandle, bytes, ORIGIN, region, waitCount, waitList, slot),
  };
}

export function pixelBytes({ image: { extent: [x, y, z] }, format }: ImageTensor): number {
  return x * y * z * format.bytesPerPixel;
}
