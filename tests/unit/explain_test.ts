// What graph.explain() and the errors of graph.map() say to a program.

import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, host, MapperGraph } from "@samepage/interop";
import { EBADF, EMFILE, EPERM } from "../../ffi/libc/errors.ts";
import { duplicateFd } from "../../src/core/native/fd.ts";
import { errnoError } from "../../src/core/native/libc.ts";

const BYTES = { shape: [4], dtype: "u8" } as const;

Deno.test("explain() of bytes that are lent is a closed route, which says to whom; map() throws", async () => {
  using graph = new MapperGraph([host]);
  using tensor = host.allocate(BYTES);
  {
    using _writer = graph.map(tensor, host);
    const route = graph.explain(tensor, host, { access: "read" });
    assertEquals([route.open, route.steps], [false, []]);
    assertMatch(`${route}`, /^no route\nhost→host: closed: .* are lent to its slice .* Dispose that first\.$/);
    assertThrows(() => graph.map(tensor, host, { access: "read" }), AccessError);
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const lent = tensor.lend(() => promise);
  assertMatch(`${graph.explain(tensor, host)}`, /lent to its promise \(tensor\.lend\).*Await that first\.$/);
  resolve();
  await lent;
  using reader = graph.map(tensor, host, { access: "read" });
  const [{ remedy }] = graph.explain(reader, host, { access: "write" }).refused;
  assertMatch(remedy!, /^Ask for it when it is made/);
});

Deno.test("explain() says why the host waits, for whose work, and what can never be waited for", async () => {
  using graph = new MapperGraph([host]);
  using tensor = host.allocate(BYTES);
  assertEquals(`${graph.explain(tensor, host)}`, "no step: the bytes are there already");
  const { promise, resolve } = Promise.withResolvers<void>();
  tensor.usedBy(host.signal(promise));
  const { waitReason, open } = graph.explain(tensor, host);
  assertEquals(open, true);
  assertMatch(waitReason!, /the work of a signal of the host \(behind a promise: settle that first\)$/);
  assertThrows(() => graph.map(tensor, host), AccessError, "could never end");
  resolve();
  await tensor.finished();
  assertEquals(graph.explain(tensor, host).waitReason, undefined);
});

Deno.test("explain() still throws for what was disposed", () => {
  using graph = new MapperGraph([host]);
  const tensor = host.allocate(BYTES);
  tensor[Symbol.dispose]();
  assertThrows(() => graph.explain(tensor, host), DisposedError);
});

Deno.test("map() of a typed array names host.wrap()", () => {
  using graph = new MapperGraph([host]);
  for (const given of [new Uint8Array(4), new DataView(new ArrayBuffer(4)), new ArrayBuffer(4)]) {
    // deno-lint-ignore no-explicit-any -- what TypeScript refuses
    const error = assertThrows(() => graph.map(given as any, host), ArgumentError);
    assertMatch(error.message, new RegExp(`got an? ${given.constructor.name}\\.`));
    assertMatch(error.hint!, /host\.wrap\(\)/);
  }
});

Deno.test("the hint of a failed system call fits its errno", () => {
  const error = assertThrows(() => duplicateFd(1_000_000)) as { code?: number; hint?: string };
  assertEquals([error.code, error.hint], [EBADF, "Is the fd still open?"]);
  assertEquals(errnoError("libc", EMFILE, "f").hint, "Close fds, or raise the limit (ulimit -n).");
  const hints = { [EPERM]: "Only what can block is waited for." };
  assertEquals([EPERM, EMFILE, EBADF].map((code) => errnoError("libc", code, "f", hints).hint), [
    "Only what can block is waited for.",
    "Close fds, or raise the limit (ulimit -n).",
    "Is the fd still open?",
  ]);
  assertEquals(errnoError("libc", EPERM, "f").hint, undefined);
  assertEquals(errnoError("libc", EMFILE, "open", "It was to open /x.").hint?.split(". ").length, 2);
});
