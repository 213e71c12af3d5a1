/**
 * For authors of backends, of mappers, and of tests of them. What a backend implements is in one file,
 * `src/core/contract.ts`; the rest is what helps to implement it: lines, ports, owners of memory, edges between two APIs.
 * These work without the checks that programs have. What programs hold is in the main entry point.
 *
 * @example Native objects that end together
 * ```ts
 * import { allOrNothing, owned, undoAll } from "@samepage/interop/backend";
 *
 * const undo = allOrNothing("opening a device", (undo) => { // a throw in here releases what was made before it
 *   owned("example.device", undo, () => console.log("device released"));
 *   owned("example.queue", undo, () => console.log("queue released"));
 *   return undo;
 * });
 * undoAll(undo, "closing the device"); // queue released, then device released
 * ```
 *
 * @module
 */

// What an API implements, in one file.
export type * from "./src/core/contract.ts";

// Work on a device.
export { type Lane, LANES, type WaitingLane, waitingLines } from "./src/core/device/lanes.ts";
export { codeError, type Codes } from "./src/core/native/codes.ts";
export { NativeFlag, type NativeFlagOptions } from "./src/core/device/native_flag.ts";
export { fenceOf, type ForeignWork } from "./src/core/device/foreign_work.ts";
export type { Gate } from "./src/core/device/fence.ts";
export { Line, type LineInit, type Usable, type Use } from "./src/core/device/line.ts";
export {
  type LineSync,
  type NativeSemaphore,
  offerSemaphores,
  type SemaphoreMaker,
  type SyncedLine,
} from "./src/core/device/line_sync.ts";
export type { Work, WorkEntry } from "./src/core/device/work.ts";
export { DeviceQueue, type Direction, type HostBytes, type Movable, type Pixels } from "./src/core/device/queue.ts";
export type { Launch } from "./src/core/device/grid.ts";
export { CompilerError, DeviceKernel, DeviceProgram } from "./src/core/device/program.ts";
export { assertFew, type Box, boxOf, type BoxPlace } from "./src/core/device/box.ts";
export {
  copyElements,
  countOf,
  type Dimension,
  placesOf,
  type Runs,
  runsBetween,
  runsOf,
} from "./src/core/layout/runs.ts";
export { patternIn } from "./src/core/device/pattern.ts";
export {
  type AnySemaphoreQueue,
  ForeignSemaphore,
  type ForeignSemaphoreInit,
  type ForeignSemaphoreKind,
  type ImportSemaphoreOptions,
  type SemaphoreCalls,
  type SemaphorePoint,
  SemaphoreQueue,
} from "./src/core/device/foreign_semaphore.ts";
export { type HasLine, type SemaphoreExporter, type SemaphoreType } from "./src/core/device/semaphore.ts";
export { MemoryClass, Proofs, type SampleClass, unseen, type Verdict, type Witness } from "./src/core/device/proofs.ts";

// Ports.
export type { KnownObject } from "./src/core/device/port.ts";
export {
  type ImageBlock,
  type ImagePlane,
  ImagePort,
  type ImagePortInit,
  type KnownMemory,
  type MemoryKind,
  type PortInit,
  type SyncKind,
  type WholeMemory,
} from "./src/core/device/port.ts";

