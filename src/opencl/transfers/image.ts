import { CL_TRUE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { shown } from "../../core/argument.ts";
import { ArgumentError, LayoutError } from "../../core/errors.ts";
import { isContiguous } from "../../core/layout/layout.ts";
import { bytesIn } from "../check.ts";
import { OpenCLImage } from "../image.ts";
import type { ChannelAccess } from "../images/format.ts";
import { ORIGIN, regionOf } from "../images/native.ts";
import { opencl } from "../library.ts";
import type { Call } from "../../core/device/driver.ts";
import type { ClLane } from "../lane.ts";
import type { OpenCLQueue } from "../queue.ts";
import type { OpenCLTensor } from "../tensor.ts";
import { assertUsable, runBlocking, type Use } from "./use.ts";

/** The four channels of a colour, as a kernel's `read_image` would return them. */
export type Colour = readonly [number, number, number, number];

/** Copies an image's pixels to the program's bytes, without gaps. */
export function readImage(queue: OpenCLQueue, image: OpenCLImage, bytes: ArrayBufferView): void {
  transfer(queue, "clEnqueueReadImage", { tensor: image, access: "read", argument: "image", type: "image" }, bytes);
}

/** Copies the program's bytes, which have no gaps, to an image's pixels. */
export function writeImage(queue: OpenCLQueue, image: OpenCLImage, bytes: ArrayBufferView): void {
  transfer(
    queue,
    "clEnqueueWriteImage",
    { tensor: image, access: "write", argument: "image", type: "image" },
    bytes,
  );
}

function transfer(
  queue: OpenCLQueue,
  fn: "clEnqueueReadImage" | "clEnqueueWriteImage",
  use: Use<OpenCLImage>,
  bytes: ArrayBufferView,
): void {
  const view = bytesIn(bytes, "bytes");
  assertUsable(queue, [use]);
  const { tensor: image } = use;
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
export function copyImage(queue: OpenCLQueue, from: OpenCLImage | OpenCLTensor, to: OpenCLImage | OpenCLTensor): void {
  const uses: Use[] = [
    { tensor: from, access: "read", argument: "from", ...(OpenCLImage.isImage(from) ? { type: "image" } : {}) },
    { tensor: to, access: "write", argument: "to", ...(OpenCLImage.isImage(to) ? { type: "image" } : {}) },
  ];
  assertUsable(queue, uses);
  queue.line.submit(uses, copying(from, to));
}

function copying(from: OpenCLImage | OpenCLTensor, to: OpenCLImage | OpenCLTensor): Call<ClLane> {
  const [source, target] = [memOf(from), memOf(to)];
  if (OpenCLImage.isImage(from) && OpenCLImage.isImage(to)) {
    const fn = "clEnqueueCopyImage";
    assertAlike(from, to, fn);
    const region = regionOf(from.image.extent);
    return {
      fn,
      call: ({ queue, waitCount, waitList, slot }) =>
        opencl()[fn](queue, source, target, ORIGIN, ORIGIN, region, waitCount, waitList, slot),
    };
  }
  if (OpenCLImage.isImage(from)) {
    const fn = "clEnqueueCopyImageToBuffer";
    const offset = bufferOffset(to as OpenCLTensor, from, "to", fn);
    const region = regionOf(from.image.extent);
    return {
      fn,
      call: ({ queue, waitCount, waitList, slot }) =>
        opencl()[fn](queue, source, target, ORIGIN, region, offset, waitCount, waitList, slot),
    };
  }
  if (OpenCLImage.isImage(to)) {
    const fn = "clEnqueueCopyBufferToImage";
    const offset = bufferOffset(from, to, "from", fn);
    const region = regionOf(to.image.extent);
    return {
      fn,
      call: ({ queue, waitCount, waitList, slot }) =>
        opencl()[fn](queue, source, target, offset, ORIGIN, region, waitCount, waitList, slot),
    };
  }
  throw new ArgumentError("from: neither of the two is an image.", {
    api: "opencl",
    fn: "clEnqueueCopyImage",
    argument: "from",
    hint: "Between buffers it is queue.copy(from, to).",
  });
}

function assertAlike(from: OpenCLImage, to: OpenCLImage, fn: string): void {
  if (from.format !== to.format || String(from.image.extent) !== String(to.image.extent)) {
    throw unfit(
      "to",
      `${to.name} (${to.format.name}) is not of the format and size of ${from.name} (${from.format.name}).`,
      fn,
    );
  }
  if (from.grant.overlaps(to.grant)) throw unfit("to", `its bytes overlap those of ${from.name}.`, fn);
}

function memOf(use: OpenCLImage | OpenCLTensor): ClMem {
  return OpenCLImage.isImage(use) ? use.rawHandle : use.root.mem;
}

/** The offset of the pixels in the whole buffer. */
function bufferOffset(buffer: OpenCLTensor, image: OpenCLImage, argument: string, fn: string): bigint {
  const { layout, name, rootOffset } = buffer;
  assertMovesRows(image, fn);
  if (!isContiguous(layout)) throw unfit(argument, `${name} has gaps; pixels in a buffer have none.`, fn);
  const length = pixelBytes(image);
  if (layout.byteLength === length) return BigInt(rootOffset);
  throw unfit(argument, `${name} has ${layout.byteLength} bytes, the pixels of ${image.name} have ${length}.`, fn);
}

/** NVIDIA's driver (580.159) cannot copy a 1D array to or from a buffer, not even by layers (CL_INVALID_VALUE). */
function assertMovesRows({ type, context: { device } }: OpenCLImage, fn: string): void {
  if (type !== "1D array" || device.platform !== "NVIDIA CUDA") return;
  throw new ArgumentError(`image: ${device.platform} ${device.driver} copies no 1D array to or from a buffer.`, {
    api: "opencl",
    fn,
    argument: "image",
    hint: "Use a 2D image, or go through the host: queue.readImage(), queue.write().",
  });
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
export function fillImage(queue: OpenCLQueue, image: OpenCLImage, colour: Colour): void {
  const fn = "clEnqueueFillImage";
  const uses: Use<OpenCLImage>[] = [{ tensor: image, access: "write", argument: "image", type: "image" }];
  const given: unknown[] = Array.isArray(colour) && colour.length === 4 ? [0, 1, 2, 3].map((i) => colour[i]) : [];
  assertUsable(queue, uses);
  const { access } = image.format;
  const { make, least, most } = COLOURS[access];
  const isValue = (value: unknown) =>
    typeof value === "number" && value >= least && value <= most && (access === "f" || Number.isInteger(value));
  if (given.length !== 4 || !given.every(isValue)) {
    throw new ArgumentError(`colour: expected four numbers from ${least} to ${most}, got ${shown(colour)}.`, {
      api: "opencl",
      fn,
      argument: "colour",
    });
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

function pixelBytes({ image: { extent: [x, y, z] }, format }: OpenCLImage): number {
  return x * y * z * format.bytesPerPixel;
}

function unfit(argument: string, what: string, fn: string): LayoutError {
  return new LayoutError(`${argument}: ${what}`, { api: "opencl", fn, argument });
}
