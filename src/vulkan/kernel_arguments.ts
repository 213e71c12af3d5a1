import type { Address } from "../../ffi/address.ts";
import * as vk from "../../ffi/vulkan/constants.ts";
import type { VkCommandBuffer, VkPipelineLayout } from "../../ffi/vulkan/handles.ts";
import * as layouts from "../../ffi/vulkan/structs.ts";
import { Arguments } from "../core/device/arguments.ts";
import type { Usable } from "../core/device/line.ts";
import { type Parameter, type ParameterPlace, ValueParameter } from "../core/device/parameter.ts";
import { PointerParameter } from "../core/device/pointer.ts";
import { addressOf } from "../core/native/pin.ts";
import type { VulkanBase } from "./base.ts";
import { checks, vulkan } from "./library.ts";
import type { OpenDevice } from "./open_device.ts";
import type { Shader, ShaderBuffer } from "./spirv.ts";
import { type Struct, structs } from "./struct.ts";
import { VulkanTensor } from "./tensor.ts";

/** A parameter, and how it is told to users. */
export interface Declared {
  /** Its type and name. */
  readonly info: { readonly type: string; readonly name: string | undefined };
  /** It checks and packs arguments. */
  readonly parameter: Parameter<VulkanBase>;
}

/** A storage buffer: its argument is a tensor of the context. */
class BufferParameter extends PointerParameter<VulkanTensor, VulkanBase> {
  protected override readonly mapping = "graph.map(tensor, vulkan)";
  readonly #most: number;

  /** `most` is the longest range that a shader sees; a range begins at a multiple of `align`. */
  constructor(place: ParameterPlace, { isConst, element }: ShaderBuffer, align: number, most: number) {
    super(place, { isConst, element: element?.element, align });
    this.#most = most;
  }

  protected override tensorIn(value: unknown): VulkanTensor | undefined {
    return value instanceof VulkanTensor && VulkanTensor.owns(value) ? value : undefined;
  }

  protected override checkPlace(tensor: VulkanTensor, _value: unknown, context: VulkanBase): void {
    if (tensor.target !== context) {
      throw this.wrong(`${tensor.name} belongs to another context.`, `Map it here first: ${this.mapping}.`);
    }
    const { byteLength } = tensor.layout;
    if (byteLength <= this.#most) return;
    throw this.wrong(`${byteLength} bytes are more than the ${this.#most} that a shader of ${context.name} sees.`);
  }

  /** Where it begins in its buffer: only that is aligned. */
  protected override addressOf(tensor: VulkanTensor): bigint {
    return BigInt(tensor.layout.byteOffset);
  }

  protected override handleOf(tensor: VulkanTensor): bigint {
    return tensor.rawHandle.buffer;
  }
}

/** The parameters of a shader: its buffers, then its push constants. */
export function parametersOf(
  { facts: { name: device, limits } }: OpenDevice,
  kernel: string,
  shader: Shader,
): Declared[] {
  const { maxPushDescriptors, minStorageBufferOffsetAlignment, maxStorageBufferRange } = limits;
  const place = (index: number, type: string, name: string | undefined): ParameterPlace => {
    return { api: "vulkan", fn: "vkCmdDispatch", kernel, index, type, ...(name === undefined ? {} : { name }) };
  };
  const { buffers, constants } = shader;
  if (buffers.length > maxPushDescriptors) {
    const what = `${kernel} has ${buffers.length} buffers, more than the ${maxPushDescriptors} of ${device}.`;
    throw checks.wrong("spirv", what);
  }
  const pushed = pushBytes(shader);
  if (pushed > limits.maxPushConstantsSize) {
    const what =
      `${kernel} has ${pushed} bytes of push constants, more than the ${limits.maxPushConstantsSize} of ${device}.`;
    throw checks.wrong("spirv", what);
  }
  return [
    ...buffers.map((buffer, i) => {
      const { name, element, isConst } = buffer;
      const type = `${isConst ? "readonly " : ""}${element?.name ?? "buffer"}[]`;
      const at = place(i, type, name);
      return {
        info: { type, name },
        parameter: new BufferParameter(at, buffer, minStorageBufferOffsetAlignment, maxStorageBufferRange),
      };
    }),
    ...constants.map(({ name, type }, i) => ({
      info: { type: type.name, name },
      parameter: new ValueParameter<VulkanBase>(place(buffers.length + i, type.name, name), type.element),
    })),
  ];
}

function pushBytes({ constants }: Shader): number {
  const end = Math.max(0, ...constants.map(({ offset, type }) => offset + type.element.size));
  return Math.ceil(end / 4) * 4;
}

/** The arguments of a kernel, as Vulkan's commands take them. */
export class KernelArguments extends Arguments<VulkanBase, VulkanTensor> {
  /** The bytes of all push constants. */
  readonly pushBytes: number;
  readonly #shader: Shader;
  readonly #buffers: Struct;
  readonly #writes: Struct;
  readonly #pushed: Uint8Array<ArrayBuffer>;
  readonly #pushedAt: Address;

  /** No arguments yet. */
  constructor(parameters: readonly Declared[], shader: Shader) {
    super(parameters.map(({ parameter }) => parameter), "vulkan");
    const { buffers } = shader;
    this.#shader = shader;
    this.pushBytes = pushBytes(shader);
    this.#pushed = new Uint8Array(new ArrayBuffer(Math.max(4, this.pushBytes)));
    this.#pushedAt = addressOf(this.#pushed, "vulkan");
    this.#buffers = structs("VkDescriptorBufferInfo", buffers.map(() => ({})));
    this.#writes = structs(
      "VkWriteDescriptorSet",
      buffers.map(({ binding }, i) => ({
        dstBinding: binding,
        descriptorCount: 1,
        descriptorType: vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        pBufferInfo: this.#buffers.address + BigInt(i * layouts.VkDescriptorBufferInfo.size),
      })),
    );
  }

  /** Records them. */
  record(commands: VkCommandBuffer, layout: VkPipelineLayout, { extensions }: OpenDevice): void {
    const { buffers } = this.#shader;
    if (buffers.length > 0) {
      const [point, { address }] = [vk.VK_PIPELINE_BIND_POINT_COMPUTE, this.#writes];
      extensions.vkCmdPushDescriptorSetKHR!(commands, point, layout, 0, buffers.length, address);
    }
    if (this.pushBytes === 0) return;
    const stage = vk.VK_SHADER_STAGE_COMPUTE_BIT;
    vulkan().vkCmdPushConstants(commands, layout, stage, 0, this.pushBytes, this.#pushedAt);
  }

  /** Puts a packed argument where Vulkan's commands read it. */
  protected override set(index: number, _value: unknown, used: Usable | undefined): void {
    const { buffers, constants } = this.#shader;
    if (index < buffers.length) {
      const { rawHandle, layout } = used as VulkanTensor;
      const { fields, size } = layouts.VkDescriptorBufferInfo;
      this.#buffers.put(fields.buffer, rawHandle.buffer, index * size);
      this.#buffers.put(fields.offset, layout.byteOffset, index * size);
      this.#buffers.put(fields.range, layout.byteLength, index * size);
      return;
    }
    const { offset, type: { element } } = constants[index - buffers.length];
    this.#pushed.set(new Uint8Array(this.view.buffer, this.offsets[index], element.size), offset);
  }
}
