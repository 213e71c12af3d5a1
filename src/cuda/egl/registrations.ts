import { throwAll } from "../../core/errors.ts";
import { Resource } from "../../core/life/resource.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import { type Import, Imports } from "../../core/memory/imports.ts";
import type { CudaPrimaryContext } from "../base.ts";

const REGISTERED = new WeakMap<CudaPrimaryContext, Imports<Import>>();

/** What a context has registered of an OpenGL or EGL block, once: until that is freed, or the context ends. */
export function registrationOf<I extends Import>(context: CudaPrimaryContext, block: Allocation, make: () => I): I {
  let known = REGISTERED.get(context);
  if (known === undefined) {
    const imports = known = new Imports<Import>();
    const undo = [() => throwAll(imports.close(), "unregistering what is OpenGL's")];
    new Resource({ name: `what ${context.name} has of OpenGL's`, owners: [context.resource], undo });
    REGISTERED.set(context, known);
  }
  return known.of(block, make) as I;
}
