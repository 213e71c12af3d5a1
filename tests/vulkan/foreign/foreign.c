// A program's own Vulkan code, which is not samepage: the other side of the tests of other code's fds. It makes a buffer
// of words, an image and semaphores, exports each by an opaque fd, and fills the memory between a wait and a signal.
// Every function returns below zero, the number of the line, where Vulkan refuses.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define TRY(call) do { if ((call) != VK_SUCCESS) return -__LINE__; } while (0)

enum { SEMAPHORES = 4 };

typedef struct {
  VkInstance instance;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue;
  VkCommandPool pool;
  VkBuffer buffer;
  VkImage image;
  VkDeviceMemory memory[2];
  VkSemaphore semaphores[SEMAPHORES];
  int is_timeline[SEMAPHORES];
  uint32_t semaphore_count;
  // What the newest exported memory was made with.
  uint64_t size;
  uint32_t type;
} Foreign;

static int has_extension(VkPhysicalDevice physical, const char *name) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
  VkExtensionProperties *all = calloc(count, sizeof *all);
  vkEnumerateDeviceExtensionProperties(physical, NULL, &count, all);
  int found = 0;
  for (uint32_t i = 0; i < count; i++) found |= strcmp(all[i].extensionName, name) == 0;
  free(all);
  return found;
}

static int open_device(Foreign *f, const uint8_t *uuid) {
  VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2 };
  VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app };
  TRY(vkCreateInstance(&info, NULL, &f->instance));
  VkPhysicalDevice all[16];
  uint32_t count = 16;
  vkEnumeratePhysicalDevices(f->instance, &count, all);
  for (uint32_t i = 0; i < count; i++) {
    VkPhysicalDeviceIDProperties id = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES };
    VkPhysicalDeviceProperties2 properties = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id };
    vkGetPhysicalDeviceProperties2(all[i], &properties);
    if (memcmp(id.deviceUUID, uuid, VK_UUID_SIZE) == 0) f->physical = all[i];
  }
  if (f->physical == NULL) return -__LINE__;
  const char *extensions[2] = { "VK_KHR_external_memory_fd", "VK_KHR_external_semaphore_fd" };
  float priority = 1;
  VkDeviceQueueCreateInfo queue = {
    .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority,
  };
  VkPhysicalDeviceVulkan12Features features = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE,
  };
  VkDeviceCreateInfo device = {
    .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features,
    .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue,
    .enabledExtensionCount = has_extension(f->physical, extensions[1]) ? 2 : 1, .ppEnabledExtensionNames = extensions,
  };
  TRY(vkCreateDevice(f->physical, &device, NULL, &f->device));
  vkGetDeviceQueue(f->device, 0, 0, &f->queue);
  VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO };
  TRY(vkCreateCommandPool(f->device, &pool, NULL, &f->pool));
  return 0;
}

void foreign_close(Foreign *f) {
  if (f->device != NULL) {
    vkDeviceWaitIdle(f->device);
    for (uint32_t i = 0; i < f->semaphore_count; i++) vkDestroySemaphore(f->device, f->semaphores[i], NULL);
    vkDestroyBuffer(f->device, f->buffer, NULL);
    vkDestroyImage(f->device, f->image, NULL);
    for (int i = 0; i < 2; i++) vkFreeMemory(f->device, f->memory[i], NULL);
    vkDestroyCommandPool(f->device, f->pool, NULL);
    vkDestroyDevice(f->device, NULL);
  }
  if (f->instance != NULL) vkDestroyInstance(f->instance, NULL);
  free(f);
}

// NULL where there is no such device.
Foreign *foreign_open(const uint8_t *uuid) {
  Foreign *f = calloc(1, sizeof *f);
  if (open_device(f, uuid) == 0) return f;
  foreign_close(f);
  return NULL;
}

