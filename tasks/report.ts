/** What one run came to, by the names of its tests; a step counts as a test of its own. */
export interface Report {
  readonly passed: string[];
  readonly failed: string[];
  readonly skipped: string[];
}

const TESTCASE = /<testcase\s([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/**
 * Reads the JUnit file of `deno test --junit-path`. Deno escapes every `<` and `>` of names and messages, so that the
 * tags can be found by a pattern. A failed test has a `failure` child, an ignored one a `skipped` child.
 */
export function readJUnit(xml: string): Report {
  const report: Report = { passed: [], failed: [], skipped: [] };
  for (const [, attributes, body = ""] of xml.matchAll(TESTCASE)) {
    const outcome = /<(?:failure|error)\b/.test(body) ? "failed" : /<skipped\b/.test(body) ? "skipped" : "passed";
    report[outcome].push(unescape(/\bname="([^"]*)"/.exec(attributes)?.[1] ?? "a test without a name"));
  }
  return report;
}

function unescape(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (entity, decimal, hex, name) => {
    if (name) return ENTITIES[name] ?? entity;
    return String.fromCodePoint(decimal ? Number(decimal) : parseInt(hex, 16));
  });
}
