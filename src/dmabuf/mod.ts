/**
 * DMA-BUF: memory of the Linux kernel that devices, drivers and processes share by an fd.
 *
 * @module
 */
export {
  dmabuf,
  type DmaBufAllocation,
  DmaBufContext,
  type DmaBufFrameAllocation,
  type FrameDescription,
  type PlaneDescription,
} from "./context.ts";
export type { Allocator } from "./allocators.ts";
export { DmaBuf } from "./buffer.ts";
export { DmaBufTensor } from "./tensor.ts";
