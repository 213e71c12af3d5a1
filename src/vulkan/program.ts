import type { VkShaderModule } from "../../ffi/vulkan/handles.ts";
import { unknownKernel } from "../core/device/unknown_kernel.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import type { Undo } from "../core/life/undo.ts";
import type { VulkanBase } from "./base.ts";
import { VulkanKernel } from "./kernel.ts";
import { checks } from "./library.ts";
import { Module, spirvIn } from "./spirv.ts";
import { struct } from "./struct.ts";

/** Compute shaders in SPIR-V. */
export class VulkanProgram extends NativeObject {
  /** Its context. */
  readonly context: VulkanBase;
  /** The names of its kernels: its entry points. */
  readonly kernelNames: readonly string[];
  /** Its end of life: kernels end first. */
  readonly resource: Resource;
  readonly #handle: VkShaderModule;
  readonly #module: Module;

  /** Made by `vulkan.program()`. */
  constructor(context: VulkanBase, spirv: unknown) {
    super();
    const words = spirvIn(spirv);
    this.context = context;
    context.resource.assertLive();
    context.openDevice.assertHas("VK_KHR_push_descriptor", "vkCmdPushDescriptorSetKHR");
    this.#module = new Module(words);
    this.kernelNames = this.#module.entryPoints;
    const info = struct("VkShaderModuleCreateInfo", {
      codeSize: words.byteLength,
      pCode: words,
    });
    const undo: Undo = [];
    this.#handle = context.openDevice.create<VkShaderModule>("ShaderModule", info, undo);
    this.resource = new Resource({ name: "vulkan program", owners: [context.resource], undo });
    finalizers.register(this, this.resource, this);
  }

  /** The `VkShaderModule`. */
  get handle(): VkShaderModule {
    this.resource.assertLive();
    return this.#handle;
  }

  /**
   * One of its kernels, `"main"` by default, as a pipeline.
   *
   * @throws {ArgumentError} if the program has no entry point of that name, or it wants what cannot be passed: kernels
   * take storage buffers in set 0, and push constants that are numbers and vectors.
   * @throws {NativeCallError} if the driver refuses the shader.
   */
  kernel(name: string = "main"): VulkanKernel {
    checks.assertText(name, "name");
    if (this.kernelNames.includes(name)) return new VulkanKernel(this, name, this.#module.shader(name));
    throw unknownKernel(name, this.kernelNames, { api: "vulkan" });
  }
}
