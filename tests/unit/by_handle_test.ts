// ByHandle: what is known by native handles.

import { assertEquals } from "@std/assert";
import { ByHandle } from "../../src/core/memory/peers.ts";

Deno.test("ByHandle.find() returns the oldest that is known by a handle of a kind, until it is taken out", () => {
  const known = new ByHandle<string>();
  const takeOutFirst = known.add("queue", 7n, "first");
  const takeOutSecond = known.add("queue", 7n, "second");
  known.add("queue", 8n, "of another handle");
  known.add("stream", 7n, "of another kind");
  assertEquals([known.find("queue", 7n), known.all("queue", 7n)], ["first", ["first", "second"]]);
  takeOutFirst();
  assertEquals([known.find("queue", 7n), known.all("queue", 7n)], ["second", ["second"]]);
  takeOutSecond();
  assertEquals([known.find("queue", 7n), known.all("queue", 7n)], [undefined, []]);
  assertEquals([known.find("queue", 8n), known.find("stream", 7n)], ["of another handle", "of another kind"]);
});

Deno.test("ByHandle.add() returns a function that takes out once, and not what came after", () => {
  const known = new ByHandle<string>();
  const takeOut = known.add("queue", 7n, "one");
  known.add("queue", 7n, "two");
  takeOut();
  takeOut();
  assertEquals(known.all("queue", 7n), ["two"]);
});
