/**
 * Runs rows in processes of their own, and holds what came against what had to come.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import { DisposedError } from "../../mod.ts";
import { CUDA_12_FOLDER, CUDA_FOLDER } from "../cuda_libraries.ts";
import { deno, type Ended, LIMIT } from "../process.ts";
import { BEGIN, type Face, REPORT, type Report } from "./perform.ts";
import type { Driver, Failure, Row, Rows } from "./row.ts";
import { publicParameters } from "./surface.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const OUT = `${ROOT}out/misuse/`; // git ignores it
const VENDORS = "/etc/OpenCL/vendors/";

/** Processes that run at a time, those of idle rows left out. */
const AT_A_TIME = 2;

/** What every row's process finds: rusticl's device, and the libraries of CUDA that this checkout has. */
const ENVIRONMENT: Readonly<Record<string, string>> = { RUSTICL_ENABLE: "llvmpipe", LD_LIBRARY_PATH: searched() };

/** Where the loader looks first. */
function searched(): string {
  return [Deno.env.get("LD_LIBRARY_PATH"), CUDA_FOLDER, `${CUDA_12_FOLDER}lib`].filter((folder) => folder !== undefined)
    .join(":");
}

/** How a row went. */
export interface Outcome {
  readonly ended: Ended;
  /** What its process reported; undefined where it ended before that. */
  readonly report: Report | undefined;
}

const queue: (() => void)[] = [];
let running = 0;

/** Every entry point's exports, by its name: `"@samepage/interop/opencl"`. */
export async function entryPoints(): Promise<Readonly<Record<string, Readonly<Record<string, unknown>>>>> {
  const names = Object.entries(config.exports).map(([name, file]) => [config.name + name.slice(1), file] as const);
  return Object.fromEntries(
    await Promise.all(names.map(async ([name, file]) => [name, await import(`${ROOT}${file}`)] as const)),
  );
}

/** Writes a file that the rows of another run may be reading: they find the old text or the new one. */
async function writeWhole(file: string, text: string): Promise<void> {
  const part = `${file}.${Deno.pid}`;
  await Deno.writeTextFile(part, text);
  await Deno.rename(part, file);
}

/** An import map that puts a watched module in each entry point's place. */
async function watchedImports(): Promise<string> {
  await Deno.mkdir(OUT, { recursive: true });
  await writeWhole(`${OUT}parameters.json`, JSON.stringify(await publicParameters(await entryPoints())));
  const imports: Record<string, string> = {};
  for (const [name, exports] of Object.entries(await entryPoints())) {
    const file = `${OUT}${name.replaceAll(/\W+/g, "_")}.ts`;
    const real = (config.imports as Record<string, string>)[name];
    await writeWhole(
      file,
      `import { watch } from "../../tests/misuse/watch.ts";
import parameters from "./parameters.json" with { type: "json" };
import * as real from "../../${real}";
export const { ${Object.keys(exports).join(", ")} } = watch(real, parameters);
`,
    );
    imports[name] = `file://${file}`;
  }
  const map = `${OUT}imports.json`;
  await writeWhole(map, JSON.stringify({ imports }));
  return map;
}

/**
 * The folder of one driver's ICD alone, as OCL_ICD_VENDORS takes it: to load the others too is most of what a short row
 * costs. All of them, where it is not known which is this driver's.
 */
async function vendorsOf(driver: Driver): Promise<Readonly<Record<string, string>>> {
  const icd = { Portable: /pocl/i, rusticl: /rusticl/i }[driver];
  const folder = `${OUT}${driver}/`;
  await Deno.mkdir(folder, { recursive: true });
  const all = await Array.fromAsync(Deno.readDir(VENDORS)).catch(() => []);
  const own = all.filter(({ name }) => icd.test(name));
  for (const { name } of own) await Deno.copyFile(`${VENDORS}${name}`, `${folder}${name}`);
  return own.length === 0 ? {} : { OCL_ICD_VENDORS: folder };
}

const imports = await watchedImports();
const vendors = { Portable: await vendorsOf("Portable"), rusticl: await vendorsOf("rusticl") };

/**
 * Runs rows of the topic in `file`, one after the other in one process, when there is room. Rows behind one that ended
 * the process get another process.
 *
 * @returns What came of each row, in the order of the rows.
 */
export async function runRows(file: string, rows: Rows, driver: Driver | undefined): Promise<Outcome[]> {
  const names = Object.keys(rows);
  const outcomes = outcomesOf(await runProcess(file, rows, driver), names.length);
  const left = names.slice(outcomes.length).map((name) => [name, rows[name]] as const);
  return left.length === 0 ? outcomes : [...outcomes, ...await runRows(file, Object.fromEntries(left), driver)];
}

