/**
 * Tests that decode clips. Apart from what isolates of their own import: these wait for a program as they are loaded.
 *
 * @module
 */
import { ledger } from "@samepage/interop";
import { until } from "../conformance/bytes.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { missing } from "./clips.ts";

/** A test that needs FFmpeg's libraries, its program for the clips, and what else may be lacking. */
export function testClips(
  name: string,
  run: () => void | Promise<void>,
  { quarantined = 0, lacking }: { readonly quarantined?: number; readonly lacking?: string | undefined } = {},
): void {
  const what = missing ?? lacking;
  const about = { name: what === undefined ? name : `${name} (not here: ${what})`, ignore: what !== undefined };
  Deno.test({
    ...about,
    fn: withEmptyLedger(async () => {
      await run();
      // The memory of a flag that FFmpeg has set is freed soon, and not at once.
      await until(() => ledger.alive["native.flag"] === undefined);
    }, { quarantined }),
  });
}
