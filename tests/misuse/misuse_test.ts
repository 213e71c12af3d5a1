// The table of misuse: every row is a program that does what it should not, in a process of its own or of its topic. None
// may end by a signal, hang, or leave with an untyped error. A topic's rows are in `rows/`; a new file there is found by
// itself.

import { assert, assertEquals } from "@std/assert";
import { openingOf } from "../../src/core/native/library.ts";
import { cudaLibrary } from "../cuda_libraries.ts";
import { sharedGpus } from "../../bench/harness/gpus.ts";
import { devices as gpus } from "../cuda/help.ts";
import { hasDevice } from "../opencl/present.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
import { missing as missingEgl } from "../egl/help.ts";
import { missing as lackingOfGStreamer } from "../gstreamer/open.ts";
import { lacking as lackingOfPython } from "../python/help.ts";
import { buildFrames } from "../ffmpeg/frames.ts";
import { missing as lackingOfUcx } from "../ucx/help.ts";
import { buildStandIn } from "../sycl/open.ts";
import { LIBRARY as ONNX_RUNTIME } from "../onnxruntime/open.ts";
import { simulated } from "../openvino/gpu.ts";
import { LIBRARY as OPENVINO } from "../openvino/open.ts";
import { buildDriver as buildLevelZero } from "../levelzero/drivers.ts";
import { buildDriver } from "../vaapi/driver.ts";
import { withoutVulkan } from "../ffmpeg/open.ts";
import { missing as missingVulkan } from "../vulkan/help.ts";
import { type Driver, DRIVERS, isAlone, type Row, type Rows } from "./row.ts";
import { assertOutcome, entryPoints, expectation, type Outcome, runRows } from "./run.ts";
import { publicMethods, publicParameters } from "./surface.ts";
import { isExempt } from "./wrong.ts";

const FOLDER = new URL("./rows/", import.meta.url);

/** A row on one driver. */
interface Run {
  readonly title: string;
  readonly row: Row;
  readonly driver: Driver | undefined;
  /** True where its driver, OpenCV, or a GPU is not on this machine. */
  readonly missing: boolean;
  /** Runs it, once. */
  readonly outcome: () => Promise<Outcome>;
}

/** Why there is no Vulkan here. */
const lackingOfVulkan = missingVulkan();

/** Why there is no EGL here. */
const lackingOfEgl = missingEgl();
/** What stands in for a GPU's driver: the rows need the file. */
await buildDriver();
await buildLevelZero();
await buildStandIn();
if (OPENVINO !== undefined) simulated();

/** Why there is no FFmpeg here. */
const lackingOfFFmpeg = await buildFrames();

/** Why there is no runtime of models here. */
const lackingOfOnnxRuntime = ONNX_RUNTIME === undefined ? "ONNX Runtime: deno task setup inference" : undefined;
const lackingOfOpenVINO = OPENVINO === undefined ? "OpenVINO: deno task setup inference" : undefined;

const topics = Deno.readDirSync(FOLDER).map(({ name }) => name).toArray().sort();
const runs = new Map<string, readonly Run[]>();
for (const topic of topics) {
  const file = new URL(topic, FOLDER);
  const { default: rows }: { default: Rows } = await import(file.href);
  const needs = topic.startsWith("opencv") && !hasOpenCV
    ? "OpenCV"
    : topic.startsWith("vulkan")
    ? lackingOfVulkan
    : topic.startsWith("egl")
    ? lackingOfEgl
    : topic.startsWith("ffmpeg_vulkan")
    ? withoutVulkan()
    : topic.startsWith("ffmpeg")
    ? lackingOfFFmpeg
    : topic.startsWith("gstreamer")
    ? lackingOfGStreamer
    : topic.startsWith("onnxruntime")
    ? lackingOfOnnxRuntime
    : topic.startsWith("openvino")
    ? lackingOfOpenVINO
    : topic.startsWith("python")
    ? lackingOfPython()
    : topic.startsWith("ucx")
    ? lackingOfUcx
    : topic.startsWith("cuda_sharing")
    ? sharedGpus().missing
    : undefined;
  runs.set(topic, [undefined, ...DRIVERS].flatMap((driver) => runsOn(file.pathname, rows, driver, needs)));
}

/** The rows of a topic on one driver, or those without any; `needs` is what all of them lack on this machine. */
function runsOn(file: string, rows: Rows, driver: Driver | undefined, needs: string | undefined): Run[] {
  const processes = new Map<string, { readonly rows: Record<string, Row>; outcomes?: Promise<Outcome[]> }>();
  return Object.entries(rows).flatMap(([name, row]) => {
    if (row.opencl !== driver && !(row.opencl === true && driver !== undefined)) return [];
    const lacks = needs ?? row.nodes?.find((node) => !isThere(node)) ??
      (driver !== undefined && !hasDevice(driver) ? driver : undefined) ?? lackingOfCuda(row);
    const missing = lacks !== undefined;
    const where = missing ? `not here: ${lacks}` : driver;
    const title = where === undefined ? name : `${name} (${where})`;
    if (!missing && !isAlone(row)) {
      const shared = processes.getOrInsertComputed(String(row.flags), () => ({ rows: {} }));
      const nth = Object.keys(shared.rows).length;
      shared.rows[name] = row;
      const outcome = async () => (await (shared.outcomes ??= runRows(file, shared.rows, driver)))[nth];
      return [{ title, row, driver, missing, outcome }];
    }
    let alone: Promise<Outcome[]> | undefined;
    const outcome = async () => (await (alone ??= runRows(file, { [name]: row }, driver)))[0];
    return [{ title, row, driver, missing, outcome }];
  });
}

