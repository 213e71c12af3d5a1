import { claimCells, claimsOf } from "./claims.ts";
import { crossoverOf } from "./crossover.ts";
import { describe, table, timesOf, writtenBy } from "./markdown.ts";
import type { Record } from "./record.ts";

/** The results of the bench of what Vulkan shares, as a page, to be formatted; `json` lies beside it. */
export function vulkanPageOf({ machine, effort, figures }: Record, json: string): string {
  return [
    "# Results: Vulkan, OpenCL and CUDA on one memory",
    "",
    writtenBy("deno task bench --vulkan", "../README.md", effort, json),
    "",
    ...table(["", ""], describe(machine)),
    "",
    ...timesOf(figures),
    "",
  ].join("\n");
}

/** The results of CUDA's bench as a page, to be formatted; `json` lies beside it. */
export function cudaPageOf({ machine, effort, figures }: Record, json: string): string {
  const claims = claimsOf(figures);
  const crossover = crossoverOf(figures);
  return [
    "# Results: CUDA",
    "",
    writtenBy("deno task bench --cuda", "../README.md", effort, json),
    "",
    ...table(["", ""], describe(machine)),
    "",
    ...timesOf(figures.filter(({ id }) => !id.startsWith("cuda-claim-"))),
    "",
    "## Blur and Canny, mapped and copying",
    "",
    crossover ?? "Not measured.",
    "",
    "## The advisor's claims",
    "",
    "Work on a discrete GPU, in memory that kernels use in place and by copies; the ratio says how many times as long the " +
    "copies took. Rules with a tegra- in front are about integrated GPUs, and the advisor does not apply them here.",
    "",
    ...table(
      ["claim", "rule", "what it says", "mapped", "copied", "copied / mapped", "here"],
      claims.length === 0 ? [["not measured", "", "", "", "", "", ""]] : claims.map(claimCells),
    ),
    "",
  ].join("\n");
}
