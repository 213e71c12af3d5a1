import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { region } from "../../src/core/layout/layout.ts";
import { type Placed, Ranges } from "../../src/core/memory/ranges.ts";
import { host } from "../../src/host/mod.ts";
import { withEmptyLedger } from "./ledger.ts";

interface Part {
  readonly start: number;
  readonly end: number;
  readonly writes: boolean;
  place?: Placed<Part>;
}

const byStart = (parts: readonly Part[]) => [...parts].sort((a, b) => a.start - b.start);

/** What shares bytes with a range, as the tree finds it. */
function asked(ranges: Ranges<Part>, start: number, end: number, which: "all" | "writers"): Part[] {
  const found: Part[] = [];
  assert(!ranges.some(start, end, which, (part) => found.push(part) === 0));
  return found;
}

/** The same, by looking at all of them. */
function scanned(parts: readonly Part[], start: number, end: number, which: "all" | "writers"): Part[] {
  const isFound = (p: Part) => p.start < end && start < p.end && (which === "all" || p.writes);
  return byStart(parts.filter(isFound));
}

const anyPart = fc.record({
  start: fc.nat(60),
  count: fc.integer({ min: 1, max: 60 }),
  writes: fc.boolean(),
  removes: fc.option(fc.nat(1000)),
});

Deno.test("ranges: what shares bytes with a range, against a list, while ranges come and go", () => {
  fc.assert(
    fc.property(fc.array(anyPart, { maxLength: 80 }), (ops) => {
      const ranges = new Ranges<Part>();
      const parts: Part[] = [];
      for (const { start, count, writes, removes } of ops) {
        if (removes !== null && parts.length > 0) {
          const [part] = parts.splice(removes % parts.length, 1);
          ranges.delete(part.place!);
        } else {
          const part: Part = { start, end: start + count, writes };
          part.place = ranges.add(part, part.start, part.end, writes);
          parts.push(part);
        }
        assertEquals(ranges.size, parts.length);
        for (const which of ["all", "writers"] as const) {
          // Ranges that begin at the same byte come in the order in which they were added; so they do in the list.
          assertEquals(asked(ranges, start, start + count, which), scanned(parts, start, start + count, which));
        }
      }
      assertEquals([...ranges], byStart(parts));
      for (const part of parts) ranges.delete(part.place!);
      assertEquals([ranges.size, [...ranges]], [0, []]);
    }),
    { numRuns: 500 },
  );
});

Deno.test("ranges: 100,000 of them, in order and out of order, overlapping and not, are looked at only where they lie", () => {
  for (const length of [1, 100]) {
    const ranges = new Ranges<number>();
    const places = Array.from({ length: 100_000 }, (_, i) => {
      const start = i * 7919 % 100_000;
      return ranges.add(start, start, start + length, i % 2 === 0);
    });
    for (let start = 50; start < 100_000; start += 997) {
      const found: number[] = [];
      ranges.some(start, start + 1, "all", (at) => found.push(at) === 0);
      const first = Math.max(0, start - length + 1);
      assertEquals(found, Array.from({ length: start + 1 - first }, (_, i) => first + i));
    }
    assert(ranges.some(0, Infinity, "writers", () => true), "it ends at the first that is taken");
    for (const place of places) ranges.delete(place);
    assertEquals(ranges.size, 0);
  }
});

/** The quickest of several turns, in milliseconds: other work on the machine makes some slow. */
function quickest(turn: () => void): number {
  let least = Infinity;
  for (let i = 0; i < 12; i++) {
    const begin = performance.now();
    turn();
    least = Math.min(least, performance.now() - begin);
  }
  return least;
}

Deno.test(
  "what one part costs does not depend on how many others there are, with views or without",
  withEmptyLedger(() => {
    const most = 20_000;
    using whole = host.allocate({ shape: [64 * (most + 1)], dtype: "u8" });
    const tile = (i: number) => whole.slice(region(whole.layout, [64 * i], [64]));
    const turn = () => {
      for (let i = 0; i < 200; i++) {
        const part = tile(most);
        part.view();
        part[Symbol.dispose]();
      }
    };
    turn();
    const alone = quickest(turn);
    const others = Array.from({ length: most }, (_, i) => tile(i));
    const beside = quickest(turn);
    for (const part of others) part.view();
    const besideViews = quickest(turn);
    for (const part of others) part[Symbol.dispose]();
    // A scan of 20,000 takes more than 50 times as long. Noise makes 2 of what is 1.
    assert(
      beside < 5 * alone && besideViews < 5 * alone,
      `${alone} ms alone, ${beside} and ${besideViews} beside others`,
    );
  }),
);
