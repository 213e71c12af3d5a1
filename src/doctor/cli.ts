import { messageOf } from "../core/errors.ts";
import { writeRegularFile } from "../core/files.ts";
import { doctor } from "./doctor.ts";
import { svgOf } from "./show/svg.ts";
import { textOf } from "./show/text.ts";

const USAGE = `Says what this machine can share with what, and why not more.

  --json         the report as JSON
  --svg[=FILE]   the graph as a picture: on standard output, or in FILE (--allow-write)
  --no-proof     run no experiment: quicker where a device does not alias, but nothing is proven to
`;

export function main(args: readonly string[]): number {
  const unknown = args.find((arg) => !/^--(json|svg(=.+)?|no-proof|help)$/.test(arg));
  if (unknown !== undefined || args.includes("--help")) {
    (unknown === undefined ? console.log : console.error)(
      `${unknown === undefined ? "" : `What is ${unknown}?\n\n`}${USAGE}`,
    );
    return unknown === undefined ? 0 : 2;
  }
  const report = doctor({ proofs: !args.includes("--no-proof") });
  const svg = args.find((arg) => arg.startsWith("--svg"));
  if (args.includes("--json")) console.log(JSON.stringify(report, undefined, 2));
  if (svg === "--svg") console.log(svgOf(report));
  if (svg === undefined && !args.includes("--json")) console.log(textOf(report));
  return svg?.includes("=") ? written(svg.slice(svg.indexOf("=") + 1), svgOf(report)) : 0;
}

function written(path: string, text: string): number {
  try {
    writeRegularFile(path, new TextEncoder().encode(text));
    return 0;
  } catch (error) {
    console.error(`${path} could not be written: ${messageOf(error)}`);
    return 1;
  }
}
