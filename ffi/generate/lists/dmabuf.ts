import type { Library } from "../library.ts";

/** DMA-BUF, as the kernel's headers have it: ioctls of buffers, of the nodes that make them, and of sync files. */
export const dmabuf: Library = {
  name: "dmabuf",
  interface: "DmaBufKernel",
  headers: [
    "fcntl.h",
    "poll.h",
    "sys/ioctl.h",
    "sys/stat.h",
    "linux/dma-buf.h",
    "linux/dma-heap.h",
    "linux/sync_file.h",
    "linux/udmabuf.h",
    // The kernel's own, which Debian ships with libdrm:
    "libdrm/drm.h",
    "libdrm/drm_fourcc.h",
  ],
  defines: { _GNU_SOURCE: "" },
  functions: [
    { name: "ioctl", variadic: { arg: "void *" } },
    "poll",
  ],
  constants: [
    {
      type: "unsigned long",
      names: [
        "DMA_BUF_IOCTL_EXPORT_SYNC_FILE",
        "DMA_BUF_IOCTL_IMPORT_SYNC_FILE",
        "DMA_HEAP_IOCTL_ALLOC",
        "UDMABUF_CREATE",
        "SYNC_IOC_MERGE",
        "DRM_IOCTL_MODE_CREATE_DUMB",
        "DRM_IOCTL_MODE_DESTROY_DUMB",
        "DRM_IOCTL_PRIME_HANDLE_TO_FD",
      ],
    },
    { type: "unsigned long long", names: ["DMA_BUF_SYNC_READ", "DMA_BUF_SYNC_WRITE", "DMA_BUF_SYNC_END"] },
    { type: "unsigned int", names: ["UDMABUF_FLAGS_CLOEXEC"] },
    { type: "int", names: ["O_RDWR", "POLLIN", "POLLOUT", "POLLERR", "POLLNVAL"] },
    {
      type: "uint64_t",
      names: [
        "DRM_FORMAT_MOD_LINEAR",
        "DRM_FORMAT_MOD_INVALID",
        "I915_FORMAT_MOD_*TILED*",
        "DRM_FORMAT_MOD_SAMSUNG_*TILE",
        "DRM_FORMAT_MOD_QCOM_*",
        "DRM_FORMAT_MOD_VIVANTE_*TILED",
        "DRM_FORMAT_MOD_NVIDIA_TEGRA_TILED",
        "DRM_FORMAT_MOD_BROADCOM_VC4_T_TILED",
        "DRM_FORMAT_MOD_ALLWINNER_TILED",
      ],
    },
    { type: "unsigned char", names: ["DRM_FORMAT_MOD_VENDOR_*"] },
  ],
  structs: [
    "struct dma_buf_export_sync_file",
    "struct dma_buf_import_sync_file",
    "struct dma_heap_allocation_data",
    "struct udmabuf_create",
    { type: "struct sync_merge_data", fields: ["fd2", "fence"] },
    "struct drm_mode_create_dumb",
    "struct drm_mode_destroy_dumb",
    "struct drm_prime_handle",
    "struct pollfd",
  ],
};
