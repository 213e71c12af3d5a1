/** Bytes that repeat after 251, which is not a length of a row: a pixel in another's place is seen. */
export function pattern(length: number, seed: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + seed) % 251);
}
