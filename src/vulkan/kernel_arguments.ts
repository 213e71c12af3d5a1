import type { Address } from "../../ffi/address.ts";
import * as vk from "../../ffi/vulkan/constants.ts";
import type { VkCommandBuffer, VkPipelineLayout } from "../../ffi/vulkan/handles.ts";
import * as layouts from "../../ffi/vulkan/structs.ts";
import { elsewhere } from "../core/checks.ts";
import { Arguments } from "../core/device/arguments.ts";
import type { Usable } from "../core/device/line.ts";
import { type Parameter, type ParameterPlace, ValueParameter } from "../core/device/parameter.ts";
import { PointerParameter } from "../core/device/pointer.ts";
import { addressOf } from "../core/native/pin.ts";
import { isMade } from "../core/argument.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import type { VulkanBase } from "./base.ts";
import { VulkanImage } from "./images/tensor.ts";
import { checks, vulkan } from "./library.ts";
import type { OpenDevice } from "./open_device.ts";
import type { Shader, ShaderBinding, ShaderImage } from "./spirv.ts";
import { type Struct, structs } from "./struct.ts";
import { VulkanTensor } from "./tensor.ts";

export interface Declared {
  readonly info: { readonly type: string; readonly name: string | undefined };
  readonly parameter: Parameter<VulkanBase>;
}

function refuseElsewhere(
  to: PointerParameter<Tensor, VulkanBase>,
  { target, name }: Tensor,
  base: VulkanBase,
  how: string,
) {
  if (target.context !== base.context) {
    throw to.wrong(`${name} ${elsewhere(target.context, base)}.`, `Map it here first: ${how}.`);
  }
}

const DECLARED = { read: "Declare it readonly", any: "declare its elements of the tensor's type" };

class BufferParameter extends PointerParameter<VulkanTensor, VulkanBase> {
  protected override readonly mapping = "graph.map(tensor, vulkan)";
  protected override readonly declared = DECLARED;
  readonly #most: number;

  /** `most` is the longest range, in bytes, that a shader can access; a range begins at a multiple of `align`. */
  constructor(place: ParameterPlace, { isConst, element }: ShaderBinding, align: number, most: number) {
    super(place, { isConst, element: element?.element, align });
    this.#most = most;
  }

  protected override tensorIn(value: unknown): VulkanTensor | undefined {
    return value instanceof VulkanTensor && VulkanTensor.owns(value) ? value : undefined;
  }

  protected override checkPlace(tensor: VulkanTensor, _value: unknown, context: VulkanBase): void {
    refuseElsewhere(this, tensor, context, this.mapping);
    const { byteLength } = tensor.layout;
    if (byteLength <= this.#most) return;
    throw this.wrong(`${byteLength} bytes are more than the ${this.#most} that a shader of ${context.name} sees.`);
  }

  /** The offset in its buffer: only that has to be aligned. */
  protected override addressOf(tensor: VulkanTensor): bigint {
    return BigInt(tensor.layout.byteOffset);
  }

  protected override handleOf(tensor: VulkanTensor): bigint {
    return tensor.rawHandle.buffer;
  }
}

/** A storage image. Its argument is an image of the context, in the shader's format. */
class ImageParameter extends PointerParameter<VulkanImage, VulkanBase> {
  protected override readonly expected = "an image of the device";
  protected override readonly mapping = "graph.map(image, vulkan.image(format))";
  protected override readonly declared = DECLARED;
  readonly #image: ShaderImage;

  /** `image` is the shader's declaration. */
  constructor(place: ParameterPlace, isConst: boolean, image: ShaderImage) {
    super(place, { isConst });
    this.#image = image;
  }

  protected override tensorIn(value: unknown): VulkanImage | undefined {
    return isMade(value, VulkanImage) ? value : undefined;
  }

  protected override remedyFor(): string {
    return `Map an image to the context first: ${this.mapping}. Other pixels are written: vulkan.queue.write(image, array).`;
  }

  protected override checkPlace(image: VulkanImage, _value: unknown, context: VulkanBase): void {
    refuseElsewhere(this, image, context, this.mapping);
    const { format: { name, vulkan, kind }, layers, rawHandle: { isStorage } } = image;
    const { format, kind: shaderKind, arrayed } = this.#image;
    if ((format ?? name) !== name || kind !== shaderKind) {
      const expected = format ?? `a format that shaders read as ${shaderKind}`;
      throw this.wrong(`expected pixels of ${expected}, and those of ${image.name} are ${name} (${vulkan}).`);
    }
    if (arrayed && layers === undefined) {
      throw this.wrong(
        `expected an image with layers, and ${image.name} is one picture.`,
        "[1, height, width, channels] has a layer.",
      );
    }
    if (!arrayed && layers !== undefined) {
      throw this.wrong(`expected one picture, and ${image.name} has ${layers} layers.`);
    }
    if (!isStorage) throw this.wrong(`shaders of ${context.name} use no images of ${vulkan} in this tiling.`);
  }

