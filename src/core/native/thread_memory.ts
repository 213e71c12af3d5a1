/**
 * Memory for the arguments of calls on other threads. A Worker that is terminated ends while its calls go on, or have yet
 * to begin: what they read must not end with it, so it is not JavaScript memory.
 *
 * @module
 */
import { type Address, NULL } from "../../../ffi/address.ts";
import { mapPages, PAGE } from "./blocks.ts";
import { bytesAt } from "./pin.ts";

/** A Vulkan struct, and the two words that it points to. */
const SLOT_BYTES = 64;

/** Room for the arguments of one call: 64 bytes. */
export interface Slot {
  readonly address: Address;
  /** The slot as words. Native calls take these, too. */
  readonly words: BigUint64Array<ArrayBuffer>;
}

/** Slots that no call uses. Their pages stay until the process ends. */
const free: Slot[] = [];

/** Makes a call on another thread, whose arguments lie in a slot of its own until it returns. */
export async function onThread<R>(api: string, call: (slot: Slot) => Promise<R>): Promise<R> {
  if (free.length === 0) free.push(...newSlots(api));
  const slot = free.pop()!;
  try {
    return await call(slot);
  } finally {
    free.push(slot);
  }
}

function newSlots(api: string): Slot[] {
  const page = mapPages(NULL, PAGE);
  const { buffer } = bytesAt(page, PAGE, api, []);
  return Array.from({ length: PAGE / SLOT_BYTES }, (_, i) => {
    const at = i * SLOT_BYTES;
    return { address: page + BigInt(at) as Address, words: new BigUint64Array(buffer, at, SLOT_BYTES / 8) };
  });
}
