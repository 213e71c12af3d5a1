import type { ClassEntry, Library } from "../library.ts";

/** The fields of a struct that a chain links. */
const LINK = ["stype", "pNext"] as const;

const STRUCTS: (string | ClassEntry)[] = [
  "ze_context_desc_t",
  { type: "ze_driver_extension_properties_t", fields: [["name", "name[0]"], "version"] },
  {
    type: "ze_device_properties_t",
    fields: [
      ...LINK,
      ...["type", "vendorId", "deviceId", "flags", "maxMemAllocSize"],
      ["uuid", "uuid.id[0]"],
      ["name", "name[0]"],
    ],
  },
  {
    type: "ze_device_compute_properties_t",
    fields: [
      ...LINK,
      ...["maxTotalGroupSize", "maxGroupSizeX", "maxGroupSizeY", "maxGroupSizeZ"],
      ...["maxGroupCountX", "maxGroupCountY", "maxGroupCountZ", "maxSharedLocalMemory"],
    ],
  },
  "ze_device_memory_access_properties_t",
  "ze_device_external_memory_properties_t",
  {
    type: "ze_pci_ext_properties_t",
    fields: [
      ...LINK,
      ...["domain", "bus", "device", "function"].map((name): [string, string] => [name, `address.${name}`]),
    ],
  },
  "ze_command_queue_group_properties_t",
  "ze_command_queue_desc_t",
  "ze_event_pool_desc_t",
  "ze_event_desc_t",
  "ze_host_mem_alloc_desc_t",
  "ze_device_mem_alloc_desc_t",
  "ze_external_memory_export_desc_t",
  "ze_external_memory_import_fd_t",
  "ze_external_memory_export_fd_t",
  "ze_memory_allocation_properties_t",
  "ze_module_desc_t",
  "ze_kernel_desc_t",
  "ze_group_count_t",
];

/** Level Zero's loader, and what it hands on to a driver. */
export const levelzero: Library = {
  name: "levelzero",
  interface: "LevelZero",
  headers: ["level_zero/ze_api.h"],
  defines: {},
  functions: [
    "zeInit",
    "zeDriverGet",
    "zeDriverGetExtensionProperties",
    "zeDeviceGet",
    "zeDeviceGetProperties",
    "zeDeviceGetComputeProperties",
    "zeDeviceGetMemoryAccessProperties",
    "zeDeviceGetExternalMemoryProperties",
    "zeDeviceGetCommandQueueGroupProperties",
    "zeDevicePciGetPropertiesExt",

    "zeContextCreate",
    "zeContextDestroy",

    "zeMemAllocHost",
    "zeMemAllocDevice",
    "zeMemAllocShared",
    { name: "zeMemFree", address: ["ptr"] },
    { name: "zeMemGetAllocProperties", address: ["ptr"] },
    { name: "zeMemGetAddressRange", address: ["ptr"] },

    "zeCommandListCreateImmediate",
    "zeCommandListDestroy",
    { name: "zeCommandListAppendBarrier", address: ["phWaitEvents"] },
    { name: "zeCommandListAppendMemoryCopy", address: ["dstptr", "srcptr", "phWaitEvents"] },
    { name: "zeCommandListAppendMemoryFill", address: ["ptr", "phWaitEvents"] },
    { name: "zeCommandListAppendLaunchKernel", address: ["phWaitEvents"] },

    "zeEventPoolCreate",
    "zeEventPoolDestroy",
    "zeEventCreate",
    "zeEventDestroy",
    "zeEventHostReset",
    "zeEventQueryStatus",
    "zeEventHostSynchronize",
    { name: "zeEventHostSynchronize", as: "zeEventHostSynchronizeAsync", nonblocking: true },

    "zeModuleCreate",
    "zeModuleDestroy",
    "zeModuleBuildLogGetString",
    "zeModuleBuildLogDestroy",
    "zeKernelCreate",
    "zeKernelDestroy",
    "zeKernelSetGroupSize",
    { name: "zeKernelSetArgumentValue", address: ["pArgValue"] },
  ],
  constants: [
    {
      type: "ze_structure_type_t",
      names: [
        ...STRUCTS.map((struct) => (typeof struct === "string" ? struct : struct.type))
          .filter((type) => !["ze_group_count_t", "ze_driver_extension_properties_t"].includes(type))
          .map((type) => `ZE_STRUCTURE_TYPE_${type.slice(3, -2).toUpperCase()}`),
      ],
    },
    { type: "ze_device_type_t", names: ["ZE_DEVICE_TYPE_*", "!ZE_DEVICE_TYPE_FORCE_UINT32"] },
    { type: "ze_memory_type_t", names: ["ZE_MEMORY_TYPE_*", "!ZE_MEMORY_TYPE_FORCE_UINT32"] },
    { type: "ze_memory_access_cap_flag_t", names: ["ZE_MEMORY_ACCESS_CAP_FLAG_RW"] },
    { type: "ze_external_memory_type_flag_t", names: ["ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF"] },
    { type: "ze_command_queue_mode_t", names: ["ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS"] },
    { type: "ze_command_queue_group_property_flag_t", names: ["ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE"] },
    { type: "ze_event_pool_flag_t", names: ["ZE_EVENT_POOL_FLAG_HOST_VISIBLE"] },
    { type: "ze_event_scope_flag_t", names: ["ZE_EVENT_SCOPE_FLAG_HOST", "ZE_EVENT_SCOPE_FLAG_DEVICE"] },
    { type: "ze_module_format_t", names: ["ZE_MODULE_FORMAT_IL_SPIRV"] },
  ],
  errors: { type: "ze_result_t", names: ["ZE_RESULT_*", "!ZE_RESULT_FORCE_UINT32"] },
  structs: STRUCTS,
};
