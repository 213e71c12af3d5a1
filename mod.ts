/**
 * Zero-copy memory interop: one block of memory, seen by every API without moving a byte.
 *
 * @module
 */
import type { Context } from "./src/core/graph/context.ts";
import { Graph } from "./src/core/graph/graph.ts";
import type { Mapper } from "./src/core/graph/mapper.ts";
import { edgesOf } from "./src/core/graph/port_mapper.ts";

// What programs hold of the core, which knows no API. What backends are made of is in backend.ts.
export type { Address } from "./ffi/address.ts";
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
} from "./src/core/errors.ts";
export { Fence, type WaitOptions } from "./src/core/device/fence.ts";
export type { OpenOn } from "./src/core/device/device_on.ts";
export { Port } from "./src/core/device/port.ts";
export type { CommandOptions, TransferOptions } from "./src/core/device/queue.ts";
export type { FillValue } from "./src/core/device/pattern.ts";
export { Semaphore, SemaphoreIn, type SemaphoreOptions } from "./src/core/device/semaphore.ts";
export type { Context, Target } from "./src/core/graph/context.ts";
export { Graph, type MapOf, type MapOptions } from "./src/core/graph/graph.ts";
export { Route, type Step, type Transfer } from "./src/core/graph/route.ts";
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
} from "./src/core/layout/layout.ts";
export type { DType, TypedArray } from "./src/core/layout/dtype.ts";
export {
  type AudioInfo,
  type Colour,
  type FrameInfo,
  type ImageFormat,
  type ImageInfo,
  imageInfo,
  type ImageInit,
} from "./src/core/layout/frame_info.ts";
export { Ledger, ledger } from "./src/core/life/ledger.ts";
export { traceForgotten } from "./src/core/life/finalizers.ts";
export type { Access } from "./src/core/memory/access.ts";
export { Frame } from "./src/core/tensors/frame.ts";
export { Mapped } from "./src/core/tensors/mapped.ts";
export { Metadata, type MetadataFields, type Region } from "./src/core/tensors/metadata.ts";
export { type SliceOptions, Tensor } from "./src/core/tensors/tensor.ts";
export * from "./src/host/mod.ts";

/**
 * Contexts and every edge between them that samepage knows.
 *
 * @example
 * ```ts
 * import { host, MapperGraph } from "@samepage/interop";
 *
 * using graph = new MapperGraph([host]);
 * using tensor = host.allocate({ shape: [16], dtype: "u8" });
 * using again = graph.map(tensor, host, { access: "read" });
 * console.log(again.view().length); // 16
 * ```
 */
export class MapperGraph extends Graph {
  /**
   * A graph over these contexts, which stay yours. Its edges are those that the contexts bring, and one wherever a kind of
   * memory imports what another exports; `mappers` puts others in their place.
   */
  constructor(contexts: Iterable<Context>, mappers?: Iterable<Mapper>) {
    super(contexts, mappers === undefined ? (all) => edgesOf(all) : mappers);
  }
}
