/** What one run came to, by the names of its tests; a step counts as a test of its own. */
export interface Report {
  readonly passed: string[];
  /** Each with its message behind: `"maps a frame: Uncaught AssertionError: …"`. */
  readonly failed: string[];
  readonly skipped: string[];
}

const TESTCASE = /<testcase\s([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;
const FAILURE = /<(?:failure|error)\b(?:\s+message="([^"]*)")?/;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/**
 * Reads the JUnit file of `deno test --junit-path`. Deno escapes every `<` and `>` of names and messages, so that the
 * tags can be found by a pattern. A failed test has a `failure` child, an ignored one a `skipped` child.
 */
export function readJUnit(xml: string): Report {
  const report: Report = { passed: [], failed: [], skipped: [] };
  for (const [, attributes, body = ""] of xml.matchAll(TESTCASE)) {
    const name = unescape(/\bname="([^"]*)"/.exec(attributes)?.[1] ?? "a test without a name");
    const failure = FAILURE.exec(body);
    if (failure) report.failed.push(`${name}: ${unescape(failure[1] ?? "it does not say why")}`);
    else report[/<skipped\b/.test(body) ? "skipped" : "passed"].push(name);
  }
  return report;
}

function unescape(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (entity, decimal, hex, name) => {
    if (name) return ENTITIES[name] ?? entity;
    return String.fromCodePoint(decimal ? Number(decimal) : parseInt(hex, 16));
  });
}
