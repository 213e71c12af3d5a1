import { type Address, NULL } from "../../ffi/address.ts";
import { INPUT_ARRAY_NONE } from "../../ffi/opencv_core/constants.ts";
import { InputArray, Mat, UMat, UMatData, writeInputArray } from "../../ffi/opencv_core/structs.ts";
import { mapBlock, PAGE } from "../core/native/blocks.ts";
import { viewAt } from "./memory.ts";

/** The offsets of a slot's parts: one header, the UMatData of a UMat, and the input and output arrays over them. */
const HEADER = 0;
const DATA = round(Math.max(Mat.size, UMat.size));
const INPUT = DATA + round(UMatData.size);
const OUTPUT = INPUT + round(InputArray.size);
const SIZE = round(OUTPUT + InputArray.size, 64);

const SLOTS_A_SLAB = 256;

function round(bytes: number, multiple = 16): number {
  return Math.ceil(bytes / multiple) * multiple;
}

/** Where a header's sizes and steps are (MatSize::p, MatStep::p). */
export interface Grid {
  /** The sizes. */
  readonly size_p: Address;
  /** The steps. */
  readonly step_p: Address;
}

/** All bytes of a slot. Not for other rooms, because OpenCV follows every pointer in them. */
export let viewOf: (slot: Slot) => DataView;

/** Memory for one `cv::Mat` or `cv::UMat`, filled in without a native call. Reused slots keep their last contents. */
export class Slot {
  readonly #view: DataView;
  /** The address of the header: the tensor's handle. */
  readonly header: Address;
  /** The address of the UMatData. */
  readonly data: Address;
  /** The address of the `_InputArray` over the header. */
  readonly input: Address;
  /** The address of the `_OutputArray` over it. */
  readonly output: Address;

  /** Two dimensions have room in the header itself: MatSize::p is `&rows`, MatStep::p is MatStep::buf. */
  readonly matGrid: Grid;
  /** The same of a UMat. */
  readonly umatGrid: Grid;

  /** A part of a slab at an address. */
  constructor(view: DataView, address: Address) {
    this.#view = view;
    this.header = address + BigInt(HEADER) as Address;
    this.data = address + BigInt(DATA) as Address;
    this.input = address + BigInt(INPUT) as Address;
    this.output = address + BigInt(OUTPUT) as Address;
    this.matGrid = gridWithin(this.header, Mat);
    this.umatGrid = gridWithin(this.header, UMat);
  }

  static {
    viewOf = (slot) => slot.#view;
  }
}

function gridWithin(header: Address, { fields: { rows, step_buf_0 } }: typeof Mat | typeof UMat): Grid {
  return { size_p: header + BigInt(rows.offset) as Address, step_p: header + BigInt(step_buf_0.offset) as Address };
}

export const AT = { header: HEADER, data: DATA, input: INPUT, output: OUTPUT } as const;

const free: Slot[] = [];

const slabs: Address[] = [];

export function takeSlot(): Slot {
  if (free.length === 0) addSlab();
  return free.pop()!;
}

/** Returns a slot that `fill` has filled in. If `fill` throws, the slot is returned to the free ones. */
export function filledSlot(fill: (slot: Slot) => void): Slot {
  const slot = takeSlot();
  try {
    fill(slot);
    return slot;
  } catch (error) {
    giveSlot(slot);
    throw error;
  }
}

/** True if the address lies in a slot, so that OpenCV did not make the object. */
export function isInSlot(address: Address): boolean {
  return slabs.some((slab) => slab <= address && address < slab + BigInt(SLOTS_A_SLAB * SIZE));
}

/** Returns a slot to the free ones. Native code must not use its address any more. */
export function giveSlot(slot: Slot): void {
  free.push(slot);
}

/** Adds slots that are never freed and that JavaScript does not own: OpenCV may use a UMatData after its Worker has ended. */
function addSlab(): void {
  const { address } = mapBlock({ byteLength: SLOTS_A_SLAB * SIZE, align: PAGE, sharable: false, guard: false });
  const slab = viewAt(address, SLOTS_A_SLAB * SIZE).buffer as ArrayBuffer;
  slabs.push(address);
  for (let at = (SLOTS_A_SLAB - 1) * SIZE; at >= 0; at -= SIZE) {
    free.push(new Slot(new DataView(slab, at, SIZE), address + BigInt(at) as Address));
  }
}

let none: Slot | undefined;

/** `cv::noArray()`: stands for an argument that is left out. */
export function noArray(): Address {
  if (none === undefined) {
    none = takeSlot();
    writeInputArray(viewOf(none), AT.input, { flags: INPUT_ARRAY_NONE, obj: NULL, sz_width: 0, sz_height: 0 });
  }
  return none.input;
}
