// A block of memory: what it keeps for the tensors over it, and how it is joined, left and found again.

import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { InteropError } from "../../src/core/errors.ts";
import { Allocation, type Block } from "../../src/core/memory/allocation.ts";
import { adopt, own } from "../../src/core/memory/own.ts";
import { closedAt, join, leave, showAt } from "../../src/core/memory/peers.ts";
import { fakeAllocation } from "./fakes.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

Deno.test(
  "Allocation.takeFailure() returns a failure to whoever asks for one of its bytes, and to no neighbour",
  withEmptyLedger(() => {
    const asked = [[0, 10], [20, 30], [9, 11], [19, 21], [10, 20], [0, 30], [12, 13]] as const;
    const overlaps = [false, false, true, true, true, true, true];
    const taken = asked.map(([start, end]) => {
      const allocation = fakeAllocation(30);
      const failure = { error: new Error("it failed"), reported: false };
      allocation.keepFailure(10, 20, failure);
      const found = allocation.takeFailure(start, end);
      if (found !== undefined) assertStrictEquals(found, failure);
      assertEquals(allocation.takeFailure(10, 20) !== undefined, found === undefined, "it is reported once");
      allocation.leave();
      return found !== undefined;
    });
    assertEquals(taken, overlaps);
  }),
);

Deno.test(
  "own() releases the other native objects before it leaves the block",
  withEmptyLedger(() => {
    const order: string[] = [];
    const allocation = new Allocation({ kind: "test.block", byteLength: 8, free: () => void order.push("block") });
    const undo = [() => void order.push("first object"), () => void order.push("second object")];
    own({ name: "a tensor", allocation, undo }).dispose();
    assertEquals(order, ["second object", "first object", "block"]);
  }),
);

Deno.test(
  "adopt() finds the block that any byte of the range belongs to, and makes one where there is none",
  withEmptyLedger(() => {
    const address = 2n ** 46n; // it is never read
    const known = new Allocation({ kind: "test.block", address, byteLength: 64, free() {} });
    const made: Block = { kind: "test.block", address: address - 64n, byteLength: 64, free() {} };
    join(known);
    const find = (start: bigint, byteLength: number) => adopt(start, byteLength, () => made);
    for (const [start, byteLength] of [[0n, 64], [63n, 1], [-64n, 65], [-1n, 66], [32n, 64]] as const) {
      assertStrictEquals(find(address + start, byteLength), known, `${byteLength} bytes from ${start}`);
    }
    for (const [start, byteLength] of [[-64n, 64], [64n, 64]] as const) {
      const allocation = find(address + start, byteLength);
      assertStrictEquals(allocation.block, made, `${byteLength} bytes from ${start}`);
      allocation.free();
    }
    leave(known);
  }),
);

Deno.test(
  "Allocation.leave() warns, with the last peer, of failures that nobody has asked for",
  withEmptyLedger(async () => {
    const allocation = fakeAllocation(30);
    allocation.join();
    const errors = [new Error("the first"), new Error("the second"), new Error("the third")];
    errors.forEach((error, i) => allocation.keepFailure(10 * i, 10 * i + 10, { error, reported: false }));
    assertEquals(allocation.takeFailure(10, 20)?.error, errors[1]);
    assertEquals(await warningsOf(() => allocation.leave()), []);
    assertEquals(await warningsOf(() => allocation.leave()), [
      "samepage: work on memory without an owner failed: the first",
      "samepage: work on memory without an owner failed: the third",
    ]);
  }),
);

Deno.test(
  "Resource.dispose() throws every failure that its bytes have kept",
  withEmptyLedger(() => {
    const allocation = fakeAllocation(30);
    const errors = [new Error("the first"), new Error("the second")];
    for (const error of errors) allocation.keepFailure(0, 10, { error, reported: false });
    const resource = own({ name: "a tensor", allocation });
    const thrown = assertThrows(() => resource.dispose(), InteropError);
    assertEquals(thrown.errors, errors);
    allocation.leave();
  }),
);

Deno.test(
  "showAt() keeps addresses closed until each is given back, in whatever order",
  withEmptyLedger(() => {
    const base = 2n ** 46n;
    const places = [0, 1, 2, 3].map((i) => base + BigInt(4096 * i));
    for (const order of [[0, 1, 2, 3], [3, 2, 1, 0], [0, 3, 1, 2], [1, 3, 0, 2], [2, 0, 3, 1]]) {
      const back = places.map((address, i) => showAt(address, 4096, `memory ${i}`));
      const isClosed = places.map(() => true);
      for (const i of order) {
        back[i]();
        isClosed[i] = false;
        assertEquals(places.map((address) => closedAt(address, 1) !== undefined), isClosed, `${order}`);
      }
    }
  }),
);
