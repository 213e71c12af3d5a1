import { LibraryNotFoundError } from "../../mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";

/** Why UCX cannot be tested here; undefined where it can. */
export const missing: string | undefined = (() => {
  try {
    UcxContext.open({ transports: ["tcp"] })[Symbol.dispose]();
    return undefined;
  } catch (error) {
    if (error instanceof LibraryNotFoundError) return "no libucp";
    throw error;
  }
})();

export function ucxTest(name: string, fn: () => void | Promise<void>): void {
  Deno.test({
    name: `${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    fn,
  });
}

/** Those that two processes of one machine have, and the loopback device. */
export const TRANSPORTS = ["posix", "tcp"] as const;
