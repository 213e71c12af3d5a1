import { ledger } from "@samepage/interop";
import { assertAlive } from "../alive.ts";
import { LIBRARY } from "./open.ts";

/** A test after which no native object is left. It is skipped, and says so, where there is no OpenVINO. */
export function test(name: string, fn: () => unknown): void {
  const ignore = LIBRARY === undefined;
  Deno.test({
    name: `openvino: ${name}${ignore ? " (skipped: deno task setup inference)" : ""}`,
    ignore,
    async fn() {
      const before = ledger.alive;
      await fn();
      await assertAlive(before, "what the test has left");
    },
  });
}
