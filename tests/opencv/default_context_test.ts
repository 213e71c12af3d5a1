// What OpenCV itself made in its own OpenCL context: which it chooses once a process, so this has one of its own.

import { assertEquals } from "@std/assert";
import { exec } from "../package/project.ts";
import { testUMat } from "./help.ts";

async function program(
  device: string,
  name: string = "default_context",
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { OPENCV_OPENCL_DEVICE: device };
  return await exec(Deno.execPath(), ["run", "-A", `tests/opencv/programs/${name}.ts`], { env });
}

testUMat("cv.umat.create() makes UMats in OpenCV's own context, which go to OpenCL and the host", async () => {
  const { code, stdout, stderr } = await program("Portable Computing Language:CPU:", "created_umat");
  assertEquals([code, stderr], [0, ""]);
  assertEquals(JSON.parse(stdout), {
    made: ["CV_8UC3", [40, 50, 3]],
    pixels: [248],
    transfers: ["alias", "alias"],
    volume: [3, 4, 5],
    refused: ["LayoutError", "LayoutError", "LayoutError", "LayoutError"],
    disposed: "DisposedError",
    alive: {},
  });
});

testUMat("cv.umat.create() says what is missing where OpenCV uses no OpenCL", async () => {
  const { code, stdout } = await program("disabled", "created_umat");
  assertEquals([code, JSON.parse(stdout).without], [0, "ArgumentError"]);
});

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
