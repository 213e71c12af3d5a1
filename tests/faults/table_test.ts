/** The table of failures is complete, so that no call goes by uncounted. */
import { assertEquals } from "@std/assert";
import { SYMBOLS as LIBC } from "../../ffi/libc/symbols.ts";
import { SYMBOLS as OPENCL } from "../../ffi/opencl/symbols.ts";
import { SYMBOLS as OPENCL_USM } from "../../ffi/opencl_usm/symbols.ts";
import { FAILURES } from "./failures.ts";

for (const [api, symbols] of Object.entries({ libc: LIBC, opencl: OPENCL, opencl_usm: OPENCL_USM })) {
  Deno.test(`faults: how each function of ${api} fails is in the table`, () => {
    assertEquals(Object.keys(symbols).filter((name) => !(name in FAILURES[api])), []);
  });
}
