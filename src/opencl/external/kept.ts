import { Resource } from "../../core/life/resource.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { throwAll } from "../../core/errors.ts";
import { type Import, Imports } from "../../core/memory/imports.ts";
import type { BaseContext } from "../base_context.ts";

const KEPT = new WeakMap<BaseContext, Imports<Import>>();

/**
 * What a context has imported of another API's block, once: until that is freed, or the context's queue ends, on which it is
 * handed back.
 */
export function keptImport<I extends Import>(context: BaseContext, block: Allocation, make: () => I): I {
  let imports = KEPT.get(context);
  if (imports === undefined) {
    const made = imports = new Imports<Import>();
    const undo = [() => throwAll(made.close(), "releasing imported memory")];
    new Resource({ name: `memory of other APIs in ${context.name}`, owners: [context.queue.line.resource], undo });
    KEPT.set(context, made);
  }
  return imports.of(block, make) as I;
}
