/**
 * Tests that decode clips. Apart from what isolates of their own import: these wait for a program as they are loaded.
 *
 * @module
 */
import { ledger } from "@samepage/interop";
import { until } from "../conformance/bytes.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { missing } from "./clips.ts";

/** A test that needs FFmpeg's libraries, and its program for the clips. */
export function testClips(name: string, run: () => void | Promise<void>, quarantined = 0): void {
  const about = {
    name: missing === undefined ? name : `${name} (not here: ${missing})`,
    ignore: missing !== undefined,
  };
  Deno.test({
    ...about,
    fn: withEmptyLedger(async () => {
      await run();
      // The memory of a flag that FFmpeg has set is freed soon, and not at once.
      await until(() => ledger.alive["native.flag"] === undefined);
    }, { quarantined }),
  });
}
