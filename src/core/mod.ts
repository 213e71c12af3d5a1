/**
 * The core: it knows no API.
 *
 * @module
 */
export type { Access } from "./access.ts";
export { type AlignmentReport, type AlignmentRule, checkAlignment, VENDOR_RULES } from "./alignment.ts";
export type { Allocation, Block, Closed, Failure, Fate } from "./allocation.ts";
export { chain, type Link } from "./chain.ts";
export type { Context, DeviceId, Target } from "./context.ts";
export { type DType, type DTypeOf, type TypedArray, type TypedArrayConstructor, type TypedArrays } from "./dtype.ts";
export * from "./errors.ts";
export { Fence, type WaitOptions } from "./fence.ts";
export { Frame, type FrameInit, type PlacedPlane } from "./frame.ts";
export {
  type AudioInfo,
  type Colour,
  type FrameInfo,
  type ImageFormat,
  type ImageInfo,
  imageInfo,
  type ImageInit,
} from "./frame_info.ts";
export type { Grant, GrantState } from "./grant.ts";
export { Graph, type MapOptions, type TensorOf } from "./graph.ts";
export { isContiguous, type Layout, layout, type LayoutInit, region } from "./layout.ts";
export { Ledger, ledger } from "./ledger.ts";
export { Mapped, type MappedInit } from "./mapped.ts";
export { type ByteRange, Described, type DescribedPlane } from "./described.ts";
export type { MapJob, Mapper, Plan } from "./mapper.ts";
export { Metadata, type MetadataFields } from "./metadata.ts";
export { type GiveBack, Resource, type ResourceInit, type ResourceState } from "./resource.ts";
export { type Undo } from "./undo.ts";
export { Route, type Step, type Transfer } from "./route.ts";
export { type Part, type SliceOptions, Tensor, type TensorInit } from "./tensor.ts";
export { Views } from "./view.ts";
export type { Address } from "../../ffi/address.ts";
export type { brand, Branded } from "../../ffi/brand.ts";
