import { asNumber } from "../../ffi/address.ts";

const MOST = 4;

/** How many numbers there is room for at first: sound of a hundred channels has more. */
const ROOM = 256;

/**
 * What was found out about native objects lately, by the numbers in them: most frames are as the one before. All numbers are
 * added that the search looks at, and then {@link of} returns what was found for the same ones, or searches.
 */
export class Recent<V> {
  readonly #known: { readonly numbers: Float64Array; readonly value: V }[] = [];
  #numbers = new Float64Array(ROOM);
  #count = 0;

  /** Begins with no numbers. */
  begin(): void {
    this.#count = 0;
  }

  add(number: number): void {
    if (this.#count === this.#numbers.length) this.#grow();
    this.#numbers[this.#count++] = number;
  }

  /** The numbers of 32 bits from a byte of a struct up to another; for a struct that is not there, that it is not. */
  addWords(view: DataView | undefined, from: number, to: number): void {
    this.add(view === undefined ? 0 : 1);
    if (view !== undefined) { for (let at = from; at < to; at += 4) this.add(view.getInt32(at, true)); }
  }

  /** The numbers of 32 bits at these bytes of a struct. */
  addWordsAt(view: DataView, offsets: readonly number[]): void {
    while (this.#count + offsets.length > this.#numbers.length) this.#grow();
    const numbers = this.#numbers;
    let at = this.#count;
    for (let i = 0; i < offsets.length; i++) numbers[at++] = view.getInt32(offsets[i], true);
    this.#count = at;
  }

  /** What layouts depend on: how long blocks are, and how their addresses are aligned. */
  addBlocks(blocks: readonly { readonly address: bigint; readonly byteLength: number }[]): void {
    for (let i = 0; i < blocks.length; i++) {
      this.add(blocks[i].byteLength);
      this.add(asNumber(blocks[i].address) % 8);
    }
  }

  /** What was found for these numbers. */
  of(find: () => V): V {
    const known = this.#known;
    for (let i = 0; i < known.length; i++) if (this.#areThose(known[i].numbers)) return known[i].value;
    return this.#found(find());
  }

  #found(value: V): V {
    this.#known.unshift({ numbers: this.#numbers.slice(0, this.#count), value });
    this.#known.length = Math.min(this.#known.length, MOST);
    return value;
  }

  #areThose(numbers: Float64Array): boolean {
    const added = this.#numbers;
    if (numbers.length !== this.#count) return false;
    for (let i = 0; i < numbers.length; i++) if (numbers[i] !== added[i]) return false;
    return true;
  }

  #grow(): void {
    const before = this.#numbers;
    this.#numbers = new Float64Array(2 * before.length);
    this.#numbers.set(before);
  }
}
