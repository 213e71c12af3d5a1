/**
 * The APIs of images that are on this machine without a GPU, for random chains.
 *
 * @module
 */
import { EglContext } from "@samepage/interop/egl";
import { VaapiContext } from "@samepage/interop/vaapi";
import { VulkanContext } from "@samepage/interop/vulkan";
import { LateQueue } from "../conformance/opencl_late.ts";
import { missing as missingEgl } from "../egl/help.ts";
import { HERE, open } from "../opencl/help.ts";
import { behave, buildDriver, NODE, useDriver } from "../vaapi/driver.ts";
import { missing as missingVulkan } from "../vulkan/help.ts";
import { type Counts, runChains } from "./image_chains.ts";

const noDriver = await buildDriver();
if (noDriver === undefined) useDriver();

/** Drivers of OpenCL whose images come through whole, whatever their pitches. */
const PLATFORMS = HERE.filter((platform) => platform === "pocl" || platform === "rusticl");

const [hasEgl, hasVa, hasVulkan] = [missingEgl() === undefined, noDriver === undefined, missingVulkan() === undefined];

/** The edges that chains take here. */
export const EDGES_HERE: readonly string[] = [
  ...["host→opencl", "opencl→host", "host→opencl.image", "opencl.image→host"],
  ...hasEgl ? ["egl.image→host"] : [],
  ...hasVa ? ["host→vaapi", "vaapi→host", "vaapi→vaapi"] : [],
  ...hasVulkan ? ["vulkan.image→vulkan.image"] : [],
];

/** Runs chains through all of them. The VA-API driver of the tests behaves as its words say. */
export async function chainsHere(words: readonly string[], chains: number, first?: number): Promise<Counts> {
  behave(...words);
  using made = new DisposableStack();
  const cl = PLATFORMS.map((platform) => {
    const context = made.use(open(platform));
    return { context, late: new LateQueue(context) };
  });
  const egl = hasEgl ? made.use(EglContext.open()) : undefined;
  const va = hasVa ? [0, 1].map(() => made.use(VaapiContext.open({ node: NODE }))) : [];
  const vulkan = hasVulkan ? [0, 1].map(() => made.use(VulkanContext.open())) : [];
  const counts = await runChains({ cl, egl, va, vulkan }, chains, first);
  behave();
  return counts;
}
