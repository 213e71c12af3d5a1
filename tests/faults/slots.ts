import { giveSlot, type Slot, takeSlot } from "../../src/opencv/slots.ts";
import { Counted } from "./tap.ts";

/** Slots of a slab. */
const SLAB = 256;

let slabs = 0;

/** How many slots are free, of those that there are when it is asked for the first time. */
export function freeSlots(): number {
  using counted = new Counted();
  const taken: Slot[] = [];
  while (counted.calls === 0) taken.push(takeSlot()); // until a slab more is made
  taken.forEach(giveSlot);
  return taken.length - 1 - SLAB * slabs++;
}