async function runProcess(file: string, rows: Rows, driver: Driver | undefined): Promise<Ended> {
  // Rows that share a process have the same flags, and one with variables is alone.
  const [{ idle, flags = ["--allow-ffi"], env }] = Object.values(rows);
  if (!idle) await room();
  try {
    const always = ["--no-config", "--no-lock", "--no-check", "--no-prompt", "-q", `--import-map=${imports}`];
    const program = [file, Object.keys(rows).join("\n"), ...(driver === undefined ? [] : [driver])];
    return await deno(
      ["run", ...always, "--v8-flags=--expose-gc", ...flags, ...program],
      { env: { ...ENVIRONMENT, ...driver && vendors[driver], ...env }, limit: LIMIT + Object.keys(rows).length - 1 },
    );
  } finally {
    if (!idle) leave();
  }
}

/** What came of each row that a process began. Its end is the end of the last of them. */
function outcomesOf(ended: Ended, rows: number): Outcome[] {
  const reports = ended.stdout.split("\n").filter((line) => line.startsWith(REPORT))
    .map((line): Report => JSON.parse(line.slice(REPORT.length)));
  const texts = ended.stderr.split(BEGIN);
  // A row without a report ended the process, unless it ended behind the last one's report.
  const begun = Math.min(rows, reports.length + 1);
  return Array.from({ length: begun }, (_, i): Outcome => {
    const stderr = texts[i] ?? "";
    const end = i === begun - 1 ? ended : { ...ended, code: 0, signal: null, late: false };
    return { ended: { ...end, stderr }, report: reports[i] };
  });
}

function room(): Promise<void> | undefined {
  if (running++ < AT_A_TIME) return;
  return new Promise((resolve) => queue.push(resolve));
}

function leave(): void {
  running--;
  queue.shift()?.();
}

/** Throws unless all of it came as the row says. */
export function assertOutcome(row: Row, driver: Driver | undefined, { ended, report }: Outcome): void {
  const said = `${report?.thrown?.stack ?? ""}\n${ended.stderr}`;
  assert(!ended.late, `it hung: killed after ${LIMIT} seconds\n${said}`);
  // The report is the last that a program does: what ends the process behind it are exit handlers.
  const mayFault = row.faultsAtExit === true || (driver !== undefined && row.faultsAtExit === driver);
  if (report === undefined || !mayFault) {
    assert(ended.signal === null, `it was ended by ${ended.signal}\n${said}`);
  }
  if (ended.signal === null) assertEquals(ended.code, row.exits ?? 0, `its exit code\n${said}`);
  assert(report !== undefined, `no report\n${said}`);
  const expected = expectation(row, driver);
  if (expected === undefined) assert(report.thrown === undefined, `it did not end well\n${said}`);
  else assertFailure(report.thrown, expected, said);
  assertEquals(report.said, row.says ?? []);
  if (row.warns !== undefined) assertMatch(ended.stderr, row.warns);
  else assertEquals(ended.stderr, "", "it warned");
  if (!row.leaves) assertEquals(report.alive, {}, "the ledger at the end");
  assertEquals(report.wrong?.faults, [], "faults of wrong values");
}

/** The error that a row has to end with. */
export function expectation({ fails }: Row, driver: Driver | undefined): Failure | undefined {
  if (fails === undefined || "error" in fails) return fails as Failure | undefined;
  return fails[driver!];
}

function assertFailure(thrown: Face | undefined, expected: Failure, said: string): void {
  assert(thrown !== undefined, `it ended well; expected ${expected.error.name}\n${said}`);
  const { error, message, hint, has = {}, ...fields } = expected;
  const { error: name, api, fn, code, codeName, argument } = thrown;
  const seen = Object.entries({ api, fn, code, codeName, argument }).filter(([, value]) => value !== undefined);
  assertEquals({ error: name, ...Object.fromEntries(seen) }, { error: error.name, ...fields }, said);
  assertMatch(thrown.message, message);
  // That an object has ended always has one: it says when to dispose, or what has to stay.
  if (hint === undefined && expected.error === DisposedError) assertMatch(thrown.hint ?? "", /last use/);
  else if (hint === undefined) assertEquals(thrown.hint, undefined, "its hint");
  else assertMatch(thrown.hint ?? "", hint);
  for (const [field, pattern] of Object.entries(has)) assertMatch(JSON.stringify(thrown.has[field]) ?? "", pattern);
}
