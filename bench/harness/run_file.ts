// Measures the figures of one bench file, in this process: `run_file.ts FILE EFFORT`, where EFFORT is JSON. Prints a
// line of JSON for each figure.

import { toFileUrl } from "@std/path";
import { figures } from "./figure.ts";
import { type Effort, measureFigure } from "./measure.ts";
import { closeAll } from "./program.ts";
import { resultOf } from "./result.ts";

const [file, effort, only = ""] = Deno.args;
await import(toFileUrl(file).href);
for (const figure of figures) {
  if (!figure.id.includes(only)) continue;
  const measured = await measureFigure(figure, JSON.parse(effort) as Effort);
  console.log(JSON.stringify(resultOf(figure, measured)));
}
await closeAll();
