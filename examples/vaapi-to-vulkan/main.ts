/**
 * A surface of video in Vulkan: surface → dma-buf → Vulkan, by the fds that the driver gives, and no byte is copied. Where
 * Vulkan cannot take those, as on a CPU that would map what is not the surface's memory, the driver copies the pixels out.
 * The graph chooses, and says what it chose. What Vulkan reads is checked against what was drawn.
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
  using onDevice = graph.map(frame.surface, vulkan, { access: "read", copy: "allow" });
  for (const step of onDevice.route.steps) print("step", `${step.edge}: ${step.transfer}`);
  for (const [i, plane] of onDevice.planes.entries()) {
    const seen = new Uint8Array(plane.layout.byteLength);
    vulkan.queue.read(plane, seen);
    const wanted = frame.pixels.planes[i].bytes({ access: "read" });
    const same = seen.length === wanted.length && seen.every((byte, at) => byte === wanted[at]);
    print("pixels", same ? `the same ${seen.length} bytes` : "not those that were drawn");
    if (!same) Deno.exitCode = 1;
  }
}
