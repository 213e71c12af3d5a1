import type { ClassEntry, Library } from "../library.ts";

/** What both lists of Vulkan have in common. */
const vulkanHeaders = {
  headers: ["vulkan/vulkan_core.h", "vulkan/vulkan_win32.h"],
  // What vulkan_win32.h takes from Windows' own headers: its structs are laid out here, for those who fill them there.
  defines: {
    HANDLE: "void *",
    HINSTANCE: "void *",
    HWND: "void *",
    HMONITOR: "void *",
    LPCWSTR: "const unsigned short *",
    DWORD: "unsigned int",
    SECURITY_ATTRIBUTES: "void",
  },
} satisfies Partial<Library>;

/** The fields of a struct that a chain links. */
const LINK = ["sType", "pNext"] as const;

/** The three words of a size along three dimensions, as a list of fields. */
function three(name: string, designator: string): [string, string][] {
  return [0, 1, 2].map((i) => [`${name}${i}`, `${designator}[${i}]`]);
}

/** What a driver can do with a handle of a kind: the same three fields for buffers and images. */
const EXTERNAL_MEMORY: [string, string][] = [
  "externalMemoryFeatures",
  "exportFromImportedHandleTypes",
  "compatibleHandleTypes",
].map((name) => [name, `externalMemoryProperties.${name}`]);

/** A part of an image: one mipmap level of some layers. */
function subresource(name: string): [string, string][] {
  return ["aspectMask", "mipLevel", "baseArrayLayer", "layerCount"].map((field) => [field, `${name}.${field}`]);
}

const FACTS: ClassEntry[] = [
  { type: "VkExtensionProperties", fields: [["extensionName", "extensionName[0]"], "specVersion"] },
  {
    type: "VkPhysicalDeviceProperties2",
    fields: [
      ...LINK,
      ...["apiVersion", "driverVersion", "vendorID", "deviceID", "deviceType"].map((name): [string, string] => [
        name,
        `properties.${name}`,
      ]),
      ["deviceName", "properties.deviceName[0]"],
      ...[
        "maxImageDimension2D",
        "maxStorageBufferRange",
        "maxPushConstantsSize",
        "maxMemoryAllocationCount",
        "maxPerStageDescriptorStorageBuffers",
        "maxComputeSharedMemorySize",
        "maxComputeWorkGroupInvocations",
        "minStorageBufferOffsetAlignment",
        "nonCoherentAtomSize",
      ].map((name): [string, string] => [name, `properties.limits.${name}`]),
      ...three("maxComputeWorkGroupCount", "properties.limits.maxComputeWorkGroupCount"),
      ...three("maxComputeWorkGroupSize", "properties.limits.maxComputeWorkGroupSize"),
    ],
  },
  {
    type: "VkPhysicalDeviceIDProperties",
    fields: [...LINK, ["deviceUUID", "deviceUUID[0]"], ["driverUUID", "driverUUID[0]"]],
  },
  {
    type: "VkPhysicalDeviceDriverProperties",
    fields: [...LINK, "driverID", ["driverName", "driverName[0]"], ["driverInfo", "driverInfo[0]"]],
  },
  { type: "VkPhysicalDeviceFeatures2", fields: [...LINK] },
  { type: "VkPhysicalDeviceVulkan11Features", fields: [...LINK] },
  { type: "VkPhysicalDeviceVulkan12Features", fields: [...LINK] },
  { type: "VkQueueFamilyProperties", fields: ["queueFlags", "queueCount", "timestampValidBits"] },
  {
    type: "VkPhysicalDeviceMemoryProperties",
    fields: [
      "memoryTypeCount",
      ["memoryTypes", "memoryTypes[0].propertyFlags"],
      "memoryHeapCount",
      ["memoryHeaps", "memoryHeaps[0].size"],
    ],
  },
  { type: "VkExternalBufferProperties", fields: [...LINK, ...EXTERNAL_MEMORY] },
  {
    type: "VkMemoryRequirements2",
    fields: [
      ...LINK,
      ...["size", "alignment", "memoryTypeBits"].map((name): [string, string] => [name, `memoryRequirements.${name}`]),
    ],
  },
];

