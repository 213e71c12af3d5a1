/**
 * The core: it knows no API.
 *
 * @module
 */
export type { Access } from "./memory/access.ts";
export { type AlignmentReport, type AlignmentRule, checkAlignment, VENDOR_RULES } from "./layout/alignment.ts";
export type { Allocation, Block, Closed, Failure, Fate } from "./memory/allocation.ts";
export { chain, type Link } from "./graph/chain.ts";
export type { DeviceId } from "./device/device_id.ts";
export type { OpenOn } from "./device/device_on.ts";
export { type Context, PermanentContext, PrintedTarget, type Target } from "./graph/context.ts";
export { DeviceContext } from "./graph/device_context.ts";
export {
  type DType,
  type DTypeOf,
  type TypedArray,
  type TypedArrayConstructor,
  type TypedArrays,
} from "./layout/dtype.ts";
export * from "./errors.ts";
export { Printed } from "./printed.ts";
export type { Call, Driver, Lane, LineEvents, Lines, Sync } from "./device/driver.ts";
export { Fence, type WaitOptions } from "./device/fence.ts";
export {
  type CommandOptions,
  type Commands,
  DeviceQueue,
  type HostBytes,
  type Movable,
  type Pixels,
  type TransferOptions,
  type Way,
} from "./device/queue.ts";
export type { Maker } from "./argument.ts";
export type { Checks } from "./checks.ts";
export type { Dimension, Runs } from "./layout/runs.ts";
export type { FillValue } from "./device/pattern.ts";
export type { Gate } from "./device/gate.ts";
export { Line, type LineInit, type Usable, type Use } from "./device/line.ts";
export type { Crossing, Exported, Imported, KnownObject, Memory, MemoryTarget, Offer } from "./device/memory.ts";
export type { ChannelKind, PixelFormat } from "./layout/pixel_formats.ts";
export type { PictureSize } from "./layout/pictures.ts";
export {
  type ExportedImage,
  type ImageBlock,
  type ImagePlane,
  ImagePort,
  type ImagePortInit,
  type Images,
  type ImportedImage,
} from "./device/image_port.ts";
export {
  type KnownMemory,
  type MemoryKind,
  Port,
  type PortInit,
  type SyncKind,
  type WholeMemory,
} from "./device/port.ts";
export {
  type HasLine,
  Semaphore,
  type SemaphoreExporter,
  SemaphoreIn,
  type SemaphoreOptions,
  type SemaphoreType,
} from "./device/semaphore.ts";
export { NativeFlag, type NativeFlagOptions } from "./device/native_flag.ts";
export { type NativeSemaphore, offerSemaphores, type SemaphoreMaker } from "./device/semaphores.ts";
export type { LineSync, SyncedLine } from "./device/line_sync.ts";
export type { SampleClass } from "./device/memory.ts";
export type { Work, WorkEntry } from "./device/work.ts";
export { Frame, type FrameInit, type FrameJson, type PlacedPlane } from "./tensors/frame.ts";
export {
  type AudioInfo,
  type Colour,
  type FrameInfo,
  type ImageInfo,
  imageInfo,
  type ImageInit,
  type PlanePlace,
} from "./layout/frame_info.ts";
export type { ImageFormat } from "./layout/pixel_formats.ts";
export type { Grant, GrantState } from "./memory/grant.ts";
export type { Placed, Ranges } from "./memory/ranges.ts";
export { Graph, type MapOf, type MapOptions, type TensorOf } from "./graph/graph.ts";
export { isContiguous, type Layout, layout, type LayoutInit, region } from "./layout/layout.ts";
export { Ledger, ledger } from "./life/ledger.ts";
export { traceForgotten } from "./life/origin.ts";
export { NativeObject } from "./life/native_object.ts";
export { Mapped, type MappedInit } from "./tensors/mapped.ts";
export { type ByteRange, Described, type DescribedPlane } from "./tensors/described.ts";
export type { MapJob, Mapper, Plan } from "./graph/mapper.ts";
export { MemoryClass, Proofs, type Verdict } from "./device/proofs.ts";
export { imageMapper } from "./graph/image_mapper.ts";
export { portMapper, portMappers } from "./graph/port_mapper.ts";
export { type AdoptedPlane, adoptFrame, type Adoption, adoptTensor, type FrameOwner } from "./tensors/adopt.ts";
export { allocateFrame, allocateTensor, importAs, type Received } from "./tensors/over.ts";
export { Metadata, type MetadataFields } from "./tensors/metadata.ts";
export { type GiveBack, Resource, type ResourceInit, type ResourceState } from "./life/resource.ts";
export { type Undo } from "./life/undo.ts";
export { Route, type RouteJson, type Step, type Transfer } from "./graph/route.ts";
export { type Part, type SliceOptions, Tensor, type TensorInit, type TensorJson } from "./tensors/tensor.ts";
export { TensorViews, Views } from "./memory/view.ts";
export type { Address } from "../../ffi/address.ts";
export type { brand, Branded } from "../../ffi/brand.ts";
