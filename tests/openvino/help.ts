import { ledger } from "@samepage/interop";
import { assertAlive } from "../alive.ts";
import { LIBRARY } from "./open.ts";

/** Why OpenVINO is missing; undefined if it is here. */
export const missing: string | undefined = LIBRARY === undefined ? "OpenVINO: deno task setup inference" : undefined;

/** A test after which no native object is left. `lacks` names what else is missing. */
export function test(name: string, fn: () => unknown, lacks?: string): void {
  const reason = missing ?? lacks;
  Deno.test({
    name: `openvino: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
    ignore: reason !== undefined,
    async fn() {
      const before = ledger.alive;
      await fn();
      await assertAlive(before, "what the test has left");
    },
  });
}
