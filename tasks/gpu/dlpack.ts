import { bench } from "./bench.ts";
import { filesBelow } from "./files.ts";
import type { Job } from "./job.ts";
import { PYTHON_HOME, pythonHere } from "./python.ts";
import { type Outcome, together } from "./step.ts";
import { runTests } from "./tests.ts";

/** What Python's libraries share of a GPU's memory: DLPack's tests, Python's, and the bench. */
export async function dlpack(job: Job): Promise<Outcome> {
  const python = await pythonHere();
  if (python === undefined) return { verdict: "not here", counts: `there is no venv at ${PYTHON_HOME}` };
  const there = job.withVariables(python);
  // One after the other: one of them looks at what memory of the GPU is free.
  const tests = await runTests(there, await filesBelow("tests", isTest), 1);
  const log = await Deno.readTextFile(`${job.out}/tests.log`);
  const measured = await bench(there, "cuda", "python-cuda");
  const printed = log.match(/^(?:ring: .* laps|loans|sharing): .*$/gm) ?? [];
  const { remarks = [], ...outcome } = together([tests, measured]);
  return { ...outcome, remarks: [await versionsIn(there, python.PYTHON), ...printed, ...remarks] };
}

/** `"python: torch 2.11, …"`. */
async function versionsIn(job: Job, python: string): Promise<string> {
  const code = "from importlib.metadata import version\n" +
    "print(', '.join(f'{name} {version(name)}' for name in ('torch', 'numpy', 'jax')))";
  const { stdout, how } = await job.run(python, ["-c", code], "tests.log");
  return `python: ${stdout.trim() || how}`;
}

function isTest(path: string): boolean {
  return /^tests\/(?:(?:dlpack|python|arrow)\/.*_gpu|faults\/cuda_dlpack)_test\.ts$/.test(path);
}
