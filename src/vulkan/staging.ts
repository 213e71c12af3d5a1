import type { Call } from "../core/contract.ts";
import type { Line } from "../core/device/line.ts";
import type { Direction } from "../core/device/queue.ts";
import type { Undo } from "../core/life/undo.ts";
import { bytesAt } from "../core/native/pin.ts";
import { VulkanBuffer } from "./buffer.ts";
import { copyCall } from "./commands.ts";
import { pixelsCall, rangesOf } from "./images/commands.ts";
import type { ImageObject } from "./images/image_object.ts";
import type { VulkanLane } from "./lane.ts";
import type { OpenDevice } from "./open_device.ts";
import type { VulkanTensor } from "./tensor.ts";

const LENGTH = 4 << 20;

/** Bytes of a buffer from an offset on, or all pixels of an image without gaps. */
export type Staged = { readonly buffer: VulkanBuffer; readonly offset: number } | ImageObject;

/** Copies bytes for experiments, without any checks. Both functions block. */
export interface Copies<T> {
  /** Copies to the device. */
  write(to: T, bytes: Uint8Array): void;
  /** Copies from the device. */
  read(from: T, into: Uint8Array): void;
}

/** A block that the CPU sees, through which bytes are copied. A copy is over before the next begins. */
export class Staging {
  readonly #device: OpenDevice;
  readonly #undo: Undo;
  #block: { readonly buffer: VulkanBuffer; readonly bytes: Uint8Array<ArrayBuffer> } | undefined;

  /** Makes the block on first use; `undo` frees it. */
  constructor(device: OpenDevice, undo: Undo) {
    this.#device = device;
    this.#undo = undo;
  }

  /** Commands that write the bytes, or read into them: each is over before the next is made, and the last before the end. */
  *moves(direction: Direction, at: Staged, bytes: Uint8Array): Generator<Call<VulkanLane>> {
    const block = this.#made;
    let done = 0;
    for (const { length, call } of piecesOf(direction, at, bytes.length, block.buffer)) {
      const part = bytes.subarray(done, done += length);
      if (direction === "write") block.bytes.set(part);
      yield call;
      if (direction === "read") part.set(block.bytes.subarray(0, length));
    }
  }

  /** Copies on a line for experiments. */
  copiesOn<T>(line: Line<VulkanLane>, placeOf: (of: T) => Staged): Copies<T> {
    const move = (direction: Direction, of: T, bytes: Uint8Array) => {
      for (const call of this.moves(direction, placeOf(of), bytes)) line.submitRaw(call).waitSync();
    };
    return { write: (to, bytes) => move("write", to, bytes), read: (from, into) => move("read", from, into) };
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

export function placeOf({ rawHandle: buffer, layout: { byteOffset: offset } }: VulkanTensor): Staged {
  return { buffer, offset };
}

/** Pieces of at most the block's length, each with the command that copies it to or from the block's beginning. */
function* piecesOf(direction: Direction, at: Staged, byteLength: number, block: VulkanBuffer) {
  if ("spec" in at) {
    for (const range of rangesOf(at.spec, LENGTH)) {
      const length = range.layers * range.rows * at.spec.width * at.spec.format.bytesPerPixel;
      yield { length, call: pixelsCall(direction, at, block, range) };
    }
    return;
  }
  for (let done = 0; done < byteLength; done += LENGTH) {
    const [place, length] = [at.offset + done, Math.min(LENGTH, byteLength - done)];
    const call = direction === "write"
      ? copyCall(block, at.buffer, [{ from: 0, to: place, length }])
      : copyCall(at.buffer, block, [{ from: place, to: 0, length }]);
    yield { length, call };
  }
}
