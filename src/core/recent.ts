const MOST = 4;

/** What was found out about native objects lately, by the numbers in them: most frames are as the one before. */
export class Recent<V> {
  readonly #known: { readonly numbers: Float64Array; readonly value: V }[] = [];

  /** @param numbers all that `find` looks at; they may change after the call */
  of(numbers: Float64Array, find: () => V): V {
    for (const known of this.#known) if (isSame(known.numbers, numbers)) return known.value;
    const value = find();
    this.#known.unshift({ numbers: numbers.slice(), value });
    this.#known.length = Math.min(this.#known.length, MOST);
    return value;
  }
}

function isSame(a: Float64Array, b: Float64Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
