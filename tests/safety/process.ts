/**
 * Cases that might end or hang the process: each runs in one of its own, with a time limit.
 *
 * @module
 */
import { hasDevice } from "../opencl/present.ts";
import { assertEquals } from "@std/assert";

const ROOT = new URL("../../", import.meta.url).pathname;

/** The drivers that a case which uses OpenCL runs on; the text is part of the platform's name. */
const DRIVERS = ["Portable", "rusticl"] as const;

/** What every case may use. `fails` wants a typed error, `safe` takes success too; both refuse any other error. */
const PRELUDE = `
import * as sp from "@samepage/interop";
import * as clm from "@samepage/interop/opencl";
const { chain, Fence, Frame, host, hostToOpenCL, imageInfo, InteropError, layout, ledger, MapperGraph, openCLToHost, region } = sp;
const { BaseOf, LocalMemory, OpenCLContext, OpenCLProgram, OpenCLQueue, OpenCLUserEvent } = clm;
const gc = globalThis.gc;
const open = () => OpenCLContext.open({ platform: Deno.env.get("PLATFORM") });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const settled = async () => { for (let i = 0; i < 5; i++) { gc(); await sleep(10); } };
const info = (width, height) => imageInfo({ format: "GRAY8", width, height });
function judge(what, error, names) {
  if (!(error instanceof InteropError)) throw new Error(what + ": untyped " + error?.constructor?.name + ": " + error?.message);
  if (names.length > 0 && !names.includes(error.constructor.name)) throw new Error(what + ": " + error.constructor.name + ": " + error.message);
}
function fails(what, action, ...names) {
  try { action(); } catch (error) { return judge(what, error, names); }
  throw new Error(what + ": no error");
}
function safe(what, action) {
  try { return action(); } catch (error) { judge(what, error, []); }
}
function same(what, actual, expected) {
  if (!Object.is(actual, expected)) throw new Error(what + ": " + String(actual) + " in place of " + String(expected));
}
/** A fence of the program's own. */
class OwnFence extends Fence {
  context = host; line = {}; done = false;
  reached() { return this.done; }
  waitSync() { this.done = true; }
  retain() { return this; }
  waitable() { return undefined; }
  async waitNonblocking() { this.done = true; }
  [Symbol.dispose]() {}
}
`;

/** What a case needs. */
export interface CaseOptions {
  /** Run it once on every OpenCL driver, as `open()` opens it. */
  readonly opencl?: boolean;
  /** Seconds after which it counts as hung. */
  readonly limit?: number;
}

/** A test whose body runs in a process of its own, and has to end with code 0 in time. */
export function isolated(name: string, options: CaseOptions, body: string): void {
  for (const driver of options.opencl ? DRIVERS : [undefined]) {
    const ignore = driver !== undefined && !hasDevice(driver);
    const title = driver === undefined ? name : `${name} (${ignore ? "not here: " : ""}${driver})`;
    Deno.test({
      name: title,
      ignore,
      async fn() {
        const { code, said } = await run(body, driver, options.limit ?? 20);
        assertEquals(code, 0, `exit code ${code} (139: memory fault, 134: abort, 137: hung)\n${said}`);
      },
    });
  }
}

async function run(body: string, driver: string | undefined, limit: number): Promise<{ code: number; said: string }> {
  const folder = `${ROOT}out/safety`; // git ignores it
  await Deno.mkdir(folder, { recursive: true });
  const path = await Deno.makeTempFile({ dir: folder, suffix: ".ts" });
  try {
    await Deno.writeTextFile(path, PRELUDE + body);
    const flags = ["run", "--no-check", "-q", "--config", `${ROOT}deno.json`, "--v8-flags=--expose-gc", "-A", path];
    const child = new Deno.Command(Deno.execPath(), {
      args: flags,
      env: { NO_COLOR: "1", RUSTICL_ENABLE: "llvmpipe", ...(driver === undefined ? {} : { PLATFORM: driver }) },
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const killer = setTimeout(() => child.kill("SIGKILL"), 1000 * limit);
    const { code, stdout, stderr } = await child.output();
    clearTimeout(killer);
    const text = new TextDecoder();
    return { code, said: `${text.decode(stdout)}${text.decode(stderr)}`.slice(0, 4000) };
  } finally {
    await Deno.remove(path);
  }
}
