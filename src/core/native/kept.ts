import { RTLD_NODELETE, RTLD_NOLOAD, RTLD_NOW } from "../../../ffi/libc/constants.ts";
import { libc } from "./libc.ts";
import { openingOf } from "./library.ts";

/**
 * Makes the loader keep the library of an API that was just opened. Deno closes a Worker's libraries when the Worker
 * ends, even in the middle of a wait on another thread.
 */
export function keptLoaded<F>(api: string, opened: F): F {
  const path = new TextEncoder().encode(`${openingOf(api)!.path}\0`);
  libc().dlopen?.(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE); // it is open: this finds it
  return opened;
}