// New memory, exported; a dedicated one is for the buffer or image of `dedicated`.
static int exported(Foreign *f, VkMemoryRequirements needs, VkMemoryDedicatedAllocateInfo *dedicated, VkDeviceMemory *memory) {
  VkPhysicalDeviceMemoryProperties types;
  vkGetPhysicalDeviceMemoryProperties(f->physical, &types);
  uint32_t type = 0;
  while (!(needs.memoryTypeBits & 1u << type)
    || !(types.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)) type++;
  VkExportMemoryAllocateInfo export = {
    .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .pNext = dedicated,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  VkMemoryAllocateInfo info = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &export,
    .allocationSize = needs.size, .memoryTypeIndex = type,
  };
  TRY(vkAllocateMemory(f->device, &info, NULL, memory));
  f->size = needs.size;
  f->type = type;
  PFN_vkGetMemoryFdKHR get = (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(f->device, "vkGetMemoryFdKHR");
  VkMemoryGetFdInfoKHR fd_info = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = *memory,
    .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  int fd = -1;
  TRY(get(f->device, &fd_info, &fd));
  return fd;
}

uint64_t foreign_size(const Foreign *f) { return f->size; }
uint32_t foreign_type(const Foreign *f) { return f->type; }

// A buffer's memory: an fd that the caller owns.
int foreign_buffer(Foreign *f, uint64_t byte_length) {
  VkExternalMemoryBufferCreateInfo external = {
    .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  VkBufferCreateInfo info = {
    .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = &external, .size = byte_length,
    .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
  };
  TRY(vkCreateBuffer(f->device, &info, NULL, &f->buffer));
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(f->device, f->buffer, &needs);
  int fd = exported(f, needs, NULL, &f->memory[0]);
  if (fd >= 0) TRY(vkBindBufferMemory(f->device, f->buffer, f->memory[0], 0));
  return fd;
}

// The memory of an image of RGBA bytes, dedicated to it, in the driver's own order.
int foreign_image(Foreign *f, uint32_t width, uint32_t height) {
  VkExternalMemoryImageCreateInfo external = {
    .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  VkImageCreateInfo info = {
    .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .pNext = &external, .imageType = VK_IMAGE_TYPE_2D,
    .format = VK_FORMAT_R8G8B8A8_UNORM, .extent = { width, height, 1 }, .mipLevels = 1, .arrayLayers = 1,
    .samples = VK_SAMPLE_COUNT_1_BIT, .tiling = VK_IMAGE_TILING_OPTIMAL,
    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_STORAGE_BIT
      | VK_IMAGE_USAGE_SAMPLED_BIT,
  };
  TRY(vkCreateImage(f->device, &info, NULL, &f->image));
  VkMemoryRequirements needs;
  vkGetImageMemoryRequirements(f->device, f->image, &needs);
  VkMemoryDedicatedAllocateInfo dedicated = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = f->image,
  };
  int fd = exported(f, needs, &dedicated, &f->memory[1]);
  if (fd >= 0) TRY(vkBindImageMemory(f->device, f->image, f->memory[1], 0));
  return fd;
}

// A semaphore: an fd that the caller owns. They count from 0, in the order in which they are made.
int foreign_semaphore(Foreign *f, int is_timeline) {
  if (f->semaphore_count == SEMAPHORES) return -__LINE__;
  VkSemaphoreTypeCreateInfo type = {
    .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
    .semaphoreType = is_timeline ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY,
  };
  VkExportSemaphoreCreateInfo export = {
    .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO, .pNext = &type,
    .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &export };
  VkSemaphore *semaphore = &f->semaphores[f->semaphore_count];
  TRY(vkCreateSemaphore(f->device, &info, NULL, semaphore));
  f->is_timeline[f->semaphore_count++] = is_timeline;
  PFN_vkGetSemaphoreFdKHR get = (PFN_vkGetSemaphoreFdKHR)vkGetDeviceProcAddr(f->device, "vkGetSemaphoreFdKHR");
  if (get == NULL) return -__LINE__;
  VkSemaphoreGetFdInfoKHR fd_info = {
    .sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, .semaphore = *semaphore,
    .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
  };
  int fd = -1;
  TRY(get(f->device, &fd_info, &fd));
  return fd;
}

// Fills the buffer with a word, and the image, where there is one, with its lowest byte. It waits for a semaphore first
// and signals one behind it: their numbers, or -1. The host waits where it signals none.
int foreign_fill(Foreign *f, uint32_t word, int waits, uint64_t wait_value, int signals, uint64_t signal_value) {
  VkCommandBufferAllocateInfo allocate = {
    .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = f->pool, .commandBufferCount = 1,
  };
  VkCommandBuffer commands;
  TRY(vkAllocateCommandBuffers(f->device, &allocate, &commands));
  VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
  TRY(vkBeginCommandBuffer(commands, &begin));
  if (f->buffer != NULL) vkCmdFillBuffer(commands, f->buffer, 0, VK_WHOLE_SIZE, word);
  if (f->image != NULL) {
    VkImageSubresourceRange all = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 };
    VkImageMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER, .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
      .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED, .newLayout = VK_IMAGE_LAYOUT_GENERAL, .image = f->image,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED, .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .subresourceRange = all,
    };
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    vkCmdPipelineBarrier(commands, stage, stage, 0, 0, NULL, 0, NULL, 1, &barrier);
    float value = (float)(word & 255) / 255;
    VkClearColorValue colour = { .float32 = { value, value, value, value } };
    vkCmdClearColorImage(commands, f->image, VK_IMAGE_LAYOUT_GENERAL, &colour, 1, &all);
  }
  TRY(vkEndCommandBuffer(commands));
  VkTimelineSemaphoreSubmitInfo values = {
    .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
    .waitSemaphoreValueCount = waits >= 0, .pWaitSemaphoreValues = &wait_value,
    .signalSemaphoreValueCount = signals >= 0, .pSignalSemaphoreValues = &signal_value,
  };
  VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkSubmitInfo submit = {
    .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values, .pWaitDstStageMask = &stage,
    .waitSemaphoreCount = waits >= 0, .pWaitSemaphores = waits < 0 ? NULL : &f->semaphores[waits],
    .commandBufferCount = 1, .pCommandBuffers = &commands,
    .signalSemaphoreCount = signals >= 0, .pSignalSemaphores = signals < 0 ? NULL : &f->semaphores[signals],
  };
  TRY(vkQueueSubmit(f->queue, 1, &submit, VK_NULL_HANDLE));
  if (signals < 0) TRY(vkQueueWaitIdle(f->queue));
  return 0;
}
