// Frames from one process's GPU memory to another's over UCX: the GPU's own copies (cuda_ipc), beside C that makes the same
// calls, and beside copies through the CPU's memory.

import { fromFileUrl } from "@std/path";
import { UcxContext } from "@samepage/interop/ucx";
import { ucxC } from "./harness/c.ts";
import { noCuda } from "./harness/cuda.ts";
import { figure } from "./harness/figure.ts";
import { faster } from "./harness/goal.ts";
import { moving, program, type Way } from "./harness/way.ts";
import { InteropError } from "@samepage/interop";

const FRAME = 1920 * 1080 * 4;

function side(name: string, way: string): Way {
  const args = ["run", "-A", "--no-check", fromFileUrl(new URL("sides/frames.ts", import.meta.url)), way, "1080p"];
  return program(name, () => ({ path: Deno.execPath(), args }), "frames");
}

function isHere(): boolean {
  if (noCuda() !== undefined) return false;
  try {
    using ucx = UcxContext.open();
    return ucx.takesCuda;
  } catch (error) {
    if (error instanceof InteropError) return false;
    throw error;
  }
}

if (isHere()) {
  figure({
    id: "ucx-cuda-frames",
    title: "a 1080p frame from one process's GPU memory to another's, over UCX",
    on: "cuda",
    goal: faster(2),
    ways: [
      moving(4 * FRAME, side("samepage, copies through the host", "ucx-cuda-copies")),
      moving(FRAME, side("samepage", "ucx-cuda")),
      moving(FRAME, ucxC(["posix,cuda_copy,cuda_ipc", `${FRAME}`], "frames", "C", "ucx_cuda")),
    ],
  });
}
