/** What is known by native handles. A kind says what a handle is unique among: its type in C, and its device if need be. */
export class ByHandle<T> {
  readonly #kinds = new Map<string, Map<bigint, T[]>>();

  /** All that is known by a handle, oldest first. */
  all(kind: string, handle: bigint): readonly T[] {
    return this.#kinds.get(kind)?.get(handle) ?? [];
  }

  /** The oldest of them. */
  find(kind: string, handle: bigint): T | undefined {
    return this.#kinds.get(kind)?.get(handle)?.[0];
  }

  /** Makes something known, until the returned function is called. */
  add(kind: string, handle: bigint, one: T): () => void {
    const handles = this.#kinds.get(kind) ?? new Map<bigint, T[]>();
    this.#kinds.set(kind, handles);
    const all = handles.get(handle) ?? [];
    handles.set(handle, all);
    all.push(one);
    return () => {
      const at = all.indexOf(one);
      if (at < 0) return;
      all.splice(at, 1);
      if (all.length === 0) handles.delete(handle);
      if (handles.size === 0) this.#kinds.delete(kind);
    };
  }
}
