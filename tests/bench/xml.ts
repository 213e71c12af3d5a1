import { assert, assertEquals } from "@std/assert";

const TAG = /<(\/?)([A-Za-z][\w.-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/g;

/** Fails unless a text is one XML element: tags that nest, quoted attributes, and no stray `<` or `&`. */
export function assertWellFormed(xml: string): void {
  const open: string[] = [];
  let roots = 0;
  for (const [tag, closing, name, attributes, empty] of xml.matchAll(TAG)) {
    if (closing) {
      assertEquals(open.pop(), name, tag);
      continue;
    }
    const names = Array.from(attributes.matchAll(/([\w:-]+)=/g), ([, attribute]) => attribute);
    assertEquals(new Set(names).size, names.length, tag);
    if (open.length === 0) roots++;
    if (!empty) open.push(name);
  }
  assertEquals([open, roots], [[], 1]);
  assert(!/[<>]/.test(xml.replace(TAG, "")), "a stray < or >");
  assert(!/&(?!(?:amp|lt|gt|quot|apos);)/.test(xml), "a stray &");
}
