/**
 * A surface of video in Vulkan: surface → dma-buf → Vulkan, by the fds that the driver gives; or, on a device that takes no
 * fds for reading alone, through the host's own addresses. No byte is copied. What Vulkan reads is checked against what was
 * drawn.
 *
 * Run it as `deno run -A examples/vaapi-to-vulkan/main.ts`.
 *
 * @module
 */
import { host, InteropError, ledger, MapperGraph } from "@samepage/interop";
import { dmabuf, type DmaBufTensor } from "@samepage/interop/dmabuf";
import { VaapiContext } from "@samepage/interop/vaapi";
import { VulkanContext, type VulkanTensor } from "@samepage/interop/vulkan";
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
    using onDevice = toVulkan(graph, plane, vulkan);
    for (const step of onDevice.route.steps) print(`plane ${i}`, `${step.edge}: ${step.transfer}`);
    const seen = new Uint8Array(onDevice.layout.byteLength);
    vulkan.queue.read(onDevice, seen);
    const wanted = frame.pixels.planes[i].bytes({ access: "read" });
    const same = seen.length === wanted.length && seen.every((byte, at) => byte === wanted[at]);
    print("pixels", same ? `the same ${seen.length} bytes` : "not those that were drawn");
    if (!same) Deno.exitCode = 1;
  }
}

function toVulkan(graph: MapperGraph, plane: DmaBufTensor, vulkan: VulkanContext): VulkanTensor {
  const byFd = openOr(() => graph.map(plane, vulkan, { access: "read" }));
  if (!(byFd instanceof InteropError)) return byFd;
  print("no fd", byFd.message);
  const shown = graph.map(plane, host, { access: "read" }); // it ends with the plane
  return graph.map(shown, vulkan, { access: "read" });
}
