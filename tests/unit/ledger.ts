import { assertEquals } from "@std/assert";
import { ledger } from "../../src/core/life/ledger.ts";

export { warningsOf } from "../warnings.ts";

/** What a test that quarantines memory on purpose expects. */
export interface Expected {
  /** Bytes that are kept for good; none by default. */
  readonly quarantined?: number;
}

/** Makes a test's function of `run`: afterwards nothing that it made is alive, and nothing more is quarantined. */
export function withEmptyLedger(run: () => void | Promise<void>, expected: Expected = {}): () => Promise<void> {
  return async () => {
    const { alive, quarantinedBytes: quarantined } = ledger;
    await run();
    assertEquals(ledger.alive, alive, "what is alive after the test, and what was before it");
    assertEquals(ledger.quarantinedBytes - quarantined, expected.quarantined ?? 0, "bytes quarantined by the test");
  };
}
