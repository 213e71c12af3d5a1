// The examples as a user runs them, and the seed's program ten thousand times.

import { assertFlat } from "../gc.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { host, MapperGraph } from "@samepage/interop";
import { OpenCVContext } from "@samepage/interop/opencv";
import { share } from "../../examples/opencv-shared-memory/sharing.ts";
import { exec, type Output } from "../package/project.ts";
import { openPoCL, testUMat } from "./help.ts";

async function run(example: string, ...args: string[]): Promise<Output> {
  const env = { SAMEPAGE_OPENCL_DEVICE: "Portable", OPENCV_OPENCL_DEVICE: "Portable Computing Language:CPU:" };
  return await exec(Deno.execPath(), ["run", "-A", `examples/${example}/main.ts`, ...args], { env });
}

testUMat("examples: opencv-shared-memory shows each fault, and the program that works", async () => {
  const { code, stdout, stderr } = await run("opencv-shared-memory", "40");
  assertEquals(code, 0, stdout + stderr);
  const lines = stdout.trimEnd().split("\n");
  const faults = lines.filter((line) => line.startsWith("fault"));
  assertEquals(faults.length, 5);
  const [noAccess, early, step, ignored, reallocated] = lines.filter((line) => line.includes("raw:"));
  assertStringIncludes(noAccess, "clEnqueueMapBuffer returns CL_INVALID_OPERATION (-59)");
  assertStringIncludes(
    early,
    "the host reads 0 (it was 0); when the queue is finished, 200; once the buffer is mapped, 200",
  );
  assertStringIncludes(step, "OpenCVError: Mat_construct2D failed with StsAssert (-215)");
  assertStringIncludes(ignored, "the UMat has 512");
  assertStringIncludes(reallocated, "is another one, and the host's memory still holds 0");
  const here = lines.filter((line) => line.includes("samepage:"));
  const says = [
    "NoRouteError",
    "AccessError",
    "LayoutError",
    "the UMat has 576",
    "ReallocatedError, whose result holds 200",
  ];
  says.forEach((words, i) => assertStringIncludes(here[i], words));
  const shared = lines.filter((line) => line.startsWith("shared"));
  assertEquals(shared.length, 4);
  for (const line of shared) assertMatch(line, /as OpenCV's own Mats have them$/);
  assertEquals(lines.at(-1), "left     nothing: every native object was given back");
});

testUMat("examples: opencv-edges finds the demo's edges", async () => {
  const { code, stdout, stderr } = await run("opencv-edges");
  assertEquals(code, 0, stdout + stderr);
  assertStringIncludes(stdout, "Mat      host→opencv.mat alias");
  assertStringIncludes(stdout, "UMat     host→opencl alias, opencl→opencv.umat alias");
  assertStringIncludes(stdout, "the same edges as the demo's, 838656 pixels");
  const [, different] = stdout.match(/(\d+) of 838656 pixels differ/) ?? [];
  assert(Number(different ?? 0) < 100, stdout); // the kernel blurs in floating point
});

testUMat("the seed: ten thousand times, every byte as OpenCV's own Mats have it, and nothing left", async () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  const rounds = (times: number) =>
    [1, 64, 4096].map((padding) => share(cv, graph, [40, 51], padding, Math.ceil(times / 3)));
  const first = rounds(6000); // allocators grow until they know how much is needed
  const outcomes = [...first];
  await assertFlat(32 * 2 ** 20, () => outcomes.push(...rounds(4000)));
  assertEquals(outcomes.map(({ wrong }) => wrong), outcomes.map(() => 0));
  for (const { transfers } of outcomes) assertEquals(transfers, "host→opencl alias, opencl→opencv.umat alias");
});
