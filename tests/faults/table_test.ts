/** The table of failures is complete, so that no call goes by uncounted. */
import { assertEquals } from "@std/assert";
import { FAILURES } from "./failures.ts";
import { TABLES } from "./tables.ts";

/** The template's, which no header has. */
const MADE_UP = ["fake"];

Deno.test("faults: each library of the table has its symbols in tables.ts", () => {
  const without = Object.keys(FAILURES).filter((api) => !(api in TABLES) && !MADE_UP.includes(api));
  assertEquals(without, [], "which of its functions are nonblocking is not known");
});

for (const [api, symbols] of Object.entries(TABLES)) {
  Deno.test(`faults: how each function of ${api} fails is in the table`, () => {
    assertEquals(Object.keys(symbols).filter((name) => !(name in FAILURES[api])), []);
  });
}