// Contexts, targets, tensors and frames, as an API makes them.
export type { DeviceId } from "./src/core/device/device_id.ts";
export { contextOn, devicesOn, noDeviceOn, type Reported } from "./src/core/device/device_on.ts";
export { PermanentContext, PrintedTarget } from "./src/core/graph/context.ts";
export { DeviceContext } from "./src/core/graph/device_context.ts";
export { Printed } from "./src/core/printed.ts";
export {
  type AdoptedPlane,
  adoptFrame,
  type Adoption,
  adoptTensor,
  attaching,
  type FrameOwner,
} from "./src/core/tensors/adopt.ts";
export {
  allocateFrame,
  allocateTensor,
  importAs,
  type PlacedMemory,
  type Received,
  tensorOver,
} from "./src/core/tensors/over.ts";
export {
  type ForeignMemory,
  type ImageImport,
  importImage,
  importMemory,
  type MemoryImport,
} from "./src/core/tensors/foreign_memory.ts";
export type { FrameInit, FrameJson } from "./src/core/tensors/frame.ts";
export {
  type ByteRange,
  Described,
  type DescribedPlane,
  ownResource,
  PlacedPlane,
} from "./src/core/tensors/described.ts";
export type { FdFacts } from "./src/core/native/fd.ts";
export type { MappedInit } from "./src/core/tensors/mapped.ts";
export type { AddressedPlane, Part, TensorInit, TensorJson } from "./src/core/tensors/tensor.ts";
export { type PointerBlock, PointerMemory, PointerTensor } from "./src/core/tensors/pointer.ts";
export type { UsmAllocation, UsmKind } from "./src/core/tensors/unified.ts";
export { OneDeviceContext } from "./src/core/tensors/unified_context.ts";
export {
  type KernelOptions,
  type KernelQueue,
  UnifiedKernel,
  type UnifiedProgram,
} from "./src/core/tensors/unified_kernel.ts";
export { type PointerCalls, PointerCommands } from "./src/core/tensors/pointer_commands.ts";
export { UnifiedQueue, type UnifiedQueueContext } from "./src/core/tensors/unified_queue.ts";
export {
  type NativeContext,
  SharedContext,
  type UnifiedDeviceContext,
  UnifiedDeviceMemory,
  UnifiedTensor,
  type UnifiedTensors,
} from "./src/core/tensors/unified_device.ts";
export {
  closedTo,
  type Home,
  type OtherPorts,
  type PointerFacts,
  type UnifiedBlock,
  type UnifiedContext,
  UnifiedMemory,
  unifiedPorts,
} from "./src/core/tensors/unified.ts";
export type { HostAbilities, HostTensorInit } from "./src/host/tensor.ts";
export type { ChannelKind, PixelFormat, PixelsInfo, PlanePlace } from "./src/core/layout/frame_info.ts";
export type { PictureSize } from "./src/core/layout/pictures.ts";
export type { DTypeOf, TypedArrayConstructor, TypedArrays } from "./src/core/layout/dtype.ts";

// Owners of memory and of native objects, and their ends.
export { NativeObject } from "./src/core/life/native_object.ts";
export { type GiveBack, Resource, type ResourceInit, type ResourceState } from "./src/core/life/resource.ts";
export { allOrNothing, thenUndo, type Undo, undoAll, unwind } from "./src/core/life/undo.ts";
export { owned } from "./src/core/life/ledger.ts";
export { adopt, adoptHandle, own, type Owning } from "./src/core/memory/own.ts";
export { type Import, importFor } from "./src/core/memory/imports.ts";
export { SharedImport } from "./src/core/device/shared_import.ts";
export type { Place } from "./src/core/memory/peers.ts";
export {
  Allocation,
  type Block,
  type BlockOwner,
  type Closed,
  type Failure,
  type Fate,
  type OwnedBlock,
} from "./src/core/memory/allocation.ts";
export type { Grant, GrantState } from "./src/core/memory/grant.ts";
export type { Placed, Ranges } from "./src/core/memory/ranges.ts";
export { TensorViews, Views } from "./src/core/memory/view.ts";

// The C library.
export { errno, errnoError, type Hints, partOfLibc } from "./src/core/native/libc.ts";
export { createMemfd, type Memfd } from "./src/core/native/memfd.ts";

// Edges.
export type { MapJob, Mapper, ProbedStep } from "./src/core/graph/mapper.ts";
export type { TensorOf } from "./src/core/graph/graph.ts";
export type { RouteJson } from "./src/core/graph/route.ts";
export { chain, type ChainEdge } from "./src/core/graph/chain.ts";
export type { Takes } from "./src/core/device/takes.ts";
export { edgesOf, imageMapper, portMapper, portMappers } from "./src/core/graph/port_mapper.ts";

// What callers pass, and what went wrong.
export type { Maker } from "./src/core/argument.ts";
export { Checks } from "./src/core/checks.ts";
export { type ErrorFields, messageOf, ofArgument, type Reason, reasonOf, throwAll } from "./src/core/errors.ts";
export type { brand, Branded } from "./ffi/brand.ts";
