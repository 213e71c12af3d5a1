import type { VkDevice, VkInstance, VkPhysicalDevice, VkQueue } from "../../ffi/vulkan/handles.ts";
import type { VulkanExtensions } from "../../ffi/vulkan_extensions/functions.ts";
import { lackOf } from "../core/device/extensions.ts";
import { InteropError, type Reason } from "../core/errors.ts";
import { owned } from "../core/life/ledger.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import { Allocation, type Block } from "../core/memory/allocation.ts";
import { type Abilities, abilitiesOf } from "./abilities.ts";
import type { VulkanDevice } from "./device.ts";
import { check } from "./errors.ts";
import { extensionsOf, vulkan } from "./library.ts";
import type { Struct } from "./struct.ts";

interface Extension {
  readonly lack: string;
  readonly functions?: readonly (keyof VulkanExtensions)[];
}

/** The name of an extension that samepage uses if a device has it. */
export type ExtensionName =
  | "VK_KHR_external_memory_fd"
  | "VK_EXT_external_memory_dma_buf"
  | "VK_EXT_external_memory_host"
  | "VK_KHR_external_semaphore_fd"
  | "VK_KHR_external_fence_fd"
  | "VK_EXT_image_drm_format_modifier"
  | "VK_EXT_queue_family_foreign"
  | "VK_KHR_push_descriptor";

const EXTENSIONS: Readonly<Record<ExtensionName, Extension>> = {
  VK_KHR_external_memory_fd: {
    lack: "memory cannot be shared by fd",
    functions: ["vkGetMemoryFdKHR", "vkGetMemoryFdPropertiesKHR"],
  },
  VK_EXT_external_memory_dma_buf: { lack: "memory cannot be shared as a dma-buf" },
  VK_EXT_external_memory_host: {
    lack: "host memory is not used in place",
    functions: ["vkGetMemoryHostPointerPropertiesEXT"],
  },
  VK_KHR_external_semaphore_fd: {
    lack: "semaphores cannot be shared by fd, so the host waits instead",
    functions: ["vkGetSemaphoreFdKHR", "vkImportSemaphoreFdKHR"],
  },
  VK_KHR_external_fence_fd: {
    lack: "fences cannot be shared by fd",
    functions: ["vkGetFenceFdKHR", "vkImportFenceFdKHR"],
  },
  VK_EXT_image_drm_format_modifier: {
    lack: "images cannot be tiled by a DRM format modifier",
    functions: ["vkGetImageDrmFormatModifierPropertiesEXT"],
  },
  VK_EXT_queue_family_foreign: { lack: "dma-bufs are handed over as to another Vulkan" },
  VK_KHR_push_descriptor: { lack: "kernels cannot be run", functions: ["vkCmdPushDescriptorSetKHR"] },
};

export const WANTED = Object.keys(EXTENSIONS) as readonly ExtensionName[];

/** The native objects that a context stands on. */
export interface Handles {
  /** The `VkInstance`. */
  readonly instance: VkInstance;
  /** The `VkPhysicalDevice`. */
  readonly physicalDevice: VkPhysicalDevice;
  /** The `VkDevice`. */
  readonly device: VkDevice;
  /** The index of the family of its queues. */
  readonly queueFamily: number;
  /** Its queues. */
  readonly queues: readonly VkQueue[];
  /** The extensions that it was made with. */
  readonly extensions: readonly string[];
}

/** The functions `vkCreate…` and `vkDestroy…` of these objects are alike. */
type Kind =
  | "Buffer"
  | "Image"
  | "ImageView"
  | "Semaphore"
  | "Fence"
  | "CommandPool"
  | "ShaderModule"
  | "DescriptorSetLayout"
  | "PipelineLayout";

type Create = (device: VkDevice, info: Struct, allocator: null, out: BigUint64Array<ArrayBuffer>) => number;
type Destroy = (device: VkDevice, handle: bigint, allocator: null) => void;

/** An open device: the part of a context that everything below it uses. For backends. */
export class OpenDevice {
  /** Its native objects. */
  readonly handles: Handles;
  /** The `VkDevice`. */
  readonly handle: VkDevice;
  /** Facts about it. */
  readonly facts: VulkanDevice;
  /** @internal The features that it was made with, a `VkPhysicalDeviceFeatures2`; undefined for another library's device. */
  readonly features: Struct | undefined;
  /** @internal The functions of its extensions. */
  readonly extensions: VulkanExtensions;
  /** What it exports and imports. */
  readonly abilities: Abilities;
  /** Its memory, which ends with the device. */
  readonly #blocks = new Set<Allocation>();
  #isKept = false;
  #waiting = 0;
  #later: (() => void)[] = [];

