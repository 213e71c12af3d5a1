/** A range in a {@link Ranges}, by which it is deleted. */
export interface Placed<T> {
  /** The item of the range. */
  readonly item: T;
}

interface Node<T> extends Placed<T> {
  readonly start: number;
  readonly end: number;
  readonly writes: boolean;
  /** Orders ranges that begin at the same byte. */
  readonly order: number;
  /** A hash. No child has a greater one than its parent, which keeps the tree shallow. */
  readonly priority: number;
  left: Node<T> | undefined;
  right: Node<T> | undefined;
  reach: number;
  /** The same for the ranges that write; -1 if no range does. */
  writersReach: number;
}

/** Below every byte. Not -Infinity, because V8 allocates room for a number that is not a small integer. */
const NO_REACH = -1;

let orders = 0;

/** Ranges of bytes, which may overlap, each with an item: an interval tree, balanced as a treap. */
export class Ranges<T> implements Iterable<T> {
  #root: Node<T> | undefined;
  #size = 0;

  /** The number of ranges. */
  get size(): number {
    return this.#size;
  }

  /** Adds `[start, end)`. `writes` marks it as a writer, for {@link some}. */
  add(item: T, start: number, end: number, writes: boolean): Placed<T> {
    const order = orders++;
    const node: Node<T> = {
      item,
      start,
      end,
      writes,
      order,
      priority: Math.imul(order, 0x9e3779b1), // Knuth's multiplicative hash: in no visible order
      left: undefined,
      right: undefined,
      reach: end,
      writersReach: writes ? end : NO_REACH,
    };
    this.#root = this.#root === undefined ? node : inserted(this.#root, node);
    this.#size++;
    return node;
  }

  /** Deletes a range that {@link add} returned and that is still here. */
  delete(placed: Placed<T>): void {
    this.#root = removed(this.#root!, placed as Node<T>);
    this.#size--;
  }

  /**
   * Calls `look` for each item that shares a byte with `[start, end)`, in order of their starts, until it returns true.
   * `look` must not change the tree.
   *
   * @returns true if `look` did.
   */
  some(start: number, end: number, which: "all" | "writers", look: (item: T) => boolean): boolean {
    return this.#root !== undefined && found(this.#root, start, end, which === "writers", look);
  }

  /** All items, in order of their starts. */
  *[Symbol.iterator](): Iterator<T> {
    const path: Node<T>[] = [];
    for (let at = this.#root; at !== undefined || path.length > 0;) {
      for (; at !== undefined; at = at.left) path.push(at);
      const node = path.pop()!;
      yield node.item;
      at = node.right;
    }
  }
}

function found<T>(at: Node<T>, start: number, end: number, onlyWriters: boolean, look: (item: T) => boolean): boolean {
  if ((onlyWriters ? at.writersReach : at.reach) <= start) return false;
  if (at.left !== undefined && found(at.left, start, end, onlyWriters, look)) return true;
  if (at.start >= end) return false;
  if (at.end > start && (at.writes || !onlyWriters) && look(at.item)) return true;
  return at.right !== undefined && found(at.right, start, end, onlyWriters, look);
}

function inserted<T>(at: Node<T>, node: Node<T>): Node<T> {
  if (isBefore(node, at)) {
    at.left = at.left === undefined ? node : inserted(at.left, node);
    if (at.left.priority > at.priority) {
      const top = at.left;
      at.left = top.right;
      top.right = measured(at);
      return measured(top);
    }
  } else {
    at.right = at.right === undefined ? node : inserted(at.right, node);
    if (at.right.priority > at.priority) {
      const top = at.right;
      at.right = top.left;
      top.left = measured(at);
      return measured(top);
    }
  }
  return measured(at);
}

function removed<T>(at: Node<T>, node: Node<T>): Node<T> | undefined {
  if (at === node) return joined(at.left, at.right);
  if (isBefore(node, at)) at.left = removed(at.left!, node);
  else at.right = removed(at.right!, node);
  return measured(at);
}

/** Two subtrees as one; the first comes before the second. */
function joined<T>(first: Node<T> | undefined, second: Node<T> | undefined): Node<T> | undefined {
  if (first === undefined) return second;
  if (second === undefined) return first;
  if (first.priority > second.priority) {
    first.right = joined(first.right, second);
    return measured(first);
  }
  second.left = joined(first, second.left);
  return measured(second);
}

function isBefore<T>(one: Node<T>, other: Node<T>): boolean {
  return one.start < other.start || (one.start === other.start && one.order < other.order);
}

function measured<T>(at: Node<T>): Node<T> {
  const { left, right } = at;
  let reach = at.end;
  let writersReach = at.writes ? at.end : NO_REACH;
  if (left !== undefined) {
    if (left.reach > reach) reach = left.reach;
    if (left.writersReach > writersReach) writersReach = left.writersReach;
  }
  if (right !== undefined) {
    if (right.reach > reach) reach = right.reach;
    if (right.writersReach > writersReach) writersReach = right.writersReach;
  }
  at.reach = reach;
  at.writersReach = writersReach;
  return at;
}
