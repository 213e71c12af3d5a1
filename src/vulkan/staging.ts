import type { Call } from "../core/device/driver.ts";
import type { Line } from "../core/device/line.ts";
import type { Undo } from "../core/life/undo.ts";
import { bytesAt } from "../core/native/pin.ts";
import { VulkanBuffer } from "./buffer.ts";
import { copyCall } from "./commands.ts";
import { type PixelRange, pixelsCall, rangesOf } from "./images/commands.ts";
import type { ImageObject } from "./images/image_object.ts";
import type { VulkanLane } from "./lane.ts";
import type { OpenDevice } from "./open_device.ts";

/** The length of the block. */
const LENGTH = 4 << 20;

/** Submits a command; returns its mark. */
export type Submit = (call: Call<VulkanLane>) => number;

/** Submits past all checks: for experiments. */
export function submitterOn(line: Line<VulkanLane>): Submit {
  return (call) => line.submitRaw(call).mark;
}

/** Memory that the CPU sees, through which bytes come and go. A copy is over before the next begins. */
export class Staging {
  readonly #device: OpenDevice;
  readonly #undo: Undo;
  #block: { readonly buffer: VulkanBuffer; readonly bytes: Uint8Array<ArrayBuffer> } | undefined;

  /** Makes its block when it is needed first; the undo list frees it. */
  constructor(device: OpenDevice, undo: Undo) {
    this.#device = device;
    this.#undo = undo;
  }

  /** Writes bytes to a buffer; blocks. */
  write(line: Line<VulkanLane>, submit: Submit, to: VulkanBuffer, offset: number, given: Uint8Array): void {
    const { buffer, bytes } = this.#made;
    for (let done = 0; done < given.length; done += LENGTH) {
      const part = given.subarray(done, done + LENGTH);
      bytes.set(part);
      finish(line, submit(copyCall(buffer, to, [{ from: 0, to: offset + done, length: part.length }])));
    }
  }

  /** Reads bytes of a buffer; blocks. */
  read(line: Line<VulkanLane>, submit: Submit, from: VulkanBuffer, offset: number, into: Uint8Array): void {
    const { buffer, bytes } = this.#made;
    for (let done = 0; done < into.length; done += LENGTH) {
      const part = into.subarray(done, done + LENGTH);
      finish(line, submit(copyCall(from, buffer, [{ from: offset + done, to: 0, length: part.length }])));
      part.set(bytes.subarray(0, part.length));
    }
  }

  /** Writes all pixels of an image, given without gaps; blocks. */
  writeImage(line: Line<VulkanLane>, submit: Submit, to: ImageObject, given: Uint8Array): void {
    const { buffer, bytes } = this.#made;
    inRanges(to, given, (range, part) => {
      bytes.set(part);
      finish(line, submit(pixelsCall("write", to, buffer, range)));
    });
  }

  /** Reads all pixels of an image, without gaps; blocks. */
  readImage(line: Line<VulkanLane>, submit: Submit, from: ImageObject, into: Uint8Array): void {
    const { buffer, bytes } = this.#made;
    inRanges(from, into, (range, part) => {
      finish(line, submit(pixelsCall("read", from, buffer, range)));
      part.set(bytes.subarray(0, part.length));
    });
  }

  get #made() {
    return this.#block ??= this.#make();
  }

  #make() {
    const buffer = new VulkanBuffer(this.#device, LENGTH, { from: "new", place: "host", handleTypes: 0 });
    this.#undo.push(() => buffer.free());
    return { buffer, bytes: bytesAt(buffer.address!, LENGTH, "vulkan", this.#undo) };
  }
}

/** The pixels of an image and their bytes, as many at a time as the block holds. */
function inRanges({ spec }: ImageObject, all: Uint8Array, use: (range: PixelRange, part: Uint8Array) => void): void {
  let done = 0;
  for (const range of rangesOf(spec, LENGTH)) {
    const length = range.layers * range.rows * spec.width * spec.format.bytesPerPixel;
    use(range, all.subarray(done, done += length));
  }
}

function finish(line: Line<VulkanLane>, mark: number): void {
  line.block(mark);
  line.raise(mark);
}
