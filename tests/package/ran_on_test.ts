// README's column "ran on" names the GPUs on which committed results have passed, and no others.

import { assertEquals } from "@std/assert";
import type { Row } from "../conformance/rows.ts";
import { lostFigures, lostRows, type Outcomes, withOutcomes } from "../../tasks/gpu/outcomes.ts";
import { ROOT } from "./project.ts";

/** How a row of README's table is proven: by rows of conformance that lead to or from an API, or by steps of the task. */
const PROOFS: Readonly<Record<string, { api: string } | { steps: readonly string[] }>> = {
  OpenCL: { api: "opencl" },
  CUDA: { api: "cuda" },
  Vulkan: { api: "vulkan" },
  EGL: { api: "egl" },
  channel: { steps: ["tests", "vulkan"] },
  FFmpeg: { steps: ["ffmpeg"] },
  DLPack: { steps: ["dlpack"] },
  Python: { steps: ["dlpack"] },
  pipeline: { steps: ["pipeline"] },
};

const ROWS = `${ROOT}/tests/conformance/results`;
const OUTCOMES = `${ROOT}/tests/gpu/outcomes`;

function read<T>(path: string): T {
  return JSON.parse(Deno.readTextFileSync(path));
}

/** The GPUs, as README writes them, for which a file of a folder is a proof. */
function gpusOf<T>(folder: string, isProof: (file: T) => boolean): string[] {
  const names = Array.from(Deno.readDirSync(folder), ({ name }) => name).filter((name) => /^h\d+[-.]/.test(name));
  const proven = names.filter((name) => isProof(read<T>(`${folder}/${name}`)));
  return [...new Set(proven.map((name) => name.match(/^h\d+/)![0].toUpperCase()))].sort();
}

Deno.test("README's table names the GPUs whose committed results have passed", () => {
  const lines = Deno.readTextFileSync(`${ROOT}/README.md`).split("\n");
  for (const [name, proof] of Object.entries(PROOFS)) {
    const cell = lines.find((line) => line.startsWith(`| [${name}](`))!.split("|").at(-2)!;
    const named = [...new Set(cell.match(/\bH\d{3}\b/g) ?? [])].sort();
    const proven = "api" in proof
      ? gpusOf<{ rows: Row[] }>(
        ROWS,
        ({ rows }) => rows.some(({ edge, result }) => result === "pass" && RegExp(`\\b${proof.api}\\b`).test(edge)),
      )
      : gpusOf<Outcomes>(
        OUTCOMES,
        ({ steps }) => proof.steps.every((name) => steps.some((one) => one.step === name && one.verdict === "green")),
      );
    assertEquals(named, proven, name);
  }
});

Deno.test("outcomes: a run takes the place of the same steps' last outcomes, and leaves the others", () => {
  const run = { commit: "b", date: "2026-01-02 00:00", machine: "NVIDIA H100", gpus: 1, minutes: 1, green: false };
  const last = { verdict: "green", counts: "", seconds: 1, commit: "a", date: "", machine: "", gpus: 1 } as const;
  const { steps } = withOutcomes({ steps: [{ step: "tests", ...last }, { step: "egl", ...last }] }, {
    ...run,
    steps: [{ name: "tests", verdict: "red", counts: "1 failed", seconds: 2.4, failures: ["x: first\nsecond"] }],
  });
  assertEquals(steps.map(({ step, commit, failures }) => [step, commit, failures]), [
    ["egl", "a", undefined],
    ["tests", "b", ["x: first"]],
  ]);
});

Deno.test("outcomes: rows that passed and figures that were measured are not replaced by nothing", () => {
  const row = { edge: "host→cuda", case: "aliasing", where: "gpu" } as const;
  const passed: Row[] = [{ ...row, result: "pass" }];
  assertEquals(lostRows(passed, [{ ...row, result: "not-here", reason: "no OpenCV" }]), ["host→cuda  aliasing"]);
  assertEquals(lostRows(passed, passed), []);
  assertEquals(lostFigures([{ id: "launch" }, { id: "event" }], [{ id: "event" }]), ["launch"]);
});
