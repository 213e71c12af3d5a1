// What OpenCV itself made in its own OpenCL context: which it chooses once a process, so this has one of its own.

import { assertEquals } from "@std/assert";
import { exec } from "../package/project.ts";
import { testUMat } from "./help.ts";

async function program(device: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { OPENCV_OPENCL_DEVICE: device };
  return await exec(Deno.execPath(), ["run", "-A", "tests/opencv/programs/default_context.ts"], { env });
}

testUMat("default context: a UMat of OpenCV's own is retained, mapped to OpenCL and the host, and shared", async () => {
  const { code, stdout, stderr } = await program("Portable Computing Language:CPU:");
  assertEquals(code, 0, stdout + stderr);
  assertEquals(JSON.parse(stdout), {
    owners: 3,
    type: "CV_8UC3",
    shape: [40, 50, 3],
    mem: true,
    again: "AccessError",
    peer: "AccessError",
    route: ["opencv.umat→opencl alias", "opencl→host alias"],
    pixels: [248],
    ownersAfter: 1,
    foreign: "NoRouteError",
    alive: {},
  });
});
