import * as vk from "../../ffi/vulkan/constants.ts";
import type {
  VkCommandBuffer,
  VkDescriptorSetLayout,
  VkPipeline,
  VkPipelineCache,
  VkPipelineLayout,
  VkShaderModule,
} from "../../ffi/vulkan/handles.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { assertArguments } from "../core/device/arguments.ts";
import { fencesIn } from "../core/device/fence.ts";
import { DeviceKernel } from "../core/device/program.ts";
import type { CommandOptions } from "../core/device/queue.ts";
import { assertQueue, rangeIn, Sizes } from "../core/device/grid.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { cString } from "../core/native/text.ts";
import { check } from "./errors.ts";
import { descriptorType, KernelArguments, parametersOf } from "./kernel_arguments.ts";
import type { VulkanImage } from "./images/tensor.ts";
import { vulkan } from "./library.ts";
import type { OpenDevice } from "./open_device.ts";
import type { VulkanProgram } from "./program.ts";
import { VulkanQueue } from "./queue.ts";
import type { Shader } from "./spirv.ts";
import { struct, structs, structType } from "./struct.ts";
import type { VulkanTensor } from "./tensor.ts";

const FN = "vkCmdDispatch";

/** A kernel argument: a tensor for a buffer, an image for an image; a number, a bigint or an array of them for a push constant, or its bytes. */
export type VulkanKernelArgument =
  | VulkanTensor
  | VulkanImage
  | number
  | bigint
  | readonly (number | bigint)[]
  | ArrayBufferView<ArrayBuffer>;

/** A parameter of a kernel. */
export interface VulkanParameter {
  /** GLSL's type: `"readonly uint[]"` for a buffer, `"rgba8 image2D"` for an image, `"vec4"` for a push constant. */
  readonly type: string;
  /** Its name in the source, if the compiler kept it. */
  readonly name: string | undefined;
}

/** The number of work groups to run; each has the shader's {@link VulkanKernel.groupSize} work-items. */
export interface WorkGroupRange {
  /** The work groups along each of 1 to 3 dimensions. */
  readonly groups: readonly number[];
}

const RANGE: Names<WorkGroupRange> = { groups: true };

/** Options of {@link VulkanKernel.run}. */
export interface VulkanRunOptions extends CommandOptions {
  /** The queue; the context's own by default. */
  readonly queue?: VulkanQueue;
}

const OPTIONS: Names<VulkanRunOptions> = { queue: true, after: true };

/** A compute shader. Every run checks its arguments against the shader's declarations. */
export class VulkanKernel extends DeviceKernel<VulkanProgram, VkPipeline> {
  /** Its parameters: its buffers and images by their bindings, then its push constants by their offsets. */
  readonly parameters: readonly VulkanParameter[];
  /** The work-items of a work group along three dimensions; undefined if they are specialization constants. */
  readonly groupSize: readonly number[] | undefined;
  readonly #types: readonly string[];
  readonly #arguments: KernelArguments;
  readonly #groups: Sizes;
  readonly #layout: VkPipelineLayout;

  /** Made by `program.kernel()`. */
  constructor(program: VulkanProgram, name: string, shader: Shader) {
    const { openDevice: device } = program.context;
    const parameters = parametersOf(device, name, shader);
    const held = new KernelArguments(parameters, shader);
    const undo: Undo = [];
    const make = () => createPipeline(device, program.handle, name, shader, held.pushBytes, undo);
    const { layout, pipeline } = allOrNothing(`making the kernel ${name}`, make, undo);
    super(program, { api: "vulkan", fn: FN, kernel: name }, pipeline, undo);
    this.groupSize = shader.localSize;
    this.parameters = parameters.map(({ info }) => info);
    this.#types = this.parameters.map(({ type, name }) => name === undefined ? type : `${type} ${name}`);
    this.#arguments = held;
    const most = device.facts.limits.maxComputeWorkGroupCount;
    this.#groups = new Sizes(this.launch, "groups", 1, most, shader.localSize);
    this.#layout = layout;
  }

