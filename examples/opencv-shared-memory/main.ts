/**
 * OpenCV on memory that OpenCL shares: the program of a question in OpenCV's forum, whose writes got lost. Its faults one by
 * one, each as it is seen on this machine, and then the program that works.
 *
 * Run it as `deno run -A examples/opencv-shared-memory/main.ts [rounds]`.
 *
 * @module
 */
import { host, ledger, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext, OpenCVError } from "@samepage/interop/opencv";
import { seeFaults } from "./faults.ts";
import { type Outcome, share } from "./sharing.ts";

/** The question's image. */
const [ROWS, COLS] = [400, 512];

/** Bytes after each row. */
const PADDINGS = [0, 1, 64, 4096];

/** Says something under a heading. */
function say(heading: string, ...lines: string[]): void {
  lines.forEach((line, i) => console.log(`${(i === 0 ? heading : "").padEnd(9)}${line}`));
}

/** Rounds of the right program; where OpenCV or its driver does not take such rows, what it says. */
function shared(cv: OpenCVContext, graph: MapperGraph, padding: number, times: number): Outcome | undefined {
  try {
    return share(cv, graph, [ROWS, COLS], padding, times);
  } catch (error) {
    if (!(error instanceof OpenCVError)) throw error;
    say("shared", `rows padded by ${padding}: ${error.message}`);
    return undefined;
  }
}

const rounds = Number(Deno.args[0] ?? 300);
const alive = JSON.stringify(ledger.alive);
let wrong = 0;
{
  // OpenCV takes GPUs by itself, and nothing else unless told.
  if (Deno.env.get("OPENCV_OPENCL_DEVICE") === undefined) Deno.env.set("OPENCV_OPENCL_DEVICE", ":CPU:");
  using cv = OpenCVContext.open();
  const own = cv.openCLContext;
  if (own === undefined) {
    console.error("OpenCV has no OpenCL device here; `deno task doctor` says why.");
    Deno.exit(1);
  }
  using cl = OpenCLContext.attach(own);
  using graph = new MapperGraph([host, cl, cv]);
  say("OpenCV", `${cv.version}; its own OpenCL context is on ${cl.name}`);

  for (const { fault, raw, here } of seeFaults({ cl, cv, graph, rows: ROWS, cols: COLS })) {
    say("fault", fault, `raw:      ${raw}`, `samepage: ${here}`);
  }

  for (const padding of PADDINGS) {
    const outcome = shared(cv, graph, padding, Math.ceil(rounds / PADDINGS.length));
    if (outcome === undefined) continue;
    wrong += outcome.wrong;
    const verdict = outcome.wrong === 0 ? "as OpenCV's own Mats have them" : `${outcome.wrong} WRONG`;
    say("shared", `${outcome.rounds} rounds, rows padded by ${padding}: ${outcome.compared} bytes, ${verdict}`);
    if (padding === PADDINGS[0]) say("", outcome.transfers);
  }
}
const left = JSON.stringify(ledger.alive);
say("left", left === alive ? "nothing: every native object was given back" : left);
if (wrong > 0 || left !== alive) Deno.exitCode = 1;
