import { assertEquals } from "@std/assert";
import { Recent } from "../../src/core/recent.ts";

/** What is found for these numbers, and whether that took a search. */
function look(recent: Recent<string>, numbers: readonly number[]): string {
  let how = "known";
  recent.begin();
  for (const number of numbers) recent.add(number);
  const found = recent.of(() => {
    how = "found";
    return numbers.join(" ");
  });
  assertEquals(found, numbers.join(" "));
  return how;
}

Deno.test("Recent.of() searches for each of four lists of numbers once, and for another anew", () => {
  const recent = new Recent<string>();
  const lists = [[1, 2], [1, 3], [1, 2, 0], []];
  for (const numbers of lists) assertEquals(look(recent, numbers), "found");
  for (const numbers of lists) assertEquals(look(recent, numbers), "known");
  assertEquals(look(recent, [2]), "found"); // in the place of the oldest
  assertEquals(look(recent, [1, 2]), "found");
});

Deno.test("Recent.of() knows a list of any length, and where in it a number differs", () => {
  const recent = new Recent<string>();
  const many = Array.from({ length: 1000 }, (_, i) => i);
  assertEquals(look(recent, many), "found");
  assertEquals(look(recent, many), "known");
  assertEquals(look(recent, many.with(999, 0)), "found");
  assertEquals(look(recent, many.slice(1)), "found");
});

Deno.test("Recent.addWords() and addBlocks() tell what is there from what is not, and an aligned block from others", () => {
  const recent = new Recent<number>();
  const view = new DataView(new ArrayBuffer(12));
  let searches = 0;
  const add = (fill: () => void) => {
    recent.begin();
    fill();
    return recent.of(() => ++searches);
  };
  assertEquals(add(() => recent.addWords(undefined, 0, 0)), 1);
  assertEquals(add(() => recent.addWords(view, 0, 0)), 2);
  view.setInt32(8, 5, true);
  assertEquals(add(() => recent.addWords(view, 0, 8)), 3); // and not the third word
  view.setInt32(8, 6, true);
  assertEquals(add(() => recent.addWords(view, 0, 8)), 3);
  assertEquals(add(() => recent.addBlocks([{ address: 64n, byteLength: 8 }])), 4);
  assertEquals(add(() => recent.addBlocks([{ address: 128n, byteLength: 8 }])), 4);
  assertEquals(add(() => recent.addBlocks([{ address: 66n, byteLength: 8 }])), 5);
  assertEquals(add(() => recent.addBlocks([{ address: 64n, byteLength: 9 }])), 6);
});
