// Runs all tests: `deno task test [flags of deno test] [files or folders]`.
//
// Every test file has a process of its own: a driver that crashes, or that keeps state, is that file's matter alone. Three
// run at a time; those that judge how long something takes run alone, after the others. In a run of all tests, a file that
// failed runs once more, alone: what passes then is listed as unsteady, and is a fault to mend all the same. Paths under
// tests/ are run as tests, any others as documentation: `deno task test src/core/layout/layout.ts` runs that file's
// examples. Flags go to each run, a value after its "=": `--filter=word`. `--times` lists the runs that took longest, and
// `--no-check` leaves the types out, which `deno task check` checks too.
//
// `deno task test --without-opencl` runs what says something on a machine without OpenCL, as if this were one, in less
// than a minute. Types are left to the other run.
//
// `deno task test --guest` runs, in a guest, what needs another kernel: tests/guest, and the conformance suite on DMA-BUF.
//
// The last line counts tests and steps over all runs; each one that was skipped or failed is named before it.

import { join, relative, resolve } from "@std/path";
import { openclDevices } from "../src/opencl/mod.ts";
import type { Report } from "./report.ts";
import { inGuest } from "./test/guest.ts";
import { deno, inLanes, inSecondRuns, type Job, ROOT, type Run } from "./test/job.ts";

const TEST_FILE = /(^|[._])test\.ts$/;
const DOCUMENT = /\.(ts|md)$/;
const IN_GUEST = Deno.args.includes("--guest");
const WITHOUT_OPENCL = Deno.args.includes("--without-opencl");
/**
 * A machine without OpenCL, as far as variables can make one. Who may read the environment finds no library. Who may not
 * (a program with --allow-ffi alone), or who looks for it by itself (OpenCV), finds a loader that has no driver.
 */
const NO_OPENCL = { SAMEPAGE_LIB_OPENCL: "/nonexistent/libOpenCL.so.1", OCL_ICD_VENDORS: "/nonexistent" };
/** What says something there, and which of its tests, where not all do. The others never look for OpenCL, or need it. */
const SELECTED: { readonly [path: string]: string } = {
  "tests/doctor": "",
  "tests/opencv/mat_test.ts": "",
  "tests/opencv/operations_mat_test.ts": "",
  "tests/opencv/files_test.ts": "",
  "tests/conformance/conformance_test.ts": "/every|opencv.mat/",
  "tests/misuse/misuse_test.ts": "/misuse: (libraries|permissions|opencv_(libraries|layouts|files))$/",
};

if (WITHOUT_OPENCL) {
  for (const [name, value] of Object.entries(NO_OPENCL)) Deno.env.set(name, value);
}
const HAS_OPENCL = hasOpenCL();
/** APIs whose edges are tested in a guest. */
const GUEST_APIS = ["dmabuf"];
const DOCUMENTED = ["mod.ts", "src", "README.md", "ARCHITECTURE.md", "docs"];
/** Test files that run at a time: one more than CI has cores, because most of them wait now and then. */
const LANES = 3;
/** They judge how long something takes: what runs beside them would be taken for theirs. */
const ALONE = ["tests/opencl/laws_test.ts", "tests/opencl/svm_test.ts", "tests/unit/ranges_test.ts"];
/** How many of the longest runs `--times` lists. */
const LONGEST = 20;
/** Our own options; Deno gets the others. */
const OPTIONS = ["--guest", "--without-opencl", "--times", "--no-check"];

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/** The files at or below a path whose names fit, in the order of their names. */
async function filesBelow(path: string, fits: RegExp): Promise<string[]> {
  if (!(await Deno.stat(path)).isDirectory) return [path];
  const entries = await Array.fromAsync(Deno.readDir(path));
  entries.sort((a, b) => a.name < b.name ? -1 : 1);
  const found = entries.map((entry) => {
    const child = join(path, entry.name);
    if (entry.isDirectory) return filesBelow(child, fits);
    return fits.test(entry.name) ? [child] : [];
  });
  return (await Promise.all(found)).flat();
}

/** An example in documentation; Deno names its test `README.md#18-35.ts`, by its first line and the one behind. */
interface Example {
  readonly name: string;
  /** Does it open an OpenCL device? */
  readonly opencl: boolean;
  /** Is it run here? In a run without OpenCL, those are that look for it: by OpenCV, or by the doctor. */
  readonly isRun: boolean;
}

/** The examples of a file. */
async function examplesOf(file: string): Promise<Example[]> {
  const text = await Deno.readTextFile(join(ROOT, file));
  return [...text.matchAll(/^([ *]*)```ts( ignore)?\n.*?^\1```$/gms)].flatMap(({ 0: block, 2: ignored, index }) => {
    const line = text.slice(0, index).split("\n").length;
    const imports = (...names: string[]) => names.some((name) => block.includes(`"@samepage/interop/${name}"`));
    const opencl = imports("opencl");
    const isRun = HAS_OPENCL || !opencl && (!WITHOUT_OPENCL || imports("opencv", "doctor"));
    return ignored === undefined ? [{ name: `${file}#${line}-`, opencl, isRun }] : [];
  });
}

function hasOpenCL(): boolean {
  try {
    return openclDevices().length > 0;
  } catch {
    return false;
  }
}