const IMAGES: (string | ClassEntry)[] = [
  {
    type: "VkImageCreateInfo",
    fields: [
      ...LINK,
      "flags",
      "imageType",
      "format",
      ["width", "extent.width"],
      ["height", "extent.height"],
      ["depth", "extent.depth"],
      ...["mipLevels", "arrayLayers", "samples", "tiling", "usage", "sharingMode", "initialLayout"],
    ],
  },
  "VkExternalMemoryImageCreateInfo",
  "VkImageMemoryRequirementsInfo2",
  {
    type: "VkImageMemoryBarrier",
    fields: [
      ...LINK,
      ...["srcAccessMask", "dstAccessMask", "oldLayout", "newLayout"],
      ...["srcQueueFamilyIndex", "dstQueueFamilyIndex", "image"],
      ...["aspectMask", "baseMipLevel", "levelCount", "baseArrayLayer", "layerCount"].map((name): [string, string] => [
        name,
        `subresourceRange.${name}`,
      ]),
    ],
  },
  {
    type: "VkBufferImageCopy",
    fields: [
      "bufferOffset",
      "bufferRowLength",
      "bufferImageHeight",
      ...subresource("imageSubresource"),
      ["width", "imageExtent.width"],
      ["height", "imageExtent.height"],
      ["depth", "imageExtent.depth"],
    ],
  },
  "VkPhysicalDeviceImageFormatInfo2",
  "VkPhysicalDeviceExternalImageFormatInfo",
  {
    type: "VkImageFormatProperties2",
    fields: [
      ...LINK,
      ["maxWidth", "imageFormatProperties.maxExtent.width"],
      ["maxHeight", "imageFormatProperties.maxExtent.height"],
    ],
  },
  { type: "VkExternalImageFormatProperties", fields: [...LINK, ...EXTERNAL_MEMORY] },
  "VkImageDrmFormatModifierListCreateInfoEXT",
  "VkPhysicalDeviceImageDrmFormatModifierInfoEXT",
  "VkImageDrmFormatModifierPropertiesEXT",
];

