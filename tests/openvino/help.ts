import { ledger } from "@samepage/interop";
import { assertAlive } from "../alive.ts";
import { LIBRARY } from "./open.ts";

/** Why there is no OpenVINO here; undefined where there is. */
export const missing: string | undefined = LIBRARY === undefined ? "OpenVINO: deno task setup inference" : undefined;

/** A test after which no native object is left. `lacks` is what else it needs that is not here. */
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