  /**
   * Submits the kernel, and returns at once. Its tensors record the work, and their dispose waits for it.
   *
   * The kernel waits for earlier work on its tensors: on the device if possible, else this call blocks.
   *
   * @param range the number of work groups
   * @param args one for each parameter: the buffers and images by their bindings, then the push constants by their offsets
   * @throws {ArgumentError} for a wrong number, kind, type or range of arguments, or sizes beyond the device's.
   * @throws {LayoutError} if a tensor begins where the device cannot bind it.
   * @throws {AccessError} if a tensor's bytes are lent, or the kernel writes a read-only tensor.
   * @throws {DisposedError} if a tensor, the kernel or its context was disposed.
   *
   * @example
   * ```ts
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * const spirv = Deno.readFileSync(new URL("../../docs/guides/vulkan/twice.spv", import.meta.url)); // glslangValidator -V twice.comp
   * using vulkan = VulkanContext.open();
   * using program = vulkan.program(spirv);
   * using twice = program.kernel();
   * using numbers = vulkan.allocate({ shape: [256], dtype: "u32" });
   * vulkan.queue.fill(numbers, 21);
   * twice.run({ groups: [256 / 64] }, [numbers, 256]);
   * const seen = new Uint32Array(256);
   * vulkan.queue.read(numbers, seen);
   * console.log(seen[255]); // 42
   * ```
   */
  run(range: WorkGroupRange, args: readonly VulkanKernelArgument[], options: VulkanRunOptions = {}): void {
    this.resource.assertLive();
    const { context } = this.program;
    const { queue, after } = optionsIn(options, OPTIONS);
    if (queue !== undefined) assertQueue(queue, VulkanQueue, context, this.launch);
    const line = queue === undefined ? context.line : queue.line;
    assertArguments(args, this.#types, this.launch);
    this.#groups.take(rangeIn(range, "groups", RANGE, this.launch).groups);
    const waits = fencesIn(after, "after", "vulkan");
    const held = this.#arguments;
    try {
      const uses = held.take(args, context);
      const call = {
        fn: "vkQueueSubmit",
        call: (lane: typeof line.lane) =>
          lane.run(uses.map(({ tensor }) => tensor.rawHandle), (commands) => this.#record(commands)),
      };
      const mark = line.submit(uses, call, waits);
      this.resource.work.record(line, mark, false); // the pipeline stays while it runs
    } finally {
      held.release();
    }
  }

  #record(commands: VkCommandBuffer): void {
    const { vkCmdBindPipeline, vkCmdDispatch } = vulkan();
    vkCmdBindPipeline(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, this.rawHandle);
    this.#arguments.record(commands, this.#layout, this.program.context.openDevice);
    vkCmdDispatch(commands, this.#groups.at(0), this.#groups.at(1), this.#groups.at(2));
  }
}

function createPipeline(
  device: OpenDevice,
  module: VkShaderModule,
  name: string,
  { bindings: bound }: Shader,
  pushBytes: number,
  undo: Undo,
) {
  const bindings = structs(
    "VkDescriptorSetLayoutBinding",
    bound.map(({ binding, image }) => ({
      binding,
      descriptorType: descriptorType(image),
      descriptorCount: 1,
      stageFlags: vk.VK_SHADER_STAGE_COMPUTE_BIT,
    })),
  );
  const setInfo = struct("VkDescriptorSetLayoutCreateInfo", {
    flags: vk.VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR,
    bindingCount: bound.length,
    pBindings: bound.length === 0 ? undefined : bindings,
  });
  const set = device.create<VkDescriptorSetLayout>("DescriptorSetLayout", setInfo, undo);
  const range = struct("VkPushConstantRange", { stageFlags: vk.VK_SHADER_STAGE_COMPUTE_BIT, size: pushBytes });
  const layoutInfo = struct("VkPipelineLayoutCreateInfo", {
    setLayoutCount: 1,
    pSetLayouts: new BigUint64Array([set]),
    pushConstantRangeCount: pushBytes === 0 ? 0 : 1,
    pPushConstantRanges: pushBytes === 0 ? undefined : range,
  });
  const layout = device.create<VkPipelineLayout>("PipelineLayout", layoutInfo, undo);
  const info = struct("VkComputePipelineCreateInfo", {
    stage_sType: structType("VkPipelineShaderStageCreateInfo"),
    stage_stage: vk.VK_SHADER_STAGE_COMPUTE_BIT,
    stage_module: module,
    stage_pName: cString(name),
    layout,
    basePipelineIndex: -1,
  });
  const out = new BigUint64Array(1);
  const code = vulkan().vkCreateComputePipelines(device.handle, 0n as VkPipelineCache, 1, info, null, out);
  check(code, "vkCreateComputePipelines");
  const destroy = (of: typeof device.handle, handle: bigint) =>
    vulkan().vkDestroyPipeline(of, handle as VkPipeline, null);
  return { layout, pipeline: device.own("Pipeline", out[0] as VkPipeline, destroy, undo) };
}
