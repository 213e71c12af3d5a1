import type { VkShaderModule } from "../../ffi/vulkan/handles.ts";
import { DeviceProgram, unknownKernel } from "../core/device/program.ts";
import type { Undo } from "../core/life/undo.ts";
import type { VulkanBase } from "./base.ts";
import { VulkanKernel } from "./kernel.ts";
import { checks } from "./library.ts";
import { Module, spirvIn } from "./spirv.ts";
import { struct } from "./struct.ts";

/** Compute shaders in SPIR-V. */
export class VulkanProgram extends DeviceProgram<VulkanBase, VkShaderModule> {
  /** The names of its kernels: its entry points. */
  readonly kernelNames: readonly string[];
  readonly #module: Module;

  /** Made by `vulkan.program()`. */
  constructor(context: VulkanBase, spirv: unknown) {
    const words = spirvIn(spirv);
    context.resource.assertLive();
    context.openDevice.assertHas("VK_KHR_push_descriptor", "vkCmdPushDescriptorSetKHR");
    const module = new Module(words);
    const info = struct("VkShaderModuleCreateInfo", {
      codeSize: words.byteLength,
      pCode: words,
    });
    const undo: Undo = [];
    super(context, "vulkan", context.openDevice.create<VkShaderModule>("ShaderModule", info, undo), undo);
    this.#module = module;
    this.kernelNames = module.entryPoints;
  }

  /**
   * A kernel by the name of its entry point, as a pipeline.
   *
   * @param name the entry point; `"main"` by default
   * @throws {ArgumentError} if the program has no such entry point, or the shader has parameters other than storage buffers
   * and storage images in set 0, and push constants that are numbers and vectors.
   * @throws {NativeCallError} if the driver refuses the shader.
   */
  kernel(name: string = "main"): VulkanKernel {
    checks.assertText(name, "name");
    if (this.kernelNames.includes(name)) return new VulkanKernel(this, name, this.#module.shader(name));
    throw unknownKernel(name, this.kernelNames, { api: "vulkan" });
  }
}
