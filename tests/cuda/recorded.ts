/**
 * Tests over a recording of CUDA: what is called, without a GPU.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { ledger } from "../../mod.ts";
import { type Fakes, record, unrecordable } from "./kernels/recording.ts";

/** What may be alive after a test beside what was before; nothing by default. */
export type Kept = Readonly<Record<string, number>>;

/** A test: it leaves nothing alive, but what is to be kept. */
export type RecordedTest = (name: string, run: () => unknown, kept?: Kept, lacks?: string) => void;

/** Tests of one process over one recording; where nothing can be recorded they are ignored, and say so. */
export function recordedTests(fakes: Fakes): RecordedTest {
  let ready = false;
  return (name, run, kept = {}, lacks) => {
    const reason = unrecordable ?? lacks;
    Deno.test({
      name: `cuda recorded: ${name}${reason ? ` (not here: ${reason})` : ""}`,
      ignore: reason !== undefined,
      fn: async () => {
        if (!ready) record({}, fakes);
        ready = true;
        const { alive } = ledger;
        await run();
        const more = Object.entries(kept).map(([kind, count]) => [kind, (alive[kind] ?? 0) + count]);
        assertEquals(ledger.alive, { ...alive, ...Object.fromEntries(more) }, "what is alive");
      },
    });
  };
}
