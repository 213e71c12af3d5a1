/** A range that is in a {@link Ranges}: what its owner gives back to take it out. */
export interface Placed<T> {
  /** What lies there. */
  readonly item: T;
}

/** A node of the tree. */
interface Node<T> extends Placed<T> {
  readonly start: number;
  readonly end: number;
  readonly writes: boolean;
  /** Tells ranges apart that begin at the same byte. */
  readonly order: number;
  /** Scattered: no child has a greater one than its parent, which keeps the tree shallow, whatever comes and goes. */
  readonly priority: number;
  left: Node<T> | undefined;
  right: Node<T> | undefined;
  /** The greatest end in this subtree. */
  reach: number;
  /** The same, of the ranges that write. */
  writersReach: number;
}

let orders = 0;

/**
 * Ranges of bytes, which may overlap, each with what lies there. Adding, taking out and finding what shares bytes with a
 * range cost the logarithm of how many there are: it is an interval tree, balanced as a treap. For those who write mappers.
 */
export class Ranges<T> implements Iterable<T> {
  #root: Node<T> | undefined;
  #size = 0;

  /** How many there are. */
  get size(): number {
    return this.#size;
  }

  /** Adds `[start, end)`. `writes` marks those that {@link some} finds when it is asked for writers only. */
  add(item: T, start: number, end: number, writes: boolean): Placed<T> {
    const order = orders++;
    const node: Node<T> = {
      item,
      start,
      end,
      writes,
      order,
      priority: scattered(order),
      left: undefined,
      right: undefined,
      reach: end,
      writersReach: writes ? end : -Infinity,
    };
    this.#root = this.#root === undefined ? node : inserted(this.#root, node);
    this.#size++;
    return node;
  }

  /** Takes out what {@link add} answered. It has to be in here. */
  delete(placed: Placed<T>): void {
    this.#root = removed(this.#root!, placed as Node<T>);
    this.#size--;
  }

  /**
   * Shows `look` what shares a byte with `[start, end)`, in the order of where it begins, until that answers true. `look`
   * must not change the tree.
   *
   * @returns true where `look` did.
   */
  some(start: number, end: number, which: "all" | "writers", look: (item: T) => boolean): boolean {
    return this.#root !== undefined && found(this.#root, start, end, which === "writers", look);
  }

  /** All of them, in the order of where they begin. */
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

/** The subtree with one node more. */
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

/** The subtree without one of its nodes. */
function removed<T>(at: Node<T>, node: Node<T>): Node<T> | undefined {
  if (at === node) return joined(at.left, at.right);
  if (isBefore(node, at)) at.left = removed(at.left!, node);
  else at.right = removed(at.right!, node);
  return measured(at);
}

/** One subtree of two, of which all of the first comes before all of the second. */
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

/** A number in no visible order: Knuth's multiplicative hash. */
function scattered(order: number): number {
  return Math.imul(order, 0x9e3779b1) >>> 0;
}

function isBefore<T>(one: Node<T>, other: Node<T>): boolean {
  return one.start < other.start || (one.start === other.start && one.order < other.order);
}

/** The node, once its reach is right again. */
function measured<T>(at: Node<T>): Node<T> {
  const { left, right } = at;
  let reach = at.end;
  let writersReach = at.writes ? at.end : -Infinity;
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
