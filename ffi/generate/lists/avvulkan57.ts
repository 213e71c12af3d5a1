import type { Library } from "../library.ts";
import { FOLDERS } from "./avutil57.ts";

/** FFmpeg's libavutil, as far as frames of Vulkan go, in major version 57: one built without Vulkan has no such functions. */
export const avvulkan57: Library = {
  name: "avvulkan57",
  interface: "AVVulkan",
  headers: ["libavutil/hwcontext_vulkan.h"],
  folders: FOLDERS,
  defines: {},
  functions: [
    { name: "av_vk_frame_alloc", optional: true },
    { name: "av_free", address: ["ptr"] },
  ],
  constants: [{ type: "VkImageTiling", names: ["VK_IMAGE_TILING_OPTIMAL"] }],
  layoutsOnly: true,
  structs: [
    {
      type: "AVVulkanDeviceContext",
      fields: [
        ...["get_proc_addr", "inst", "phys_dev", "act_dev"],
        ["device_features", "device_features.sType"],
        ...["enabled_dev_extensions", "nb_enabled_dev_extensions"],
        ...["queue_family_index", "nb_graphics_queues", "queue_family_tx_index", "nb_tx_queues"],
        ...["queue_family_comp_index", "nb_comp_queues", "queue_family_encode_index", "queue_family_decode_index"],
      ],
    },
    { type: "VkPhysicalDeviceFeatures2", fields: ["sType", "pNext"] },
    {
      type: "AVVkFrame",
      fields: [
        ...["img", "mem", "size", "access", "layout", "sem", "sem_value"].map((name): [string, string] => [
          name,
          `${name}[0]`,
        ]),
        ...["tiling", "internal"],
      ],
    },
  ],
};
