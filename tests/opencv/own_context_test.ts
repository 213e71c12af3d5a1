// OpenCV's own OpenCL context does not depend on what was mapped before: it chooses once a process, so each has its own.

import { assertEquals } from "@std/assert";
import { deno } from "../package/project.ts";
import { testUMat } from "./help.ts";

interface Found {
  readonly there: boolean;
  readonly always: boolean;
  readonly ours: boolean;
}

async function found(device: string | undefined, ...args: string[]): Promise<Found> {
  const env = device === undefined ? undefined : { env: { OPENCV_OPENCL_DEVICE: device } };
  const { stdout } = await deno(["run", "-A", "tests/opencv/programs/own_context.ts", ...args], env);
  return JSON.parse(stdout);
}

testUMat(
  "own context: with a device, OpenCV's own from the first map on, and never the one that was mapped from",
  async () => {
    for (const args of [[], ["before"]]) {
      assertEquals(await found(":CPU:", ...args), { there: true, always: true, ours: false }, args.join());
    }
  },
);

testUMat("own context: where OpenCV finds no device, none afterwards either", async () => {
  for (const device of [undefined, "disabled"]) {
    const asked = await found(device, "before");
    assertEquals([asked.always, asked.ours], [true, false]);
    // On a machine without a GPU there is none, with one there is: whichever comes first.
    assertEquals(await found(device), asked);
    if (device === "disabled") assertEquals(asked.there, false);
  }
});
