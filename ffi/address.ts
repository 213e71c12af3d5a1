import type { Branded } from "./brand.ts";

/** An address in this process, as a `u64`: C's `void *` where no JavaScript memory stands behind it. */
export type Address = Branded<"void *">;

/** The null pointer. */
export const NULL: Address = 0n as Address;

const word = new BigUint64Array(1);
const halves = new Uint32Array(word.buffer);

/** An address as a number, exact below 2^53. `Number(address)` leaves compiled code, which takes longer. */
export function asNumber(address: bigint): number {
  word[0] = address;
  return halves[0] + 2 ** 32 * halves[1];
}
