import { assertEquals, assertThrows } from "@std/assert";
import { InteropError } from "../../src/core/errors.ts";
import { allOrNothing, thenUndo, undoAll } from "../../src/core/life/undo.ts";

const fail = (what: string) => () => {
  throw new Error(what);
};

Deno.test("what is made by steps is kept, with the steps that undo it", () => {
  const ended: string[] = [];
  const undo = allOrNothing("making", (undo) => {
    undo.push(() => ended.push("first"), () => ended.push("second"));
    return undo;
  });
  assertEquals(ended, []);
  undoAll(undo, "ending");
  assertEquals(ended, ["second", "first"]);
  undoAll(undo, "ending again");
  assertEquals(ended.length, 2);
});

Deno.test("what failed halfway is undone, newest first, and all failures are thrown", () => {
  const ended: string[] = [];
  const make = (undo: (() => void)[]) => {
    undo.push(() => ended.push("first"), fail("no way back"), () => ended.push("third"));
    fail("no way on")();
  };
  const error = assertThrows(() => allOrNothing("making it", make), InteropError);
  assertEquals(error.message, "2 failures while making it: no way on no way back");
  assertEquals(ended, ["third", "first"]);
  assertThrows(() => allOrNothing("making it", fail("no way on")), Error, "no way on");
});

Deno.test("what was used is undone, however that ends", () => {
  const ended: string[] = [];
  const end = () => void ended.push("end");
  assertEquals(thenUndo("using it", () => 1, [end]), 1);
  assertThrows(() => thenUndo("using it", fail("no use"), [end]), Error, "no use");
  assertThrows(() => thenUndo("using it", () => 1, [end, fail("no end")]), Error, "no end");
  assertEquals(ended.length, 3);
});
