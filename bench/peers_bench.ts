// One frame, inverted by a device and seen on the host again: samepage, and what else does that on this machine.

import { c } from "./harness/c.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { here, program, PYTHON, side, type Way } from "./harness/way.ts";
import { inverting, invertingACopy } from "./operations/invert.ts";

function pyopencl(): Way {
  return program("pyopencl + NumPy", () => {
    const { platform, name } = device().cl.device;
    return { path: PYTHON, args: [side("sides/pyopencl_side.py"), platform, name, side("kernels.cl")] };
  }, "invert");
}

function webgpu(): Way {
  const args = ["run", "-A", "--no-check", side("sides/webgpu.ts")];
  return program("Deno's WebGPU", () => ({ path: Deno.execPath(), args }), "invert");
}

figure({
  id: "peers",
  title: "a frame inverted by a device and seen by the host",
  ways: [
    c("map", "map_kernel_unmap", "C"),
    here("samepage", inverting),
    pyopencl(),
    c("copy", "write_invert_read", "C, copying"),
    here("samepage, copying", invertingACopy),
    webgpu(),
  ],
});
