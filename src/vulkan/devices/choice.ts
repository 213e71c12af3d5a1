import type { VkInstance, VkPhysicalDevice } from "../../../ffi/vulkan/handles.ts";
import { type Names, optionsIn, shownFields } from "../../core/argument.ts";
import { hasPart } from "../../core/device/choice.ts";
import { plainUuid } from "../../core/device/device_id.ts";
import { contextOn, devicesOn, type OpenOn } from "../../core/device/device_on.ts";
import { ArgumentError } from "../../core/errors.ts";
import { deviceOf, type VulkanDevice, type VulkanDeviceType } from "../device.ts";
import { instanceFor, physicalDevices } from "../instance.ts";
import { checks } from "../library.ts";

/** The device to open. */
export interface VulkanChoice extends OpenOn {
  /** Part of the device's name, in any case. */
  readonly device?: string;
  /** The device's UUID: 32 hexadecimal digits, also with dashes and a `GPU-` in front. */
  readonly uuid?: string;
  /** True to load the validation layer, which writes a program's mistakes to the standard output. */
  readonly validation?: boolean;
}

const CHOICE: Names<VulkanChoice> = { device: true, uuid: true, validation: true, on: true };

export interface PhysicalDevice {
  readonly instance: VkInstance;
  readonly handle: VkPhysicalDevice;
  readonly facts: VulkanDevice;
}

/** The best first. */
const TYPES: readonly VulkanDeviceType[] = ["discrete", "integrated", "virtual", "other", "cpu"];

/** The best device that fits a choice. @throws {ArgumentError} if none does. */
export function chosenDevice(choice: VulkanChoice): PhysicalDevice {
  const { device, uuid, validation = false, on } = optionsIn(choice, CHOICE, "choice");
  if (device !== undefined) checks.assertText(device, "choice.device");
  if (uuid !== undefined) checks.assertText(uuid, "choice.uuid");
  checks.assertBoolean(validation, "choice.validation");
  const instance = instanceFor(validation);
  const found = physicalDevices(instance).map((handle) => ({ instance, handle, facts: deviceOf(handle) }));
  const there = on === undefined ? found : devicesOn(checks, contextOn(checks, on), found, ({ facts }) => facts);
  const [best] = there.filter(({ facts }) =>
    hasPart(facts.name, device) &&
    (uuid === undefined || facts.id.uuid === plainUuid(uuid))
  ).sort((a, b) => TYPES.indexOf(a.facts.type) - TYPES.indexOf(b.facts.type));
  if (best !== undefined) return best;
  const fields = { api: "vulkan", fn: "vkEnumeratePhysicalDevices", argument: "choice" };
  if (found.length === 0) {
    throw new ArgumentError("Vulkan has no device.", {
      ...fields,
      hint: "Install a driver: apt install mesa-vulkan-drivers.",
    });
  }
  const listed = found.map(({ facts: { name, id } }) => `${name} (UUID ${id.uuid})`).join("; ");
  throw new ArgumentError(`No Vulkan device fits ${shownFields({ device, uuid })}.`, {
    ...fields,
    hint: `There is ${listed}.`,
  });
}
