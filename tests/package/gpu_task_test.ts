// `deno task gpu` where there is no GPU, and what it makes of the reports that come of one.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { noCuda } from "../../bench/harness/cuda.ts";
import { cudaExamples, cudaTests } from "../../tasks/gpu/files.ts";
import { inLanes, Job } from "../../tasks/gpu/job.ts";
import { errorsIn } from "../../tasks/gpu/kernel_log.ts";
import { foundBy } from "../../tasks/gpu/sanitizer.ts";
import { stepsOn } from "../../tasks/gpu/steps.ts";
import { outcomeOf } from "../../tasks/gpu/tests.ts";
import { runModule } from "../process.ts";
import { exec } from "./project.ts";

const GPU = ["run", "-A", "--no-check", "tasks/gpu.ts"];
const here = noCuda() === undefined;

Deno.test({
  name: `gpu task: without a GPU it says so and ends with 2${here ? " (skipped: there is a GPU)" : ""}`,
  ignore: here,
  fn: async () => {
    const { code, stderr } = await exec(Deno.execPath(), GPU);
    assertEquals(code, 2);
    assertMatch(stderr, /^gpu: not here: there is no GPU: /m);
  },
});

Deno.test("gpu task: --list names every step, and an unknown step is refused", async () => {
  const { code, stdout } = await exec(Deno.execPath(), [...GPU, "--list"]);
  assertEquals(code, 0);
  const names = stepsOn("", 1).map(({ name }) => name);
  assertEquals(stdout.trim().split("\n").map((line) => line.split(" ")[0]), names);
  assertEquals((await exec(Deno.execPath(), [...GPU, "--only=bench,bunch"])).code, 2);
});

Deno.test("gpu task: a machine without OpenCV is a failure", async () => {
  const { stdout, stderr } = await runModule(
    `import { openCVHere } from "../../tasks/gpu/opencv.ts";
    console.log(JSON.stringify(openCVHere()));`,
    { env: { SAMEPAGE_LIB_OPENCV_CORE: "/nowhere.so" } },
  );
  const { verdict, failures } = JSON.parse(stdout || JSON.stringify(stderr));
  assertEquals(verdict, "red");
  assertMatch(failures[0], /opencv_core/);
});

Deno.test("gpu task: its steps fit into the time that it has", () => {
  const stages = Map.groupBy(stepsOn("", 1).filter(({ onlyIfNamed }) => !onlyIfNamed), ({ stage }) => stage).values();
  const longest = Array.from(stages, (steps) => Math.max(...steps.map(({ limit }) => limit)));
  assertEquals(longest.reduce((all, each) => all + each, 0) <= 9.5 * 60, true);
});

Deno.test("gpu task: a red step has the driver's errors since it began", () => {
  const xid = "[  103.073284] NVRM: Xid (PCI:0000:00:06): 13, pid=9384, name=deno, Graphics Exception";
  const log = `[   99.5] NVRM: Xid (PCI:0000:00:06): 31, pid=1\n[  101.0] usb 1-1: new device\n${xid}\n`;
  assertEquals(errorsIn(log, 100), [xid]);
});

Deno.test("gpu task: it finds CUDA's tests and examples", async () => {
  const tests = await cudaTests();
  assertEquals(tests.filter((path) => !/cuda/.test(path) || /^tests\/(abi|faults|unit)\//.test(path)), []);
  assertEquals(tests.includes("tests/cuda/examples/kernels_test.ts"), true);
  assertEquals((await cudaExamples()).includes("examples/cuda-edges/main.ts"), true);
});

Deno.test("gpu task: what compute-sanitizer reports", () => {
  const clean = `========= COMPUTE-SANITIZER
========= LEAK SUMMARY: 0 bytes leaked in 0 allocations
========= ERROR SUMMARY: 0 errors
`;
  assertEquals(foundBy("memcheck", clean), []);
  const leak = `========= COMPUTE-SANITIZER
========= Leaked 64 bytes at 0x7f0000000000
=========     Saved host backtrace up to driver entry point at allocation time
========= LEAK SUMMARY: 64 bytes leaked in 1 allocations
========= ERROR SUMMARY: 1 error
`;
  assertEquals(foundBy("memcheck", leak), [
    "memcheck: 1 errors; the first: Leaked 64 bytes at 0x7f0000000000",
    "memcheck: 64 bytes leaked in 1 allocations",
  ]);
  const races = "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n";
  assertEquals(foundBy("racecheck", races), ["racecheck: 2 errors; the first: not reported"]);
  assertEquals(foundBy("racecheck", "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"), []);
});

Deno.test("gpu task: a tool that has checked nothing is not a success", () => {
  const nothing =
    "========= COMPUTE-SANITIZER\n========= Target application terminated before first instrumented API call\n";
  assertEquals(foundBy("initcheck", nothing), [
    "initcheck has checked nothing: Target application terminated before first instrumented API call",
  ]);
  assertEquals(foundBy("memcheck", ""), ["memcheck has checked nothing: its log is empty"]);
});

Deno.test("gpu task: what is not here is counted by its reason, and nothing passed is not a success", () => {
  const two = "cuda: peers (not here: needs 2 GPUs)";
  const outcome = outcomeOf([{ passed: ["a"], failed: [], skipped: [two, two] }]);
  assertEquals(outcome, {
    verdict: "green",
    counts: "1 passed, 2 not here",
    failures: [],
    remarks: ["2 × needs 2 GPUs"],
  });
  assertEquals(outcomeOf([{ passed: [], failed: [], skipped: [two] }]).verdict, "red");
  assertEquals(outcomeOf([{ passed: ["a"], failed: ["b"], skipped: [] }]).counts, "1 passed, 1 failed");
});

Deno.test("gpu task: inLanes() keeps the order of the results", async () => {
  let running = 0, most = 0;
  const answers = await inLanes([30, 1, 20, 2], 2, async (milliseconds) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    running--;
    return milliseconds;
  });
  assertEquals([answers, most], [[30, 1, 20, 2], 2]);
});

Deno.test("gpu task: what a tool has started ends with it, where its time is up", async () => {
  const out = await Deno.makeTempDir({ prefix: "samepage-gpu-" });
  try {
    const began = performance.now();
    const { timedOut, how, stdout } = await new Job(out, "x", 5).run("sh", ["-c", "sleep 60 & echo $!; wait"], "log");
    assertEquals([timedOut, how], [true, "no end within 5 s"]);
    assert(performance.now() - began < 30_000, "its child held what it prints to");
    const child = Number(stdout);
    assert(child > 0, stdout);
    const stat = () => Deno.readTextFile(`/proc/${child}/stat`).catch(() => "gone");
    const over = /^gone$|\) Z /; // without a reaper it is left as a zombie
    for (let tries = 0; tries < 30_000 && !over.test(await stat()); tries++) {
      await new Promise((go) => setTimeout(go, 1));
    }
    assertMatch(await stat(), over);
  } finally {
    await Deno.remove(out, { recursive: true });
  }
});
