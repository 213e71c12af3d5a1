import type { Resource } from "./resource.ts";

/**
 * The safety net for what a program forgets to dispose. Whoever registers an object holds its resource here, so
 * nothing in that resource may reach the object; an explicit dispose unregisters it first.
 */
export const finalizers: FinalizationRegistry<Resource> = new FinalizationRegistry((resource) => resource.finalize());
