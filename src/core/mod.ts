/**
 * What programs hold of the core, which knows no API. What backends are made of is in backend.ts.
 *
 * @module
 */
export type { Address } from "../../ffi/address.ts";
export {
  AccessError,
  ArgumentError,
  DisposedError,
  InteropError,
  LayoutError,
  type LibraryAttempt,
  LibraryNotFoundError,
  NativeCallError,
  NoRouteError,
  PermissionError,
  type Refusal,
} from "./errors.ts";
export { Fence, type WaitOptions } from "./device/fence.ts";
export type { OpenOn } from "./device/device_on.ts";
export { Port } from "./device/port.ts";
export type { CommandOptions, TransferOptions } from "./device/queue.ts";
export type { FillValue } from "./device/pattern.ts";
export { Semaphore, SemaphoreIn, type SemaphoreOptions } from "./device/semaphore.ts";
export type { Context, Target } from "./graph/context.ts";
export { Graph, type MapOf, type MapOptions } from "./graph/graph.ts";
export { Route, type Step, type Transfer } from "./graph/route.ts";
export {
  type AlignmentReport,
  type AlignmentRule,
  checkAlignment,
  isContiguous,
  type Layout,
  layout,
  type LayoutInit,
  region,
  VENDOR_RULES,
} from "./layout/layout.ts";
export type { DType, TypedArray } from "./layout/dtype.ts";
export {
  type AudioInfo,
  type Colour,
  type FrameInfo,
  type ImageFormat,
  type ImageInfo,
  imageInfo,
  type ImageInit,
} from "./layout/frame_info.ts";
export { Ledger, ledger } from "./life/ledger.ts";
export { traceForgotten } from "./life/finalizers.ts";
export type { Access } from "./memory/access.ts";
export { Frame } from "./tensors/frame.ts";
export { Mapped } from "./tensors/mapped.ts";
export { Metadata, type MetadataFields } from "./tensors/metadata.ts";
export { type SliceOptions, Tensor } from "./tensors/tensor.ts";
