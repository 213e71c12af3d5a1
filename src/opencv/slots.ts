import type { Address } from "../../ffi/address.ts";
import { InputArray, Mat, UMat, UMatData } from "../../ffi/opencv_core/structs.ts";
import { mapBlock, PAGE } from "../core/blocks.ts";
import { permitted } from "../core/library.ts";

/** Where each part of a slot lies: one header, the data of a UMat, and what OpenCV's functions take for either. */
const HEADER = 0;
const DATA = round(Math.max(Mat.size, UMat.size));
const INPUT = DATA + round(UMatData.size);
const OUTPUT = INPUT + round(InputArray.size);
const SIZE = round(OUTPUT + InputArray.size, 64);

const SLOTS_A_SLAB = 256;

function round(bytes: number, multiple = 16): number {
  return Math.ceil(bytes / multiple) * multiple;
}

/**
 * Memory for one `cv::Mat` or `cv::UMat` that is filled in from here, without a native call. Slots are used again: what
 * was in one says nothing of what is.
 */
export class Slot {
  /** All of its bytes. */
  readonly view: DataView;
  /** The address of the header: the tensor's handle. */
  readonly header: Address;
  /** The address of the UMatData. */
  readonly data: Address;
  /** The address of the `_InputArray` over the header. */
  readonly input: Address;
  /** The address of the `_OutputArray` over it. */
  readonly output: Address;

  /** A part of a slab at an address. */
  constructor(view: DataView, address: Address) {
    this.view = view;
    this.header = address + BigInt(HEADER) as Address;
    this.data = address + BigInt(DATA) as Address;
    this.input = address + BigInt(INPUT) as Address;
    this.output = address + BigInt(OUTPUT) as Address;
  }
}

/** Where the parts lie in a slot's view. */
export const AT = { header: HEADER, data: DATA, input: INPUT, output: OUTPUT } as const;

const free: Slot[] = [];

/** A slot that nobody has. */
export function takeSlot(): Slot {
  if (free.length === 0) addSlab();
  return free.pop()!;
}

/** Gives a slot back: nothing native may know its address any more. */
export function giveSlot(slot: Slot): void {
  free.push(slot);
}

/**
 * Slabs are never given back: OpenCV may come back to a UMatData after the Worker that made it has ended. So they are
 * no memory of JavaScript's.
 */
function addSlab(): void {
  const { address } = mapBlock({ byteLength: SLOTS_A_SLAB * SIZE, align: PAGE, sharable: false, guard: false });
  const slab = permitted("to look at memory", "opencv", () => {
    const pointer = Deno.UnsafePointer.create(address)!;
    return Deno.UnsafePointerView.getArrayBuffer(pointer, SLOTS_A_SLAB * SIZE) as ArrayBuffer;
  });
  for (let at = (SLOTS_A_SLAB - 1) * SIZE; at >= 0; at -= SIZE) {
    free.push(new Slot(new DataView(slab, at, SIZE), address + BigInt(at) as Address));
  }
}