function isThere(node: string): boolean {
  try {
    Deno.statSync(node);
    return true;
  } catch {
    return false;
  }
}

/** What a row needs of CUDA and this machine lacks. */
function lackingOfCuda({ gpus: count = 0, cudaLibraries = [] }: Row): string | undefined {
  if (gpus.length < count) return count === 1 ? "a GPU" : `${count} GPUs`;
  return cudaLibraries.find((name) => cudaLibrary(name) === undefined && !isInstalled(name));
}

/** Has the system a library of CUDA's? That was seen when its GPUs were looked for. */
function isInstalled(name: string): boolean {
  return openingOf("cudart")?.path?.endsWith(name) ?? false;
}

for (const [topic, of] of runs) {
  Deno.test(`misuse: ${topic.replace(/\.ts$/, "")}`, async (t) => {
    // Beside each other: each waits for room.
    await Promise.all(of.map((run) =>
      t.step({
        name: run.title,
        ignore: run.missing,
        fn: async () => assertOutcome(run.row, run.driver, await run.outcome()),
        sanitizeOps: false,
        sanitizeResources: false,
        sanitizeExit: false,
      })
    ));
  });
}

const here = [...runs.values()].flat().filter(({ missing }) => !missing);

Deno.test("misuse: at least 60 rows, which expect at least 12 classes of errors or codes", async () => {
  const rows = new Set([...runs.values()].flat().map(({ row }) => row));
  assert(rows.size >= 60, `${rows.size} rows`);
  const expected = new Set<string>();
  for (const { row, driver, outcome } of here) {
    const failure = expectation(row, driver);
    const named = failure === undefined ? [] : [failure.error.name, failure.codeName];
    for (const name of [...named, ...(await outcome()).report?.caught ?? []]) {
      if (name !== undefined) expected.add(name);
    }
  }
  assert(expected.size >= 12, [...expected].join(", "));
});

/** The entry point whose methods only a machine with a GPU can call. */
const CUDA = "@samepage/interop/cuda";

/** The one whose methods need dma-bufs, which a guest has. */
const DMABUF = "@samepage/interop/dmabuf";

const VULKAN = "@samepage/interop/vulkan";

const EGL = "@samepage/interop/egl";

/** What holds options, by the names that parameters have; other objects are passed as they came. */
const OF_OPTIONS = ["options", "choice", "init", "handles", "description", "range"];

/**
 * A test that rows call every public method of some entry points, of those that no other has, with wrong values for each
 * of its options.
 */
function everyMethod(what: string, needs: string | undefined, isOf: (entryPoint: string) => boolean): void {
  Deno.test({
    name: `misuse: every public method ${what} is called by some row${needs ? ` (skipped: needs ${needs})` : ""}`,
    ignore: needs !== undefined,
    async fn() {
      const called = new Set<string>();
      const tried = new Set<string>();
      for (const { outcome } of here) {
        const { report } = await outcome();
        for (const name of report?.called ?? []) called.add(name);
        for (const path of report?.wrong?.tried ?? []) tried.add(path);
      }
      const all = Object.entries(await entryPoints());
      const others = await publicMethods(Object.fromEntries(all.filter(([name]) => !isOf(name))));
      const own = await publicMethods(Object.fromEntries(all.filter(([name]) => isOf(name))));
      const wanted = own.filter((name) => what === "" || !others.includes(name));
      assert(wanted.length > 0);
      assertEquals(wanted.filter((name) => !called.has(name)), [], "public, and called by no row");
      const parameters = await publicParameters(Object.fromEntries(all.filter(([name]) => isOf(name))));
      const options = wanted.flatMap((method) => {
        const [own, ...others] = parameters[method] ?? [[]];
        if (others.length > 0) return []; // what one overload takes, another may not
        return own.filter(({ name }) => OF_OPTIONS.includes(name)).flatMap(({ name, fields = {} }) =>
          Object.keys(fields).map((field) => `${method} ${name}.${field}`)
        );
      });
      assertEquals(options.filter((path) => !tried.has(path) && !isExempt(path)), [], "options without a row");
    },
  });
}

everyMethod(
  "",
  hasDevice() && hasOpenCV && !lackingOfFFmpeg ? undefined : "an OpenCL device, OpenCV and FFmpeg",
  (name) => ![CUDA, DMABUF, VULKAN, EGL].includes(name),
);
everyMethod("of Vulkan", lackingOfVulkan, (name) => name === VULKAN);
everyMethod("of EGL", lackingOfEgl, (name) => name === EGL);
everyMethod("of CUDA", gpus.length > 0 ? undefined : "a GPU", (name) => name === CUDA);

for (const [api, prefix, name] of [["CUDA", "cuda", CUDA], ["dma-bufs", "dmabuf", DMABUF]]) {
  Deno.test(`misuse: every public method of ${api} stands in some row`, async () => {
    const texts = topics.filter((topic) => topic.startsWith(prefix)).map((topic) =>
      Deno.readTextFileSync(new URL(topic, FOLDER))
    );
    const words = new Set(texts.join("\n").match(/\w+/g));
    if (words.has("inspect")) words.add("customInspect"); // which that calls
    const all = Object.entries(await entryPoints());
    const others = await publicMethods(Object.fromEntries(all.filter(([other]) => other !== name)));
    const own = await publicMethods(Object.fromEntries(all.filter(([other]) => other === name)));
    // What a symbol names is looked for by its last word: dispose, customInspect.
    const missing = own.filter((name) => !others.includes(name) && !words.has(name.match(/\w+/g)!.at(-1)!));
    assertEquals(missing, [], "public, and in the text of no row: only a machine that has it can tell what is called");
  });
}