/** What `--filter=` lets through, a part of the name or a /pattern/: Deno reports all other tests as ignored. */
function filterOf(filter: string): (name: string) => boolean {
  const pattern = /^\/(.+)\/$/.exec(filter);
  if (!pattern) return (name) => name.includes(filter);
  return (name) => new RegExp(pattern[1]).test(name);
}

function list(title: string, runs: Run[], outcome: keyof Report | "unsteady"): number {
  const lines = runs.flatMap((run) =>
    (run[outcome] ?? []).map((test) => `  ${run.name}: ${test.replace(`file://${ROOT}`, "")}`)
  );
  if (lines.length > 0) console.log(`\n${title}:\n${lines.join("\n")}`);
  return lines.length;
}

/** The flag of a filter, and what it lets through. */
function filtered(filter: string): { flags: string[]; wanted: (name: string) => boolean } {
  return { flags: filter === "" ? [] : [`--filter=${filter}`], wanted: filterOf(filter) };
}

const isPath = await Promise.all(Deno.args.map((arg) => !arg.startsWith("-") && exists(resolve(arg))));
const missing = Deno.args.filter((arg, i) => !arg.startsWith("-") && !isPath[i]);
if (missing.length > 0) {
  console.log(`There is no file or folder ${missing.join(", ")}.`);
  Deno.exit(2);
}
const givenFilter = Deno.args.find((arg) => arg.startsWith("--filter="))?.slice("--filter=".length) ?? "";
const isWanted = filterOf(givenFilter);
const flags = Deno.args.filter((arg, i) => !isPath[i] && !OPTIONS.includes(arg));
const paths = Deno.args.filter((_, i) => isPath[i]).map((arg) => relative(ROOT, resolve(arg)));
const isTest = (path: string) => path === "tests" || path.startsWith("tests/");

const all = WITHOUT_OPENCL ? Object.keys(SELECTED) : ["tests"];
const wanted = paths.length > 0 ? paths : IN_GUEST ? ["tests/guest"] : [...all, ...DOCUMENTED];
const files = (await Promise.all(wanted.filter(isTest).map((path) => filesBelow(join(ROOT, path), TEST_FILE)))).flat();
const names = files.map((file) => relative(ROOT, file));
const documents: string[] = [];
const examples: Example[] = [];
for (const path of wanted) {
  if (isTest(path) || !(await exists(join(ROOT, path)))) continue;
  for (const file of await filesBelow(join(ROOT, path), DOCUMENT)) {
    const name = relative(ROOT, file);
    const found = await examplesOf(name);
    examples.push(...found);
    if (found.some(({ isRun }) => isRun)) documents.push(name);
  }
}

const jobs: Job[] = [];
if (documents.length > 0) {
  const without = examples.filter(({ isRun }) => isRun).map(({ name }) => RegExp.escape(name));
  const isChosen = !HAS_OPENCL && givenFilter === "";
  const { flags: own, wanted } = isChosen ? filtered(`/(${without.join("|")})/`) : { flags: [], wanted: isWanted };
  jobs.push({ name: "documentation", args: ["--doc", ...flags, ...own, ...documents], wanted });
}
for (const name of names) {
  const { flags: own, wanted } = filtered(WITHOUT_OPENCL && givenFilter === "" ? SELECTED[name] ?? "" : "");
  jobs.push({ name, args: [...flags, ...own, name], wanted: own.length > 0 ? wanted : isWanted });
}

const runs: Run[] = [];
if (jobs.length > 0 && !WITHOUT_OPENCL && !Deno.args.includes("--no-check")) {
  // once for all files, which is far quicker than file by file
  const types = await deno(
    ["check", "--doc", ...paths.length > 0 || IN_GUEST ? [...names, ...documents] : ["."]],
    true,
  );
  if (!types.success) runs.push({ name: "deno check", passed: [], failed: ["the types"], skipped: [], seconds: 0 });
}
if (IN_GUEST) {
  runs.push(...await inGuest(jobs, paths.length > 0 || givenFilter !== "" ? [] : GUEST_APIS));
} else {
  const first = await inLanes(jobs.filter(({ name }) => !ALONE.includes(name)), LANES);
  first.push(...await inLanes(jobs.filter(({ name }) => ALONE.includes(name)), 1));
  runs.push(...paths.length > 0 ? first : await inSecondRuns(jobs, first));
}
if (!HAS_OPENCL && !IN_GUEST) {
  const skipped = examples.filter(({ opencl }) => opencl).map(({ name }) => `the example ${name} (no OpenCL device)`);
  runs.push({ name: "documentation", passed: [], failed: [], skipped, seconds: 0 });
}
if (Deno.args.includes("--times")) {
  const longest = runs.toSorted((a, b) => b.seconds - a.seconds).slice(0, LONGEST);
  console.log(longest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(6)} s  ${name}`).join("\n"));
}

const skipped = list("Skipped", runs, "skipped");
list("Unsteady (failed, and passed when they ran once more)", runs, "unsteady");
const failed = list("Failed", runs, "failed");
const passed = runs.reduce((sum, run) => sum + run.passed.length, 0);
if (passed + failed + skipped === 0) console.log("No test was found.");
console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
Deno.exit(failed > 0 || passed + skipped === 0 ? 1 : 0);
