import { CL_TRUE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { shown } from "../../core/argument.ts";
import { LayoutError } from "../../core/errors.ts";
import { isContiguous } from "../../core/layout/layout.ts";
import { checks, refused } from "../check.ts";
import { ImageTensor } from "../images/tensor.ts";
import type { ChannelAccess } from "../images/format.ts";
import { ORIGIN, regionOf } from "../images/native.ts";
import { opencl } from "../library.ts";
import type { Call } from "../../core/device/driver.ts";
import type { ClLane } from "../lane.ts";
import type { BaseQueue } from "../base_context.ts";
import type { BufferTensor } from "../buffers/tensor.ts";
import { assertUsable, runBlocking, type Use } from "./use.ts";

/** The four channels of a colour, as a kernel's `read_image` would return them. */
export type Colour = readonly [number, number, number, number];

/** Copies an image's pixels to the program's bytes, which have no gaps, or the other way. */
export function movePixels(
  queue: BaseQueue,
  fn: "clEnqueueReadImage" | "clEnqueueWriteImage",
  image: ImageTensor,
  bytes: ArrayBufferView,
): void {
  const access = fn === "clEnqueueReadImage" ? "read" : "write";
  const use: Use = { tensor: image, access, argument: "image", type: "image" };
  const view = checks.bytesIn(bytes, "bytes");
  assertUsable(queue, [use]);
  const length = pixelBytes(image);
  if (view.byteLength !== length) {
    throw unfit("bytes", `expected the ${length} bytes of ${image.name}'s pixels, got ${view.byteLength}.`, fn);
  }
  const region = regionOf(image.image.extent);
  runBlocking(
    queue,
    fn,
    use,
    view,
    length,
    ({ queue, waitCount, waitList, slot }, address) =>
      opencl()[fn](
        queue,
        image.rawHandle,
        CL_TRUE,
        ORIGIN,
        region,
        0n,
        0n,
        address,
        waitCount,
        waitList,
        slot,
      ),
  );
}

/**
 * Copies between two images of one format and size, or between an image and a buffer of its pixels without gaps. It uses
 * the whole buffer: PoCL 3.1 crashes on a sub-buffer.
 */
export function copyImage(queue: BaseQueue, from: ImageTensor | BufferTensor, to: ImageTensor | BufferTensor): void {
  const uses: Use[] = [
    { tensor: from, access: "read", argument: "from", ...(ImageTensor.isImage(from) ? { type: "image" } : {}) },
    { tensor: to, access: "write", argument: "to", ...(ImageTensor.isImage(to) ? { type: "image" } : {}) },
  ];
  assertUsable(queue, uses);
  queue.line.submit(uses, copying(from, to));
}

function copying(from: ImageTensor | BufferTensor, to: ImageTensor | BufferTensor): Call<ClLane> {
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
  throw refused(
    "clEnqueueCopyImage",
    "from",
    "neither of the two is an image.",
    "Between buffers it is queue.copy(from, to).",
  );
}

function assertAlike(from: ImageTensor, to: ImageTensor, fn: string): void {
  if (from.format !== to.format || String(from.image.extent) !== String(to.image.extent)) {
    throw unfit(
      "to",
      `${to.name} (${to.format.name}) is not of the format and size of ${from.name} (${from.format.name}).`,
      fn,
    );
  }
  if (from.grant.overlaps(to.grant)) throw unfit("to", `its bytes overlap those of ${from.name}.`, fn);
}

function memOf(use: ImageTensor | BufferTensor): ClMem {
  return ImageTensor.isImage(use) ? use.rawHandle : use.root.mem;
}

/** The offset of the pixels in the whole buffer. */
function bufferOffset(buffer: BufferTensor, image: ImageTensor, argument: string, fn: string): bigint {
  const { layout, name, rootOffset } = buffer;
  assertMovesRows(image, fn);
  if (!isContiguous(layout)) throw unfit(argument, `${name} has gaps; pixels in a buffer have none.`, fn);
  const length = pixelBytes(image);
  if (layout.byteLength === length) return BigInt(rootOffset);
  throw unfit(argument, `${name} has ${layout.byteLength} bytes, the pixels of ${image.name} have ${length}.`, fn);
}

/** NVIDIA's driver (580.159) cannot copy a 1D array to or from a buffer, not even by layers (CL_INVALID_VALUE). */
function assertMovesRows({ type, context: { device } }: ImageTensor, fn: string): void {
  if (type !== "1D array" || device.platform !== "NVIDIA CUDA") return;
  throw refused(
    fn,
    "image",
    `${device.platform} ${device.driver} copies no 1D array to or from a buffer.`,
    "Use a 2D image, or go through the host: queue.readImage(), queue.write().",
  );
}

/** The colour for clEnqueueFillImage, by the channel access of kernels. */
const COLOURS: {
  readonly [A in ChannelAccess]: { make(colour: Colour): ArrayBufferView<ArrayBuffer>; least: number; most: number };
} = {
  f: { make: (colour) => new Float32Array(colour), least: -Infinity, most: Infinity },
  i: { make: (colour) => new Int32Array(colour), least: -(2 ** 31), most: 2 ** 31 - 1 },
  ui: { make: (colour) => new Uint32Array(colour), least: 0, most: 2 ** 32 - 1 },
};

/** Fills an image with one colour. */
export function fillImage(queue: BaseQueue, image: ImageTensor, colour: Colour): void {
  const fn = "clEnqueueFillImage";
  const uses: Use<ImageTensor>[] = [{ tensor: image, access: "write", argument: "image", type: "image" }];
  const given: unknown[] = Array.isArray(colour) && colour.length === 4 ? [0, 1, 2, 3].map((i) => colour[i]) : [];
  assertUsable(queue, uses);
  const { access } = image.format;
  const { make, least, most } = COLOURS[access];
  const isValue = (value: unknown) =>
    typeof value === "number" && value >= least && value <= most && (access === "f" || Number.isInteger(value));
  if (given.length !== 4 || !given.every(isValue)) {
    throw refused(fn, "colour", `expected four numbers from ${least} to ${most}, got ${shown(colour)}.`);
  }
  const bytes = make(given as unknown as Colour);
  const region = regionOf(image.image.extent);
  queue.line.submit(uses, {
    fn,
    call: (lane) =>
      opencl()[fn](
        lane.queue,
        image.rawHandle,
        bytes,
        ORIGIN,
        region,
        lane.waitCount,
        lane.waitList,
        lane.slot,
      ),
  });
}

function pixelBytes({ image: { extent: [x, y, z] }, format }: ImageTensor): number {
  return x * y * z * format.bytesPerPixel;
}

function unfit(argument: string, what: string, fn: string): LayoutError {
  return new LayoutError(`${argument}: ${what}`, { api: "opencl", fn, argument });
}
