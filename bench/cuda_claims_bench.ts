// What the advisor says of time on a discrete GPU, measured: memory that kernels use in place, and the same by copies.

import { CLAIMS } from "../src/advisor/mod.ts";
import { figure } from "./harness/figure.ts";
import { here } from "./harness/way.ts";
import { byCopies, inPlace } from "./operations/claims.ts";

for (const { id, about, case: of } of CLAIMS) {
  const passes = of.repeats === 1 ? "one pass" : `${of.repeats} passes`;
  figure({
    id: `cuda-claim-${id}`,
    title: `${id}: ${of.size} bytes, ${of.gpu}, ${passes}${about === "tegra" ? " (a rule for Tegra)" : ""}`,
    on: "cuda",
    ways: [here("samepage, copying", () => byCopies(of)), here("samepage", () => inPlace(of))],
  });
}
