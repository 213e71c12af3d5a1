import { assertEquals } from "@std/assert";
import { ledger } from "../mod.ts";
import { until } from "./conformance/bytes.ts";

/** As much is alive as before, once the waits of other threads have come back: they hold what they wait for. */
export async function assertAlive(before: typeof ledger.alive, what: string): Promise<void> {
  await until(() => JSON.stringify(ledger.alive) === JSON.stringify(before));
  assertEquals(ledger.alive, before, what);
}