  protected override addressOf(): bigint {
    return 0n; // its descriptor has a view, which needs no alignment
  }
}

/** The parameters of a shader: its buffers and images, then its push constants. */
export function parametersOf(
  { facts: { name: device, limits } }: OpenDevice,
  kernel: string,
  shader: Shader,
): Declared[] {
  const { maxPushDescriptors, minStorageBufferOffsetAlignment, maxStorageBufferRange } = limits;
  const place = (index: number, type: string, name: string | undefined): ParameterPlace => {
    return { api: "vulkan", fn: "vkCmdDispatch", kernel, index, type, name };
  };
  const { bindings, constants } = shader;
  if (bindings.length > maxPushDescriptors) {
    const what =
      `${kernel} has ${bindings.length} buffers and images, more than the ${maxPushDescriptors} of ${device}.`;
    throw checks.wrong("spirv", what);
  }
  const pushed = pushBytes(shader);
  if (pushed > limits.maxPushConstantsSize) {
    const what =
      `${kernel} has ${pushed} bytes of push constants, more than the ${limits.maxPushConstantsSize} of ${device}.`;
    throw checks.wrong("spirv", what);
  }
  return [
    ...bindings.map((bound, i) => {
      const { name, isConst, image, element } = bound;
      const of = image === undefined ? `${element?.name ?? "buffer"}[]` : typeOfImage(image);
      const type = `${isConst ? "readonly " : ""}${of}`;
      const at = place(i, type, name);
      const parameter = image === undefined
        ? new BufferParameter(at, bound, minStorageBufferOffsetAlignment, maxStorageBufferRange)
        : new ImageParameter(at, isConst, image);
      return { info: { type, name }, parameter };
    }),
    ...constants.map(({ name, type }, i) => ({
      info: { type: type.name, name },
      parameter: new ValueParameter<VulkanBase>(place(bindings.length + i, type.name, name), type.element),
    })),
  ];
}

function typeOfImage({ glsl, kind, arrayed }: ShaderImage): string {
  const prefix = { float: "", sint: "i", uint: "u" }[kind];
  return `${glsl === undefined ? "" : `${glsl} `}${prefix}image2D${arrayed ? "Array" : ""}`;
}

export function descriptorType(image: ShaderImage | undefined): number {
  return image === undefined ? vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : vk.VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
}

function pushBytes({ constants }: Shader): number {
  const end = Math.max(0, ...constants.map(({ offset, type }) => offset + type.element.size));
  return Math.ceil(end / 4) * 4;
}

export class KernelArguments extends Arguments<VulkanBase, VulkanTensor | VulkanImage> {
  readonly pushBytes: number;
  readonly #shader: Shader;
  readonly #buffers: Struct;
  readonly #images: Struct;
  readonly #writes: Struct;
  readonly #pushed: Uint8Array<ArrayBuffer>;
  readonly #pushedAt: Address;

  constructor(parameters: readonly Declared[], shader: Shader) {
    super(parameters.map(({ parameter }) => parameter), "vulkan");
    const { bindings } = shader;
    this.#shader = shader;
    this.pushBytes = pushBytes(shader);
    this.#pushed = new Uint8Array(new ArrayBuffer(Math.max(4, this.pushBytes)));
    this.#pushedAt = addressOf(this.#pushed, "vulkan");
    const { VkDescriptorBufferInfo: ofBuffer, VkDescriptorImageInfo: ofImage } = layouts;
    this.#buffers = structs("VkDescriptorBufferInfo", bindings.map(() => ({})));
    this.#images = structs(
      "VkDescriptorImageInfo",
      bindings.map(() => ({ imageLayout: vk.VK_IMAGE_LAYOUT_GENERAL })),
    );
    this.#writes = structs(
      "VkWriteDescriptorSet",
      bindings.map(({ binding, image }, i) => ({
        dstBinding: binding,
        descriptorCount: 1,
        descriptorType: descriptorType(image),
        pBufferInfo: image === undefined ? this.#buffers.address + BigInt(i * ofBuffer.size) : 0n,
        pImageInfo: image === undefined ? 0n : this.#images.address + BigInt(i * ofImage.size),
      })),
    );
  }

  record(commands: VkCommandBuffer, layout: VkPipelineLayout, { extensions }: OpenDevice): void {
    const { bindings } = this.#shader;
    if (bindings.length > 0) {
      const [point, { address }] = [vk.VK_PIPELINE_BIND_POINT_COMPUTE, this.#writes];
      extensions.vkCmdPushDescriptorSetKHR!(commands, point, layout, 0, bindings.length, address);
    }
    if (this.pushBytes === 0) return;
    const stage = vk.VK_SHADER_STAGE_COMPUTE_BIT;
    vulkan().vkCmdPushConstants(commands, layout, stage, 0, this.pushBytes, this.#pushedAt);
  }

  /** Writes a packed argument to the memory that Vulkan's commands read. */
  protected override set(index: number, _value: unknown, used: Usable | undefined): void {
    const { bindings, constants } = this.#shader;
    if (used instanceof VulkanImage) {
      const { fields: { imageView }, size } = layouts.VkDescriptorImageInfo;
      this.#images.put(imageView, used.rawHandle.view, index * size);
      return;
    }
    if (index < bindings.length) {
      const { rawHandle, layout } = used as VulkanTensor;
      const { fields, size } = layouts.VkDescriptorBufferInfo;
      this.#buffers.put(fields.buffer, rawHandle.buffer, index * size);
      this.#buffers.put(fields.offset, layout.byteOffset, index * size);
      this.#buffers.put(fields.range, layout.byteLength, index * size);
      return;
    }
    const { offset, type: { element } } = constants[index - bindings.length];
    this.#pushed.set(new Uint8Array(this.view.buffer, this.offsets[index], element.size), offset);
  }
}
