import { join } from "@std/path";
import { commit } from "../../bench/report/machine.ts";
import { fileOf } from "../../tests/conformance/results.ts";
import type { Row } from "../../tests/conformance/rows.ts";
import { buildFrames } from "../../tests/ffmpeg/frames.ts";
import { denoEnv, GPU_MODULES, GuestError, MACHINE, noGuest, quote, runInGuest } from "../../tests/guest/guest.ts";
import { buildLayer } from "../../tests/layer/mod.ts";
import { buildDriver as buildLevelZero } from "../../tests/levelzero/drivers.ts";
import { buildDriver } from "../../tests/vaapi/driver.ts";
import { readJUnit, type Report } from "../report.ts";
import { kernelRelease } from "../setup/kernel.ts";
import { deno, type Job, ROOT, type Run, RUSTICL, TEST_FLAGS, withEnd } from "./job.ts";

/** Beside those that every guest has: dumb buffers, fences that a test can hold back, and networks that lose packets. */
const MODULES = ["vgem", "bridge", "veth", "sch_netem"];
/** What runs in a guest with a GPU, without those modules: the tests in a folder, and the suite on the edges of some APIs. */
const ON_GPU = { folder: "tests/guest/gpu/", apis: ["vaapi"] };
/** Seconds for all that runs in a guest, several times what it takes on a machine with nothing else to do. */
const LIMIT = 5400;
/**
 * Each guest leaves here, in a folder of its own, what came of it: the report of each job. Beside them are the rows of the
 * conformance suite, as files for tests/conformance/results.
 */
const FOLDER = join(ROOT, "out/guest");

/** The conformance suite as a program. */
const SUITE = "tests/conformance/main.ts";

/** A command of `sh` that leaves a file, and what that says. */
interface Step {
  readonly name: string;
  readonly gpu: boolean;
  readonly file: string;
  readonly command: string;
  /** Seconds after which it hangs, and is ended with SIGTERM. */
  readonly limit: number;
  readonly read: (text: string) => Report | Promise<Report>;
}

/** Runs test files, and the conformance suite on the edges of some APIs, in two guests at a time: one has a GPU. */
export async function inGuest(jobs: readonly Job[], apis: readonly string[]): Promise<Run[]> {
  const steps = [...jobs.map(testsOf), ...apis.map(rowsOf)];
  const missing = await noGuest();
  if (missing !== undefined) return steps.map(({ name }) => runOf(name, { skipped: [`all of it (needs ${missing})`] }));
  await Deno.remove(FOLDER, { recursive: true }).catch(() => {}); // what the run before has left
  // in a guest, a compiler takes twenty times as long, and so does Deno's of TypeScript
  await Promise.allSettled([buildDriver(), buildFrames(), buildLayer(), buildLevelZero(), compile(jobs, apis)]);
  const guests = [false, true].map((gpu) => runsOf(steps.filter((step) => step.gpu === gpu), gpu));
  return (await Promise.all(guests)).flat();
}

/** Leaves the JavaScript of what runs in a guest in Deno's cache. */
async function compile(jobs: readonly Job[], apis: readonly string[]): Promise<void> {
  const files = jobs.flatMap(({ args }) => args.filter((arg) => arg.endsWith(".ts")));
  await deno(["cache", "-q", "--no-check", ...files, ...apis.length > 0 ? [SUITE] : []], true);
}

async function runsOf(steps: readonly Step[], gpu: boolean): Promise<Run[]> {
  if (steps.length === 0) return [];
  const modules = gpu ? GPU_MODULES : MODULES;
  const folder = folderOf(gpu);
  await Deno.mkdir(folder, { recursive: true });
  let said = "";
  const print = (text: string) => void (said += text);
  const options = { gpu, modules, env: { ...RUSTICL, ...await denoEnv() }, limit: LIMIT, print };
  const broken = await runInGuest(steps.map(scriptOf).join(""), folder, options).then(
    () => "the guest ended",
    (error) => {
      if (error instanceof GuestError) return error.message;
      throw error;
    },
  );
  console.log(said); // in one piece: another guest may run beside it
  return await Promise.all(steps.map((step) => runOfStep(step, broken)));
}

/** What a guest may write to. */
function folderOf(gpu: boolean): string {
  return join(FOLDER, gpu ? "gpu" : "no-gpu");
}

function testsOf({ name, args, wanted }: Job, i: number): Step {
  const gpu = name.startsWith(ON_GPU.folder);
  const file = join(folderOf(gpu), `${i}.xml`);
  const read = (text: string) => {
    const report = readJUnit(text);
    return { ...report, skipped: report.skipped.filter(wanted) };
  };
  const command = ["deno", "test", ...TEST_FLAGS, `--junit-path=${file}`, ...args].map(quote).join(" ");
  return { name, gpu, file, command, limit: 1800, read };
}

function rowsOf(api: string): Step {
  const gpu = ON_GPU.apis.includes(api);
  const file = join(folderOf(gpu), `${api}.json`);
  const command = `deno run -A --no-check ${SUITE} --json --where=guest --only=${api}`;
  return {
    ...{ name: `the conformance suite on ${api}`, gpu, file, limit: 1800 },
    command: `${command} >${quote(file)}`,
    read: async (text) => {
      const rows: Row[] = JSON.parse(text || "[]");
      const [machine, kernel] = [`QEMU ${MACHINE.join(" ")}`, `Linux ${await kernelRelease()}`];
      if (rows.length > 0) {
        const kept = join(FOLDER, `conformance-${api}.json`);
        await Deno.writeTextFile(kept, fileOf({ commit: await commit(), machine, kernel, command }, rows));
      }
      const of = (result: Row["result"]) => rows.filter((row) => row.result === result).map(describe);
      return { passed: of("pass"), failed: of("fail"), skipped: of("not-here") };
    },
  };
}

function describe({ edge, case: name, reason = "" }: Row): string {
  return `${edge} ${name}${reason && `: ${reason}`}`;
}

/**
 * Lines of `sh` that leave a step's exit code, and how many seconds it took, beside its file. A step that fails runs once
 * more, and its first file stays beside the second one.
 */
function scriptOf({ name, file, command, limit }: Step): string {
  const run = `timeout -k 5 ${limit} ${command}`;
  return `start=$(date +%s)
echo ${quote(`guest: ${name}`)}
${run}
code=$?
if [ $code != 0 ] && [ -s ${quote(file)} ]; then
  mv ${quote(file)} ${quote(`${file}.first`)}
  echo ${quote(`guest: ${name} failed. It runs once more:`)}
  ${run}
  code=$?
fi
echo $code $(($(date +%s) - start)) >${quote(`${file}.end`)}
`;
}

async function runOfStep({ name, file, limit, read }: Step, broken: string): Promise<Run> {
  const end = await Deno.readTextFile(`${file}.end`).catch(() => undefined);
  if (end === undefined) return runOf(name, { failed: [`it did not end: ${broken}`] });
  const [code, seconds] = end.split(" ").map(Number);
  const how = code === 124 ? `SIGTERM, after ${limit} s` : `code ${code}`;
  const first = await Deno.readTextFile(`${file}.first`).catch(() => "");
  const { failed } = await read(first); // before the second, whose rows are kept
  const report = await read(await Deno.readTextFile(file).catch(() => ""));
  const unsteady = code === 0 ? failed : [];
  return { name, seconds, unsteady, ...withEnd(report, code === 0 ? undefined : how) };
}

function runOf(name: string, { failed = [], skipped = [] }: Partial<Report>): Run {
  return { name, passed: [], failed, skipped, seconds: 0 };
}
