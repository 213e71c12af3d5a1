import { type Address, NULL } from "../../ffi/address.ts";
import * as vk from "../../ffi/vulkan/constants.ts";
import type { VkBuffer, VkCommandBuffer, VkDeviceMemory } from "../../ffi/vulkan/handles.ts";
import * as layouts from "../../ffi/vulkan/structs.ts";
import { type Undo, undone } from "../core/life/undo.ts";
import { showAt } from "../core/memory/peers.ts";
import { USAGE } from "./abilities.ts";
import { check } from "./errors.ts";
import { vulkan } from "./library.ts";
import { allocateMemory, type MemoryInfo, type Needs, needsOf, type Origin } from "./memory_object.ts";
import type { OpenDevice } from "./open_device.ts";
import { SharedMemory } from "./shared_memory.ts";
import { type Struct, struct } from "./struct.ts";

export interface ForeignBuffer {
  readonly from: "foreign";
  readonly buffer: VkBuffer;
}

/** A `VkBuffer` and its memory: the handle of a tensor. For backends. */
export class VulkanBuffer extends SharedMemory {
  /** The `VkBuffer`, from the memory's first byte on. */
  readonly buffer: VkBuffer;
  /** The `VkDeviceMemory`; undefined for another library's buffer. */
  readonly memory: VkDeviceMemory | undefined;
  /** The buffer's length in bytes. */
  readonly byteLength: number;
  /** The parameters of its memory, which an importer has to repeat. Undefined for another library's buffer. */
  readonly info: MemoryInfo | undefined;
  readonly #hostAddress: Address | undefined;
  #address: Address | undefined;
  #barrier: Struct | undefined;

  /**
   * Makes the buffer, and allocates or imports its memory; or uses another library's buffer. The driver takes over an fd only
   * if this succeeds.
   */
  constructor(device: OpenDevice, byteLength: number, origin: Origin | ForeignBuffer) {
    super(device, origin);
    this.byteLength = byteLength;
    if (origin.from === "foreign") {
      this.buffer = origin.buffer;
      return;
    }
    const { undo } = this;
    try {
      this.buffer = createBuffer(device, byteLength, origin, undo);
      const needs = needsOfBuffer(device, this.buffer);
      const { known, dedicated = false } = origin.from === "fd" ? origin : {};
      const wanted = {
        size: origin.from === "host" ? byteLength : known?.byteLength ?? needs.size,
        typeBits: needs.typeBits,
        dedicated: dedicated || needs.dedicated || mustBeDedicated(device, origin),
      };
      const { handle, info } = allocateMemory(device, origin, wanted, { buffer: this.buffer }, undo);
      this.memory = handle;
      this.info = info;
      this.#hostAddress = origin.from === "host" ? origin.address as Address : undefined;
      check(vulkan().vkBindBufferMemory(device.handle, this.buffer, handle, 0n), "vkBindBufferMemory");
    } catch (error) {
      throw undone(error, undo, "making a buffer");
    }
  }

  /** True if the CPU sees its memory without further calls. */
  get isHostVisible(): boolean {
    return this.info !== undefined && this.info.type.hostVisible && this.info.type.hostCoherent;
  }

  /** Its host address, if the CPU sees it. The first use maps it until it is freed. */
  get address(): Address | undefined {
    if (this.#hostAddress !== undefined || !this.isHostVisible) return this.#hostAddress;
    return this.#address ??= this.#map();
  }

  #map(): Address {
    const out = new BigUint64Array(1);
    check(vulkan().vkMapMemory(this.device.handle, this.memory!, 0n, vk.VK_WHOLE_SIZE, 0, out), "vkMapMemory");
    const address = out[0] as Address; // freeing the memory unmaps it
    this.undo.push(showAt(address, this.info!.size, "a Vulkan buffer"));
    return address;
  }

  /** Records the barrier. @see {@link SharedMemory} */
  protected override pass(commands: VkCommandBuffer, from: number, to: number): void {
    const { fields } = layouts.VkBufferMemoryBarrier;
    const barrier = this.#barrier ??= struct("VkBufferMemoryBarrier", {
      srcAccessMask: vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT,
      dstAccessMask: vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT,
      buffer: this.buffer,
      size: vk.VK_WHOLE_SIZE,
    });
    barrier.put(fields.srcQueueFamilyIndex, from);
    barrier.put(fields.dstQueueFamilyIndex, to);
    const all = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    vulkan().vkCmdPipelineBarrier(commands, all, all, 0, 0, NULL, 1, barrier.address, 0, NULL);
  }
}

export function needsOfBuffer(device: OpenDevice, buffer: VkBuffer): Needs {
  const info = struct("VkBufferMemoryRequirementsInfo2", { buffer });
  return needsOf((reported) => vulkan().vkGetBufferMemoryRequirements2(device.handle, info, reported));
}

function createBuffer(device: OpenDevice, size: number, origin: Origin, undo: Undo): VkBuffer {
  const handleTypes = origin.from === "new" ? origin.handleTypes : origin.handleType;
  const info = struct("VkBufferCreateInfo", {
    pNext: handleTypes === 0 ? undefined : struct("VkExternalMemoryBufferCreateInfo", { handleTypes }),
    size,
    usage: USAGE,
    sharingMode: vk.VK_SHARING_MODE_EXCLUSIVE,
  });
  return device.create<VkBuffer>("Buffer", info, undo);
}

function mustBeDedicated({ abilities }: OpenDevice, origin: Origin): boolean {
  const types = origin.from === "new" ? origin.handleTypes : origin.handleType;
  const { opaqueFd, dmaBuf, hostPointer } = abilities;
  return [opaqueFd, dmaBuf, hostPointer].some(({ handleType, dedicated }) => dedicated && (types & handleType) !== 0);
}