  /** Takes over nothing. */
  constructor(handles: Handles, facts: VulkanDevice, features?: Struct) {
    this.handles = handles;
    this.features = features;
    this.handle = handles.device;
    this.facts = facts;
    this.extensions = extensionsOf(handles.device);
    for (const name of WANTED.filter((name) => this.has(name))) {
      const { functions = [] } = EXTENSIONS[name];
      const missing = functions.find((fn) => this.extensions[fn] === null);
      if (missing === undefined) continue;
      const fields = { api: "vulkan", fn: "vkGetDeviceProcAddr" };
      throw new InteropError(`${facts.name} lists ${name}, and has no ${missing}.`, fields);
    }
    this.abilities = abilitiesOf(handles.physicalDevice, (name) => this.has(name));
  }

  /** True if the device was made with an extension. */
  has(name: ExtensionName): boolean {
    return this.handles.extensions.includes(name);
  }

  /** Why something that needs an extension is closed; undefined if the device was made with it. */
  lacks(name: ExtensionName): Reason | undefined {
    if (this.has(name)) return undefined;
    const { facts } = this;
    const { lack } = EXTENSIONS[name];
    if (!facts.extensions.includes(name)) return lackOf(facts.name, name, lack);
    return {
      reason: `The VkDevice was made without ${name}: ${lack}.`,
      remedy: "Enable the extension where it is made, or open the device by VulkanContext.open().",
    };
  }

  /** Throws why `fn` cannot be called, unless the device was made with an extension. */
  assertHas(name: ExtensionName, fn: string): void {
    const lacking = this.lacks(name);
    if (lacking !== undefined) throw new InteropError(lacking.reason, { api: "vulkan", fn, hint: lacking.remedy });
  }

  /** @internal A new fd of an object that was made for exports. */
  exportFd(fn: "vkGetMemoryFdKHR" | "vkGetSemaphoreFdKHR" | "vkGetFenceFdKHR", info: Struct): number {
    const out = new Int32Array(1);
    check(this.extensions[fn]!(this.handle, info, out), fn);
    return out[0];
  }

  /** @internal Makes an object, which `undo` destroys. */
  create<H extends bigint>(kind: Kind, info: Struct, undo: Undo): H {
    const fn = `vkCreate${kind}` as const;
    const out = new BigUint64Array(1);
    check((vulkan()[fn] as Create)(this.handle, info, null, out), fn);
    return this.own(kind, out[0] as H, vulkan()[`vkDestroy${kind}`] as Destroy, undo);
  }

  /** @internal Counts an object, which `undo` destroys. */
  own<H extends bigint>(kind: string, handle: H, destroy: Destroy, undo: Undo): H {
    owned(`vulkan.Vk${kind}`, undo, () => this.whenIdle(() => destroy(this.handle, handle, null)));
    return handle;
  }

  /** Makes an allocation of its memory, which ends with the device at the latest, even if other devices' tensors own it too. */
  allocation(block: Block): Allocation {
    const allocation = new Allocation(block);
    this.#blocks.add(allocation);
    allocation.beforeFree(() => this.#blocks.delete(allocation));
    return allocation;
  }

  /** Frees all of its memory, before the device ends. */
  freeBlocks(): void {
    undoAll([...this.#blocks].map((block) => () => block.free()), "freeing a device's memory");
  }

  /** Runs a wait that holds a thread in the driver: nothing is destroyed before it returns. */
  async waiting<T>(wait: () => Promise<T>): Promise<T> {
    this.#waiting++;
    try {
      return await wait();
    } finally {
      this.#waiting--;
      if (this.#waiting === 0) { for (const destroy of this.#later.splice(0)) destroy(); }
    }
  }

  /** Keeps the device for good, because an escaped view may still use some of its memory. */
  keep(): void {
    this.#isKept = true;
  }

  /** True if it is never destroyed. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Destroys something, once no thread waits in the driver. Destruction cannot fail. */
  whenIdle(destroy: () => void): void {
    if (this.#waiting === 0) destroy();
    else this.#later.push(destroy);
  }
}
