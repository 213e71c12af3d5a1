// Measures the figures of one bench file, in this process: `run_file.ts FILE EFFORT`, where EFFORT is JSON. Prints a
// line of JSON for each figure.

import { toFileUrl } from "@std/path";
import { figures } from "./figure.ts";
import { growths, measureGrowth } from "./growth.ts";
import { type Effort, measureFigure } from "./measure.ts";
import { closeAll } from "./program.ts";
import { type Result, resultOf } from "./result.ts";

const [file, effortText, only = ""] = Deno.args;
const effort: Effort = JSON.parse(effortText);
const asked = ({ id }: { readonly id: string }) => id.includes(only);
const print = (result: Result) => console.log(JSON.stringify(result));

await import(toFileUrl(file).href);
for (const figure of figures.filter(asked)) print({ figure: resultOf(figure, await measureFigure(figure, effort)) });
for (const growth of growths.filter(asked)) print({ growth: measureGrowth(growth, effort.repeats) });
await closeAll();
