import { giveSlot, type Slot, takeSlot } from "../../src/opencv/slots.ts";

/** Slots of a slab. */
const SLAB = 256;

let slabs = 0;

/** How many slots are free, of those that there are when it is asked for the first time. */
export function freeSlots(): number {
  const taken: Slot[] = [];
  const { create } = Deno.UnsafePointer;
  let hasLooked = false;
  Deno.UnsafePointer.create = (address) => {
    hasLooked = true; // at a new slab: nothing else does here
    return create(address);
  };
  try {
    while (!hasLooked) taken.push(takeSlot());
  } finally {
    Deno.UnsafePointer.create = create;
  }
  taken.forEach(giveSlot);
  return taken.length - 1 - SLAB * slabs++;
}