/** Vulkan, as far as memory, synchronization and compute shaders go: what the loader exports. */
export const vulkan: Library = {
  ...vulkanHeaders,
  name: "vulkan",
  interface: "Vulkan",
  functions: [
    "vkEnumerateInstanceVersion",
    "vkCreateInstance",
    "vkDestroyInstance",
    "vkEnumeratePhysicalDevices",
    "vkGetPhysicalDeviceProperties2",
    "vkGetPhysicalDeviceFeatures2",
    "vkGetPhysicalDeviceQueueFamilyProperties",
    "vkGetPhysicalDeviceMemoryProperties",
    "vkEnumerateDeviceExtensionProperties",
    "vkGetPhysicalDeviceExternalBufferProperties",
    "vkGetPhysicalDeviceExternalSemaphoreProperties",
    "vkGetPhysicalDeviceExternalFenceProperties",
    "vkGetPhysicalDeviceImageFormatProperties2",

    "vkCreateDevice",
    "vkDestroyDevice",
    "vkGetDeviceProcAddr",
    "vkGetDeviceQueue",
    "vkQueueWaitIdle",
    "vkQueueSubmit",

    "vkAllocateMemory",
    "vkFreeMemory",
    "vkMapMemory",
    "vkCreateBuffer",
    "vkDestroyBuffer",
    "vkGetBufferMemoryRequirements2",
    "vkBindBufferMemory",
    "vkCreateImage",
    "vkDestroyImage",
    "vkGetImageMemoryRequirements2",
    "vkBindImageMemory",

    "vkCreateSemaphore",
    "vkDestroySemaphore",
    { name: "vkGetSemaphoreCounterValue", address: ["pValue"] },
    "vkWaitSemaphores",
    "vkCreateFence",
    "vkDestroyFence",
    "vkGetFenceStatus",
    "vkWaitForFences",

    "vkCreateCommandPool",
    "vkDestroyCommandPool",
    "vkAllocateCommandBuffers",
    { name: "vkBeginCommandBuffer", address: ["pBeginInfo"] },
    "vkEndCommandBuffer",
    "vkResetCommandBuffer",
    {
      name: "vkCmdPipelineBarrier",
      address: ["pMemoryBarriers", "pBufferMemoryBarriers", "pImageMemoryBarriers"],
    },
    "vkCmdFillBuffer",
    "vkCmdCopyBuffer",
    "vkCmdCopyBufferToImage",
    "vkCmdCopyImageToBuffer",
    "vkCmdBindPipeline",
    { name: "vkCmdPushConstants", address: ["pValues"] },
    "vkCmdDispatch",

    "vkCreateShaderModule",
    "vkDestroyShaderModule",
    "vkCreateDescriptorSetLayout",
    "vkDestroyDescriptorSetLayout",
    "vkCreatePipelineLayout",
    "vkDestroyPipelineLayout",
    "vkCreateComputePipelines",
    "vkDestroyPipeline",

    { name: "vkWaitSemaphores", as: "vkWaitSemaphoresAsync", nonblocking: true },
    { name: "vkWaitForFences", as: "vkWaitForFencesAsync", nonblocking: true },
  ],
  constants: [
    { type: "VkResult", names: ["VK_SUCCESS", "VK_NOT_READY", "VK_TIMEOUT", "VK_INCOMPLETE"] },
    {
      type: "VkStructureType",
      names: [
        "VK_STRUCTURE_TYPE_APPLICATION_INFO",
        "VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO",
        "VK_STRUCTURE_TYPE_DEVICE_*CREATE_INFO",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_*",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES",
        "VK_STRUCTURE_TYPE_EXTERNAL_*",
        "VK_STRUCTURE_TYPE_EXPORT_*",
        "VK_STRUCTURE_TYPE_IMPORT_*",
        "VK_STRUCTURE_TYPE_MEMORY_*",
        "VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO",
        "VK_STRUCTURE_TYPE_BUFFER_MEMORY_*",
        "VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO",
        "VK_STRUCTURE_TYPE_IMAGE_MEMORY_*",
        "VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2",
        "VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_*",
        "VK_STRUCTURE_TYPE_SEMAPHORE_*",
        "VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO",
        "VK_STRUCTURE_TYPE_SUBMIT_INFO",
        "VK_STRUCTURE_TYPE_FENCE_*",
        "VK_STRUCTURE_TYPE_COMMAND_*",
        "VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO",
        "VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO",
        "VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO",
        "VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO",
        "VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO",
        "VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET",
        "!VK_STRUCTURE_TYPE_*_KHR",
        "!VK_STRUCTURE_TYPE_*_NV",
        "!VK_STRUCTURE_TYPE_*_AMD",
        "!VK_STRUCTURE_TYPE_*_ANDROID",
        "!VK_STRUCTURE_TYPE_*_FUCHSIA",
        "!VK_STRUCTURE_TYPE_*_QNX",
        "!VK_STRUCTURE_TYPE_*METAL*",
      ],
    },
    {
      type: "VkStructureType",
      names: [
        "VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR",
        "VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR",
        "VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR",
        "VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR",
        "VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR",
        "VK_STRUCTURE_TYPE_IMPORT_FENCE_FD_INFO_KHR",
        "VK_STRUCTURE_TYPE_FENCE_GET_FD_INFO_KHR",
        "VK_STRUCTURE_TYPE_*_WIN32_HANDLE_INFO_KHR",
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR",
      ],
    },
    { type: "VkPhysicalDeviceType", names: ["VK_PHYSICAL_DEVICE_TYPE_*", "!*_MAX_ENUM"] },
    { type: "VkQueueFlagBits", names: ["VK_QUEUE_GRAPHICS_BIT", "VK_QUEUE_COMPUTE_BIT", "VK_QUEUE_TRANSFER_BIT"] },
    {
      type: "uint32_t",
      names: ["VK_QUEUE_FAMILY_IGNORED", "VK_QUEUE_FAMILY_EXTERNAL", "VK_QUEUE_FAMILY_FOREIGN_EXT", "VK_UUID_SIZE"],
    },
    { type: "uint64_t", names: ["VK_WHOLE_SIZE"] },
    {
      type: "VkMemoryPropertyFlagBits",
      names: [
        "VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT",
        "VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT",
        "VK_MEMORY_PROPERTY_HOST_COHERENT_BIT",
        "VK_MEMORY_PROPERTY_HOST_CACHED_BIT",
        "VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT",
        "VK_MEMORY_PROPERTY_PROTECTED_BIT",
        "VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD",
      ],
    },
    {
      type: "VkExternalMemoryHandleTypeFlagBits",
      names: [
        "VK_EXTERNAL_MEMORY_HANDLE_TYPE_*",
        "!*_MAX_ENUM",
        "!*_KHR",
        "!*_NV",
        "!*ANDROID*",
        "!*ZIRCON*",
        "!*RDMA*",
      ],
    },
    {
      type: "VkExternalMemoryFeatureFlagBits",
      names: ["VK_EXTERNAL_MEMORY_FEATURE_*", "!*_MAX_ENUM", "!*_KHR", "!*_NV"],
    },
    {
      type: "VkExternalSemaphoreHandleTypeFlagBits",
      names: ["VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_*", "!*_MAX_ENUM", "!*_KHR", "!*ZIRCON*", "!*D3D11*"],
    },
    { type: "VkExternalSemaphoreFeatureFlagBits", names: ["VK_EXTERNAL_SEMAPHORE_FEATURE_*", "!*_MAX_ENUM", "!*_KHR"] },
    { type: "VkSemaphoreImportFlagBits", names: ["VK_SEMAPHORE_IMPORT_TEMPORARY_BIT"] },
    { type: "VkSemaphoreType", names: ["VK_SEMAPHORE_TYPE_BINARY", "VK_SEMAPHORE_TYPE_TIMELINE"] },
    {
      type: "VkExternalFenceHandleTypeFlagBits",
      names: ["VK_EXTERNAL_FENCE_HANDLE_TYPE_*", "!*_MAX_ENUM", "!*_KHR"],
    },
    { type: "VkExternalFenceFeatureFlagBits", names: ["VK_EXTERNAL_FENCE_FEATURE_*", "!*_MAX_ENUM", "!*_KHR"] },
    { type: "VkFenceImportFlagBits", names: ["VK_FENCE_IMPORT_TEMPORARY_BIT"] },
    {
      type: "VkBufferUsageFlagBits",
      names: [
        "VK_BUFFER_USAGE_TRANSFER_SRC_BIT",
        "VK_BUFFER_USAGE_TRANSFER_DST_BIT",
        "VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT",
        "VK_BUFFER_USAGE_STORAGE_BUFFER_BIT",
      ],
    },
    { type: "VkSharingMode", names: ["VK_SHARING_MODE_EXCLUSIVE"] },
    {
      type: "VkImageUsageFlagBits",
      names: [
        "VK_IMAGE_USAGE_TRANSFER_SRC_BIT",
        "VK_IMAGE_USAGE_TRANSFER_DST_BIT",
        "VK_IMAGE_USAGE_SAMPLED_BIT",
        "VK_IMAGE_USAGE_STORAGE_BIT",
      ],
    },
    { type: "VkImageTiling", names: ["VK_IMAGE_TILING_*", "!*_MAX_ENUM"] },
    { type: "VkImageType", names: ["VK_IMAGE_TYPE_2D"] },
    { type: "VkImageLayout", names: ["VK_IMAGE_LAYOUT_UNDEFINED", "VK_IMAGE_LAYOUT_GENERAL"] },
    { type: "VkImageAspectFlagBits", names: ["VK_IMAGE_ASPECT_COLOR_BIT"] },
    { type: "VkSampleCountFlagBits", names: ["VK_SAMPLE_COUNT_1_BIT"] },
    {
      type: "VkFormat",
      names: [
        "VK_FORMAT_R*",
        "VK_FORMAT_B8G8R8A8_*",

        "!*USCALED*",
        "!*SSCALED*",
        "!*_KHR",
        "!*_EXT",
        "!*PACK*",
        "!*_NV",
        "!*64*",
      ],
    },
    {
      type: "VkPipelineStageFlagBits",
      names: [
        "VK_PIPELINE_STAGE_ALL_COMMANDS_BIT",
        "VK_PIPELINE_STAGE_HOST_BIT",
        "VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT",
        "VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT",
      ],
    },
    {
      type: "VkAccessFlagBits",
      names: [
        "VK_ACCESS_MEMORY_READ_BIT",
        "VK_ACCESS_MEMORY_WRITE_BIT",
        "VK_ACCESS_HOST_READ_BIT",
        "VK_ACCESS_HOST_WRITE_BIT",
      ],
    },
    { type: "VkCommandPoolCreateFlagBits", names: ["VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT"] },
    { type: "VkCommandBufferLevel", names: ["VK_COMMAND_BUFFER_LEVEL_PRIMARY"] },
    { type: "VkCommandBufferUsageFlagBits", names: ["VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT"] },
    { type: "VkPipelineBindPoint", names: ["VK_PIPELINE_BIND_POINT_COMPUTE"] },
    { type: "VkShaderStageFlagBits", names: ["VK_SHADER_STAGE_COMPUTE_BIT"] },
    { type: "VkDescriptorType", names: ["VK_DESCRIPTOR_TYPE_STORAGE_BUFFER", "VK_DESCRIPTOR_TYPE_STORAGE_IMAGE"] },
    {
      type: "VkDescriptorSetLayoutCreateFlagBits",
      names: ["VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR"],
    },
  ],
  errors: {
    type: "VkResult",
    names: [
      "VK_ERROR_*",
      "!VK_ERROR_OUT_OF_POOL_MEMORY_KHR", // the rest are second names
      "!VK_ERROR_INVALID_EXTERNAL_HANDLE_KHR",
      "!VK_ERROR_FRAGMENTATION_EXT",
      "!VK_ERROR_NOT_PERMITTED_EXT",
      "!VK_ERROR_INVALID_DEVICE_ADDRESS_EXT",
      "!VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS_KHR",
      "!VK_ERROR_PIPELINE_COMPILE_REQUIRED_EXT",
    ],
  },
  structs: [
    ...FACTS,
    "VkApplicationInfo",
    "VkInstanceCreateInfo",
    "VkPhysicalDevicePCIBusInfoPropertiesEXT",
    "VkPhysicalDeviceExternalMemoryHostPropertiesEXT",
    "VkPhysicalDevicePushDescriptorPropertiesKHR",
    "VkMemoryType",
    "VkMemoryHeap",
    "VkPhysicalDeviceExternalBufferInfo",
    "VkPhysicalDeviceExternalSemaphoreInfo",
    "VkExternalSemaphoreProperties",
    "VkPhysicalDeviceExternalFenceInfo",
    "VkExternalFenceProperties",
    "VkDeviceQueueCreateInfo",
    "VkDeviceCreateInfo",

    "VkMemoryAllocateInfo",
    "VkExportMemoryAllocateInfo",
    "VkImportMemoryFdInfoKHR",
    "VkImportMemoryHostPointerInfoEXT",
    "VkMemoryDedicatedAllocateInfo",
    "VkMemoryDedicatedRequirements",
    "VkMemoryGetFdInfoKHR",
    "VkMemoryFdPropertiesKHR",
    "VkMemoryHostPointerPropertiesEXT",
    "VkBufferCreateInfo",
    "VkExternalMemoryBufferCreateInfo",
    "VkBufferMemoryRequirementsInfo2",
    ...IMAGES,

    "VkSemaphoreCreateInfo",
    "VkSemaphoreTypeCreateInfo",
    "VkExportSemaphoreCreateInfo",
    "VkSemaphoreGetFdInfoKHR",
    "VkImportSemaphoreFdInfoKHR",
    "VkSemaphoreWaitInfo",
    "VkFenceCreateInfo",
    "VkExportFenceCreateInfo",
    "VkFenceGetFdInfoKHR",
    "VkImportFenceFdInfoKHR",

    ...["Memory", "Semaphore", "Fence"].flatMap((of) => [
      `VkImport${of}Win32HandleInfoKHR`,
      `VkExport${of}Win32HandleInfoKHR`,
      `Vk${of}GetWin32HandleInfoKHR`,
    ]),

    "VkSubmitInfo",
    "VkTimelineSemaphoreSubmitInfo",
    "VkCommandPoolCreateInfo",
    "VkCommandBufferAllocateInfo",
    "VkCommandBufferBeginInfo",
    "VkMemoryBarrier",
    "VkBufferMemoryBarrier",
    "VkBufferCopy",

    "VkShaderModuleCreateInfo",
    "VkDescriptorSetLayoutBinding",
    "VkDescriptorSetLayoutCreateInfo",
    "VkPushConstantRange",
    "VkPipelineLayoutCreateInfo",
    {
      type: "VkComputePipelineCreateInfo",
      fields: [
        ...LINK,
        "flags",
        ["stage_sType", "stage.sType"],
        ["stage_stage", "stage.stage"],
        ["stage_module", "stage.module"],
        ["stage_pName", "stage.pName"],
        "layout",
        "basePipelineIndex",
      ],
    },
    "VkWriteDescriptorSet",
    "VkDescriptorBufferInfo",
  ],
};

/** Vulkan's extensions for sharing: a device tells the functions by name. One that lacks an extension has none of them. */
export const vulkanExtensions: Library = {
  ...vulkanHeaders,
  name: "vulkan_extensions",
  interface: "VulkanExtensions",
  byPointer: true,
  functions: [
    { name: "vkGetMemoryFdKHR", optional: true },
    { name: "vkGetMemoryFdPropertiesKHR", optional: true },
    { name: "vkGetMemoryHostPointerPropertiesEXT", address: ["pHostPointer"], optional: true },
    { name: "vkGetSemaphoreFdKHR", optional: true },
    { name: "vkImportSemaphoreFdKHR", optional: true },
    { name: "vkGetFenceFdKHR", optional: true },
    { name: "vkImportFenceFdKHR", optional: true },
    { name: "vkGetImageDrmFormatModifierPropertiesEXT", optional: true },
    { name: "vkCmdPushDescriptorSetKHR", address: ["pDescriptorWrites"], optional: true },
  ],
  constants: [],
  structs: [],
};
