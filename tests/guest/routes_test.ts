/** The routes of dma-bufs, and of what crosses by them: in the guest. */
import { dmabuf } from "../../src/dmabuf/mod.ts";
import { EglContext } from "../../src/egl/mod.ts";
import { VulkanContext } from "../../src/vulkan/mod.ts";
import { open } from "../opencl/help.ts";
import {
  assertRoutes,
  bytesOf,
  eglNodes,
  hostNode,
  NV12,
  openclObjects,
  routesOf,
  vulkanNodes,
} from "../routes/routes.ts";
import { guestTest, withoutDrm } from "./needs.ts";

/** Where a guest's files are kept. */
const FOLDER = new URL("../../out/guest/no-gpu", import.meta.url).pathname;
const DRIVER = Deno.env.get("VK_DRIVER_FILES") ?? "VK_DRIVER_FILES";
const EGL = (Deno.env.get("LD_LIBRARY_PATH") ?? "").split(":")[0] || "LD_LIBRARY_PATH";
const NODES = ["/dev/udmabuf", DRIVER, `${EGL}/libEGL_mesa.so.0`];

guestTest("explain() finds the routes of dma-bufs", async () => {
  using _covered = withoutDrm();
  using vulkan = VulkanContext.open();
  using other = VulkanContext.open();
  using egl = EglContext.open();
  using cl = open("pocl");
  const nodes = [
    hostNode(),
    bytesOf("dmabuf", dmabuf, (init) => dmabuf.allocate(init), { "NV12": () => dmabuf.allocateFrame(NV12) }),
    ...openclObjects("opencl", cl),
    ...vulkanNodes("vulkan", vulkan),
    ...vulkanNodes("another vulkan", other),
    ...eglNodes(egl),
  ];
  await assertRoutes("guest", await routesOf(nodes), FOLDER);
}, NODES);
