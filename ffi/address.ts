import type { Branded } from "./brand.ts";

/** An address in this process, as a `u64`: C's `void *` where no JavaScript memory stands behind it. */
export type Address = Branded<"void *">;

/** The null pointer. */
export const NULL: Address = 0n as Address;
