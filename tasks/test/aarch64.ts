import { dirname, join } from "@std/path";
import { AARCH64_DENO_DIR, AARCH64_ROOT, QEMU } from "../setup/aarch64.ts";
import { runInRoot } from "../setup/debian_root.ts";
import { quote } from "../../tests/guest/guest.ts";
import { readJUnit } from "../report.ts";
import { type Job, ROOT, type Run, TEST_FLAGS, withEnd } from "./job.ts";

/** What runs unless paths are given: calls of the kernel, C's structs, PoCL, and OpenCV's classes. */
export const ON_AARCH64: readonly string[] = [
  ...["fds", "layout", "page_size", "poller", "refused_probe"].map((name) => `tests/unit/${name}_test.ts`),
  "tests/opencl/buffers_test.ts",
  "tests/opencv/mat_test.ts",
];
/** Jobs that run at a time. */
const LANES = 2;
/** Seconds after which a job hangs, and is ended. */
const LIMIT = 1800;
/** The beginning of a program for aarch64, and which of its bits count. */
const MAGIC = String.raw`\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`;
const MASK = String.raw`\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`;
const FORMATS = "/proc/sys/fs/binfmt_misc";
/** The kernel starts programs for aarch64 with qemu, in the namespaces of a job alone (since Linux 6.7). */
const BEFORE = [
  `mount -t binfmt_misc none ${FORMATS}`,
  `printf %s ${quote(`:aarch64:M::${MAGIC}:${MASK}:${QEMU}:F`)} > ${FORMATS}/register`,
];

/** Runs test files on aarch64, as qemu emulates it. */
export async function inAarch64(jobs: readonly Job[]): Promise<Run[]> {
  const left = jobs.entries();
  const runs: Run[] = [];
  const lane = async () => {
    for (const [i, job] of left) runs.push(await run(job, join(dirname(AARCH64_ROOT), `${i}.xml`)));
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return runs;
}

async function run({ name, args, wanted }: Job, file: string): Promise<Run> {
  const start = performance.now();
  await Deno.remove(file).catch(() => {}); // the run before has left it
  const command = ["timeout", "-k", "5", `${LIMIT}`, "deno", "test", ...TEST_FLAGS, `--junit-path=${file}`, ...args];
  const env = `env -i PATH=/usr/bin:/bin:/sbin HOME=/tmp DENO_DIR=${quote(AARCH64_DENO_DIR)} NO_COLOR=1`;
  const line = `ldconfig; exec ${env} ${command.map(quote).join(" ")}`;
  const { success, signal, code } = await runInRoot(AARCH64_ROOT, { line, folders: [ROOT], cwd: ROOT, before: BEFORE });
  const report = readJUnit(await Deno.readTextFile(file).catch(() => ""));
  const { passed, failed, skipped } = withEnd(report, success ? undefined : signal ?? `code ${code}`);
  return { name, passed, failed, skipped: skipped.filter(wanted), seconds: (performance.now() - start) / 1000 };
}
