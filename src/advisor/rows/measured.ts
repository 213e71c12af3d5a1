import { type ClaimMeasurement, CLAIMS } from "../claims.ts";

/** What a GPU answered where a rule's claim was measured, and it is not what the rule says. */
export type MeasuredRowId = `own/measured/${"upload-once" | "download-once"}`;

const GPU = "NVIDIA H200";
const VERSIONS = "driver 580.159.04, CUDA 13.0";

/** What the claims came to on an H200; every time of it is in bench/results/cuda-h200.md. */
export const MEASURED_CLAIMS: readonly ClaimMeasurement[] = Object.freeze<ClaimMeasurement[]>([
  { claim: "upload-once", gpu: GPU, versions: VERSIONS, ratio: 1.01, verdict: "even" },
  { claim: "download-once", gpu: GPU, versions: VERSIONS, ratio: 0.97, verdict: "even" },
  { claim: "round-trip-once", gpu: GPU, versions: VERSIONS, ratio: 1.45, verdict: "holds" },
  { claim: "round-trip-once-pageable", gpu: GPU, versions: VERSIONS, ratio: 7.5, verdict: "holds" },
  { claim: "existing-once", gpu: GPU, versions: VERSIONS, ratio: 2.35, verdict: "holds" },
  { claim: "small-once", gpu: GPU, versions: VERSIONS, ratio: 1.32, verdict: "holds" },
  { claim: "many-passes", gpu: GPU, versions: VERSIONS, ratio: 0.11, verdict: "holds" },
  { claim: "small-many-passes", gpu: GPU, versions: VERSIONS, ratio: 0.92, verdict: "holds" },
  { claim: "same-bytes-again", gpu: GPU, versions: VERSIONS, ratio: 0.14, verdict: "holds" },
  { claim: "strided", gpu: GPU, versions: VERSIONS, ratio: 0.07, verdict: "holds" },
  { claim: "tegra-strided", gpu: GPU, versions: VERSIONS, ratio: 0.07, verdict: "differs" },
  { claim: "tegra-small-many-passes", gpu: GPU, versions: VERSIONS, ratio: 0.99, verdict: "even" },
]);

const CAME: Readonly<Record<"even" | "differs", string>> = { even: "it was even", differs: "it was not so" };

/** In our own words: the claim, and what came of it. */
export const MEASURED_ROWS: Readonly<Record<MeasuredRowId, string>> = {
  "own/measured/upload-once": saidOf("upload-once"),
  "own/measured/download-once": saidOf("download-once"),
};

function saidOf(id: string): string {
  const { statement } = CLAIMS.find((claim) => claim.id === id)!;
  const { verdict, ratio, gpu } = MEASURED_CLAIMS.find(({ claim }) => claim === id)!;
  const came = CAME[verdict as keyof typeof CAME];
  return `${statement.slice(0, -1)}: so the rule says, but on an ${gpu} ${came}: copies took ${ratio} times as long.`;
}
