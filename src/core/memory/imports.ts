import { messageOf, throwAll, warn } from "../errors.ts";
import { Resource } from "../life/resource.ts";
import { type Undo, unwind } from "../life/undo.ts";
import type { Allocation } from "./allocation.ts";

/** What a context keeps of another API's block. */
export interface Import {
  /** Releases it, once nothing uses it. */
  release(): void;
}

/**
 * What one context has imported of other APIs' blocks. An import costs much more than a map, so each block is imported
 * once: until the block is freed, or the context ends.
 */
export class Imports<I extends Import> {
  readonly #live = new Set<I>();

  /** `undo` releases all of them: the context's end. */
  constructor(undo: Undo) {
    undo.push(() => throwAll(this.#release([...this.#live]), "releasing imported memory"));
  }

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

  #release(imports: readonly I[]): readonly unknown[] {
    return unwind(imports.filter((one) => this.#live.delete(one)).map((one) => () => one.release()));
  }
}

const OF_OWNERS = new WeakMap<Resource, Imports<Import>>();

/** The import of a block, made on first use: until the block is freed, or its owner ends. */
export function importFor<I extends Import>(owner: Resource, allocation: Allocation, make: () => I): I {
  let imports = OF_OWNERS.get(owner);
  if (imports === undefined) {
    const undo: Undo = [];
    imports = new Imports<Import>(undo);
    new Resource({ name: `memory of other APIs in ${owner.name}`, owners: [owner], undo });
    OF_OWNERS.set(owner, imports);
  }
  return imports.of(allocation, make) as I;
}
