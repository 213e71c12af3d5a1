import { messageOf } from "../errors.ts";
import { unwind } from "../life/undo.ts";
import { warn } from "../warn.ts";
import type { Allocation } from "./allocation.ts";

export interface Import {
  /** Releases it; nothing uses it any more. */
  release(): void;
}

/**
 * What one context has imported of other APIs' blocks. An import costs much more than a map, so each block is imported
 * once: until the block is freed, or the context ends.
 */
export class Imports<I extends Import> {
  readonly #live = new Set<I>();

  /** The import of a block, made on first use. */
  of(allocation: Allocation, make: () => I): I {
    return allocation.attachment(this, () => {
      const made = make();
      this.#live.add(made);
      allocation.beforeFree(() => {
        // The block is freed all the same.
        for (const error of this.#release([made])) warn(`releasing an import failed: ${messageOf(error)}`);
      });
      return made;
    });
  }

  /** The context ends: releases all of them. Returns what failed. */
  close(): readonly unknown[] {
    return this.#release([...this.#live]);
  }

  #release(imports: readonly I[]): readonly unknown[] {
    return unwind(imports.filter((one) => this.#live.delete(one)).map((one) => () => one.release()));
  }
}
