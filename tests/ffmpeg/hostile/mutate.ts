/** Numbers from 0 to below `most`, the same for a seed each time. */
function numbers(seed: number): (most: number) => number {
  let state = seed >>> 0;
  return (most) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return Math.floor(((word ^ (word >>> 14)) >>> 0) / 2 ** 32 * most);
  };
}

/** Numbers that lengths and counts are seldom made for. */
const EXTREMES = [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff];

/** A malformed file: the same for a seed each time. */
export function mutated(bytes: Uint8Array, seed: number): Uint8Array {
  const next = numbers(seed);
  const copy = bytes.slice();
  const view = new DataView(copy.buffer);
  // Half of them change what comes first: there the sizes are.
  const place = (room: number) => next(Math.max(1, (next(2) === 0 ? Math.min(512, copy.length) : copy.length) - room));
  for (let changes = 1 + next(6); changes > 0; changes--) {
    const kind = next(6);
    if (kind === 0) copy[place(1)] ^= 1 << next(8);
    else if (kind === 1) copy[place(1)] = next(256);
    else if (kind === 2) view.setUint32(place(4), EXTREMES[next(EXTREMES.length)], next(2) === 0);
    else if (kind === 3) view.setUint16(place(2), EXTREMES[next(EXTREMES.length)] & 0xffff, next(2) === 0);
    else if (kind === 4) copy.copyWithin(place(64), place(64), place(64));
    else copy.fill(next(256), place(32), place(1) + 1);
  }
  return next(8) === 0 ? copy.subarray(0, next(copy.length)) : copy;
}
