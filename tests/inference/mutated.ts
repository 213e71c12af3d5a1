/** A file in which a bit is another, or a few are, or which is cut off. */
export function mutated(file: Uint8Array<ArrayBuffer>, seed: number): Uint8Array<ArrayBuffer> {
  let state = seed * 2654435761 % 2 ** 32;
  const next = (below: number) => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return Math.floor(state / 2 ** 32 * below);
  };
  const bytes = file.slice(0, next(8) === 0 ? 1 + next(file.length) : file.length);
  for (let i = next(2) * next(4); i >= 0; i--) bytes[next(bytes.length)] ^= 1 << next(8);
  return bytes;
}
