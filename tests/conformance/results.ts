import type { Row } from "./rows.ts";

/** How the rows of a file came about. */
export interface Heading {
  readonly commit: string;
  readonly machine: string;
  /** The kernel, where it is another than the machine's. */
  readonly kernel?: string;
  readonly command: string;
}

/** The text of a file like those of tests/conformance/results: a row a line. */
export function fileOf(heading: Heading, rows: readonly Row[]): string {
  const lines = Object.entries(heading).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`);
  const cells = rows.map((row) => {
    const fields = Object.entries(row).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
    return `    {${fields.join(", ")}}`;
  });
  return ["{", ...lines, '  "rows": [', cells.join(",\n"), "  ]", "}", ""].join("\n");
}
