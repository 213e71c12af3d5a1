/** The table of failures is complete, so that no call goes by uncounted. */
import { assertEquals } from "@std/assert";
import { FAILURES } from "./failures.ts";
import { TABLES } from "./tables.ts";

for (const [api, symbols] of Object.entries(TABLES)) {
  Deno.test(`faults: how each function of ${api} fails is in the table`, () => {
    assertEquals(Object.keys(symbols).filter((name) => !(name in FAILURES[api])), []);
  });
}
