import type { Address } from "../../../ffi/address.ts";
import type { ClEvent } from "../../../ffi/opencl/handles.ts";
import { Words } from "./event.ts";

const NOTHING = 0n as ClEvent;

/** The unfinished commands of a queue, by mark: the event of each that has one, and its function. */
export class EventRing {
  #words = new Words(128);
  #fns = new Array<string>(128);

  get length(): number {
    return this.#fns.length;
  }

  /** Where the driver puts the event of a mark. */
  slot(mark: number): Address {
    const { addresses } = this.#words;
    return addresses[mark & (addresses.length - 1)];
  }

  event(mark: number): ClEvent {
    const { words } = this.#words;
    return words[mark & (words.length - 1)] as ClEvent;
  }

  /** The first mark that has an event, from one mark to another; past the last if no mark has one. */
  next(first: number, last: number): number {
    let mark = first;
    while (mark <= last && this.event(mark) === NOTHING) mark++;
    return mark;
  }

  fn(mark: number): string {
    return this.#fns[mark & (this.#fns.length - 1)];
  }

  tell(mark: number, fn: string): void {
    this.#fns[mark & (this.#fns.length - 1)] = fn;
  }

  put(mark: number, event: ClEvent = NOTHING): void {
    const { words } = this.#words;
    words[mark & (words.length - 1)] = event;
  }

  /** Makes room for twice as many commands; keeps those from one mark to another. */
  grow(first: number, last: number): void {
    const [words, fns] = [this.#words, this.#fns];
    this.#words = new Words(2 * fns.length);
    this.#fns = new Array<string>(2 * fns.length);
    for (let mark = first; mark <= last; mark++) {
      const at = mark & (fns.length - 1);
      this.put(mark, words.words[at] as ClEvent);
      this.tell(mark, fns[at]);
    }
  }
}
