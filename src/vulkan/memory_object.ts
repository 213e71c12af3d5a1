import type { Address } from "../../ffi/address.ts";
import * as vk from "../../ffi/vulkan/constants.ts";
import type { VkBuffer, VkDeviceMemory, VkImage } from "../../ffi/vulkan/handles.ts";
import * as layouts from "../../ffi/vulkan/structs.ts";
import { InteropError } from "../core/errors.ts";
import type { WholeMemory } from "../core/device/port.ts";
import type { Undo } from "../core/life/undo.ts";
import type { VulkanMemoryType } from "./device.ts";
import { check } from "./errors.ts";
import { checks, vulkan } from "./library.ts";
import type { OpenDevice } from "./open_device.ts";
import { chain, type Struct, struct } from "./struct.ts";

/** Where new memory lies: in the device's own memory, or in memory that the CPU sees too. */
export type Place = "device" | "host";

export interface Needs {
  readonly size: number;
  readonly typeBits: number;
  /** True if the object has to own its memory alone. */
  readonly dedicated: boolean;
}

/** Where memory comes from: it is new and can be exported by these kinds of handle; or it is foreign. */
export type Origin =
  | { readonly from: "new"; readonly place: Place; readonly handleTypes: number }
  | {
    readonly from: "fd";
    readonly fd: number;
    readonly handleType: number;
    /** The parameters that it was made with, if its exporter reports them: the import of an opaque fd has to repeat them. */
    readonly known?: WholeMemory | undefined;
    /** True if it was made for one object alone. */
    readonly dedicated?: boolean;
  }
  | { readonly from: "host"; readonly address: bigint; readonly handleType: number };

export type Bound = { readonly buffer: VkBuffer } | { readonly image: VkImage };

/** The parameters of a `VkDeviceMemory`, which an importer has to repeat. */
export interface MemoryInfo {
  /** Its length in bytes. */
  readonly size: number;
  /** Its type. */
  readonly type: VulkanMemoryType;
  /** True if it is one object's alone. */
  readonly dedicated: boolean;
}

export function needsOf(ask: (reported: Struct) => void): Needs {
  const dedicated = struct("VkMemoryDedicatedRequirements", {});
  const reported = struct("VkMemoryRequirements2", { pNext: dedicated });
  ask(reported);
  const { size, memoryTypeBits } = layouts.VkMemoryRequirements2.fields;
  return {
    size: Number(reported.word(size)),
    typeBits: reported.number(memoryTypeBits),
    dedicated: dedicated.number(layouts.VkMemoryDedicatedRequirements.fields.requiresDedicatedAllocation) !== 0,
  };
}

/** New or imported memory for an object, which `undo` frees. The driver takes over an fd only if this succeeds. */
export function allocateMemory(
  device: OpenDevice,
  origin: Origin,
  { size, typeBits, dedicated }: Needs,
  bound: Bound,
  undo: Undo,
): { readonly handle: VkDeviceMemory; readonly info: MemoryInfo } {
  const type = typeFor(device, origin, typeBits & importableTypes(device, origin));
  const links = dedicated ? [struct("VkMemoryDedicatedAllocateInfo", { ...bound })] : [];
  const link = originLink(origin);
  const info = struct("VkMemoryAllocateInfo", {
    allocationSize: size,
    memoryTypeIndex: type.index,
  });
  const out = new BigUint64Array(1);
  chain(info, ...links, ...(link === undefined ? [] : [link]));
  check(vulkan().vkAllocateMemory(device.handle, info, null, out), "vkAllocateMemory");
  const free = (of: typeof device.handle, memory: bigint) => vulkan().vkFreeMemory(of, memory as VkDeviceMemory, null);
  const handle = device.own("DeviceMemory", out[0] as VkDeviceMemory, free, undo);
  return { handle, info: { size, type, dedicated } };
}

export function exportMemory(device: OpenDevice, memory: VkDeviceMemory, handleType: number): number {
  return device.exportFd("vkGetMemoryFdKHR", struct("VkMemoryGetFdInfoKHR", { memory, handleType }));
}

function originLink(origin: Origin): Struct | undefined {
  if (origin.from === "fd") {
    const { handleType, fd } = origin;
    return struct("VkImportMemoryFdInfoKHR", { handleType, fd });
  }
  if (origin.from === "host") {
    const { handleType, address } = origin;
    return struct("VkImportMemoryHostPointerInfoEXT", { handleType, pHostPointer: address });
  }
  const { handleTypes } = origin;
  if (handleTypes === 0) return undefined;
  return struct("VkExportMemoryAllocateInfo", { handleTypes });
}

/** The first type of memory that fits an object: drivers list the better ones first. */
function typeFor({ facts }: OpenDevice, origin: Origin, typeBits: number): VulkanMemoryType {
  const allowed = facts.memoryTypes.filter(({ index }) => (typeBits & (1 << index)) !== 0);
  const isShared = ({ hostVisible, hostCoherent }: VulkanMemoryType) => hostVisible && hostCoherent;
  let found: VulkanMemoryType | undefined;
  if (origin.from === "fd") {
    const { type: index } = origin.known ?? {};
    found = index === undefined
      ? allowed.find((type) => type.deviceLocal) ?? allowed[0]
      : allowed.find((type) => type.index === index);
    if (found === undefined && index !== undefined) {
      const what = `it is said to be of type ${index}, and this has to be of ${allowed.map((one) => one.index)}.`;
      throw checks.wrong("source", what, undefined, "vkAllocateMemory");
    }
  } else if (origin.from === "new" && origin.place === "device") {
    found = allowed.find((type) => type.deviceLocal) ?? allowed[0];
  } else found = allowed.find((type) => isShared(type) && type.hostCached) ?? allowed.find(isShared);
  if (found !== undefined) return found;
  throw new InteropError(`${facts.name} has no memory for this that the CPU and the device see alike.`, {
    api: "vulkan",
    fn: "vkAllocateMemory",
    hint: 'Allocate it with { memory: "device" }, or copy it.',
  });
}

/** The memory types as which a handle can be imported, a bit for each; all types if no query reports them. */
function importableTypes({ handle, extensions }: OpenDevice, origin: Origin): number {
  if (origin.from === "new" || origin.handleType === vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT) return ~0;
  const { handleType } = origin;
  if (origin.from === "host") {
    const reported = struct("VkMemoryHostPointerPropertiesEXT", {});
    const fn = "vkGetMemoryHostPointerPropertiesEXT";
    check(extensions[fn]!(handle, handleType, origin.address as Address, reported), fn);
    return reported.number(layouts.VkMemoryHostPointerPropertiesEXT.fields.memoryTypeBits);
  }
  const reported = struct("VkMemoryFdPropertiesKHR", {});
  check(extensions.vkGetMemoryFdPropertiesKHR!(handle, handleType, origin.fd, reported), "vkGetMemoryFdPropertiesKHR");
  return reported.number(layouts.VkMemoryFdPropertiesKHR.fields.memoryTypeBits);
}
