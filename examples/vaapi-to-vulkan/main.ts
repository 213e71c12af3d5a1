/**
 * A surface of video in Vulkan: surface → dma-buf → Vulkan, by the fds that the driver gives; or, where those are for reading
 * and Vulkan is on the CPU, which maps them for writing, through the host's own addresses. The graph chooses, and no byte is
 * copied. What Vulkan reads is checked against what was drawn.
 *
 * Run it as `deno run -A examples/vaapi-to-vulkan/main.ts`.
 *
 * @module
 */
import { host, InteropError, ledger, MapperGraph } from "@samepage/interop";
import { dmabuf } from "@samepage/interop/dmabuf";
import { VaapiContext } from "@samepage/interop/vaapi";
import { VulkanContext } from "@samepage/interop/vulkan";
import { openOr } from "../cuda-edges/open.ts";
import { print } from "../edges/report.ts";
import { filledSurface } from "../vaapi-to-opencl/surface.ts";

const alive = JSON.stringify(ledger.alive);
const va = openOr(() => VaapiContext.open());
if (va instanceof InteropError) print("device", `none. ${va.message}`);
else run(va);
const left = JSON.stringify(ledger.alive);
print("left", left === alive ? "nothing: every native object was given back" : left);
if (left !== alive) Deno.exitCode = 1;

function run(opened: VaapiContext): void {
  using va = opened;
  using vulkan = VulkanContext.open();
  using graph = new MapperGraph([host, dmabuf, va, vulkan]);
  print("device", `${va.name}; ${vulkan.name}`);
  using frame = filledSurface(va);
  using buffers = graph.map(frame.surface, dmabuf, { access: "read" });
  for (const [i, plane] of buffers.planes.entries()) {
    using onDevice = graph.map(plane, vulkan, { access: "read" });
    for (const step of onDevice.route.steps) print(`plane ${i}`, `${step.edge}: ${step.transfer}`);
    const seen = new Uint8Array(onDevice.layout.byteLength);
    vulkan.queue.read(onDevice, seen);
    const wanted = frame.pixels.planes[i].bytes({ access: "read" });
    const same = seen.length === wanted.length && seen.every((byte, at) => byte === wanted[at]);
    print("pixels", same ? `the same ${seen.length} bytes` : "not those that were drawn");
    if (!same) Deno.exitCode = 1;
  }
}
