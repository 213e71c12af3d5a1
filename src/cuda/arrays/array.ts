import {
  cudaArrayDefault,
  cudaArrayLayered,
  cudaArraySurfaceLoadStore,
  cudaResourceTypeArray,
} from "../../../ffi/cuda_runtime/constants.ts";
import type { CudaArray as ArrayHandle } from "../../../ffi/cuda_runtime/handles.ts";
import { cudaChannelFormatDesc, cudaExtent, cudaResourceDesc } from "../../../ffi/cuda_runtime/structs.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Line, Usable } from "../../core/device/line.ts";
import type { Work } from "../../core/device/work.ts";
import { AccessError } from "../../core/errors.ts";
import { type Access, writes } from "../../core/memory/access.ts";
import type { Grant } from "../../core/memory/grant.ts";
import { whole } from "../../core/layout/layout.ts";
import { finalizers } from "../../core/life/finalizers.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import type { Undo } from "../../core/life/undo.ts";
import { checks } from "../check.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check, checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import { owned } from "../primary_context.ts";
import { type ArrayExtent, assertWithin, extentBytes, extentIn } from "./extent.ts";
import { assertFormat, type CudaArrayDType, formatBytes, formatIn } from "./format.ts";
import { CudaSurface } from "./over_array.ts";
import { CudaTexture, type TextureOptions } from "./texture.ts";

/** Options of {@link CudaContext.array}. */
export interface CudaArrayInit {
  /** Elements in a row. */
  readonly width: number;
  /** Rows. An array without has one dimension. */
  readonly height?: number;
  /** Slices of rows. An array without has one or two dimensions. */
  readonly depth?: number;
  /** Channels of an element: 1, 2 or 4; 1 by default. */
  readonly channels?: 1 | 2 | 4;
  /** The type of a channel, of 8, 16 or 32 bits. */
  readonly dtype: CudaArrayDType;
  /** True if kernels can write it by a surface (cudaArraySurfaceLoadStore). True by default. */
  readonly surface?: boolean;
}

const NAMES: Names<CudaArrayInit> = {
  width: true,
  height: true,
  depth: true,
  channels: true,
  dtype: true,
  surface: true,
};

interface Made {
  readonly handle: ArrayHandle;
  readonly extent: ArrayExtent;
  readonly channels: number;
  readonly dtype: CudaArrayDType;
  readonly writable: boolean;
  readonly layered: boolean;
  /** Frees the handle; empty if its owner does that. */
  readonly undo: Undo;
  /** The object that owns the pixels, if the array only shows them. */
  readonly owner?: Usable;
}

/**
 * Device memory in an order for texture units; kernels access it through textures and surfaces. Only the driver knows its
 * layout, so it is not a tensor. Streams copy it to and from tensors.
 *
 * A kernel gets the `handle` of a texture or surface. Declare its use of the array with `usedBy`.
 */
export class CudaArray extends NativeObject {
  /** Its context. */
  readonly context: CudaPrimaryContext;
  /** Its end of life: textures and surfaces end first. */
  readonly resource: Resource;
  /** Its size; a missing dimension is 0. */
  readonly extent: ArrayExtent;
  /** Channels of an element. */
  readonly channels: number;
  /** The type of a channel. */
  readonly dtype: CudaArrayDType;
  /** True if kernels can write it. */
  readonly writable: boolean;
  /** True if its slices are layers, as another API's image may have: kernels reach them by `tex2DLayered`. */
  readonly layered: boolean;
  readonly #handle: ArrayHandle;
  /** The object that owns the pixels: uses of the array are uses of that. */
  readonly #owner: Usable | undefined;
  /** The name of its current reader, during which nothing may write it. */
  #reader: string | undefined;

  private constructor(context: CudaPrimaryContext, made: Made) {
    super();
    this.context = context;
    this.extent = Object.freeze(made.extent);
    this.channels = made.channels;
    this.dtype = made.dtype;
    this.writable = made.writable;
    this.layered = made.layered;
    this.#handle = made.handle;
    this.#owner = made.owner;
    const name = `cuda array [${this.shape.join(",")}] ${made.dtype}`;
    this.resource = made.owner?.resource ?? new Resource({ name, owners: [context.resource], undo: made.undo });
    if (made.owner === undefined) finalizers.register(this, this.resource, this);
  }

  /** Allocates an array: `cuda.array()`. */
  static allocate(context: CudaPrimaryContext, init: CudaArrayInit): CudaArray {
    const { width, height, depth, channels = 1, dtype, surface = true } = optionsIn(init, NAMES, "init");
    assertFormat(dtype, channels);
    checks.assertBoolean(surface, "surface");
    if (depth !== undefined && height === undefined) throw checks.wrong("depth", "slices have a height.");
    const extent = {
      width: whole(width, "width", 1),
      height: height === undefined ? 0 : whole(height, "height", 1),
      depth: depth === undefined ? 0 : whole(depth, "depth", 1),
    };
    assertWithin(extent, { surface }, context.device);
    context.resource.assertLive();
    const undo: Undo = [];
    const flags = surface ? cudaArraySurfaceLoadStore : cudaArrayDefault;
    const handle = createArray(context, formatBytes({ dtype, channels }), extentBytes(extent), flags, undo);
    return new CudaArray(context, { handle, extent, channels, dtype, writable: surface, layered: false, undo });
  }

  /**
   * An array over another object's pixels, such as another API's image, whose format and size the driver reports. It shares
   * the object's uses and its end. For mappers.
   *
   * @param access the access of kernels, which the driver may restrict
   * @throws {InteropError} if its elements are not of a {@link CudaArrayDType}, or have three channels.
   */
  static over(
    context: CudaPrimaryContext,
    handle: ArrayHandle,
    owner: Usable,
    access: Access = "read-write",
  ): CudaArray {
    const { extent, flags, ...format } = infoOf(context, handle);
    const writable = writes(access) && (flags & cudaArraySurfaceLoadStore) !== 0;
    const layered = (flags & cudaArrayLayered) !== 0;
    return new CudaArray(context, { handle, extent, ...format, writable, layered, owner, undo: [] });
  }

  /** The work in flight on it, and on its owner. For mappers. */
  override get works(): readonly Work[] {
    return this.#owner?.works ?? super.works;
  }

  /** True if a line can use it at once. For mappers. */
  override isReadyFor(line: Line, access: Access = "read"): boolean {
    if (this.#reader !== undefined && writes(access)) return false;
    return this.#owner?.isReadyFor(line, access) ?? super.isReadyFor(line);
  }

  /** Throws if an access is not allowed now. For mappers. @see {@link Usable.usable} */
  override usable(access: Access = "read"): readonly Grant[] {
    const returning = this.#owner?.usable(access) ?? super.usable();
    if (this.#reader === undefined || !writes(access)) return returning;
    throw new AccessError(`${this.resource.name} cannot be used for "${access}": it is lent to ${this.#reader}.`, {
      ...{ api: "cuda", argument: "array", hint: "Wait until it has come back." },
    });
  }

  /** Lends it for reading: nothing may write it until the returned function is called. For mappers. */
  lendTo(reader: string): () => void {
    this.usable();
    this.#reader = reader;
    return () => void (this.#reader = undefined);
  }

  /** Revokes the views of its owner. For mappers. */
  override revokeViews(access: Access = "read"): void {
    this.#owner?.revokeViews(access);
  }

  /** The shape of tensors for copies: slices, rows, elements, channels. */
  get shape(): readonly number[] {
    const { width, height, depth } = this.extent;
    return [depth, height, width].filter((size) => size > 0).concat(this.channels);
  }

  /** The `cudaArray_t`. */
  get handle(): ArrayHandle {
    this.resource.assertLive();
    return this.#handle;
  }

  /** The `cudaArray_t`, without a check that the array lives. For mappers. */
  get rawHandle(): ArrayHandle {
    return this.#handle;
  }

  /**
   * A texture over it, to read it at fractional coordinates and beyond its edges.
   *
   * @throws {ArgumentError} for options that exclude each other.
   */
  texture(options: TextureOptions = {}): CudaTexture {
    return new CudaTexture(this, options);
  }

  /** A surface over it, to read and write its elements. @throws {ArgumentError} unless it is {@link writable}. */
  surface(): CudaSurface {
    return new CudaSurface(this);
  }

  /** Declares work on it that samepage did not submit: its dispose, and copies, wait for the fence. */
  usedBy(fence: Fence): void {
    this.resource.usedBy(fence);
  }

  /** A `struct cudaResourceDesc` of it, for textures and surfaces. */
  describe(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(cudaResourceDesc.size);
    const view = new DataView(bytes.buffer);
    const { resType, array_array } = cudaResourceDesc.fields;
    view.setUint32(resType.offset, cudaResourceTypeArray, true);
    view.setBigUint64(array_array.offset, this.handle, true);
    return bytes;
  }
}

function infoOf(context: CudaPrimaryContext, handle: ArrayHandle) {
  const [format, extent, flags] = [cudaChannelFormatDesc.size, cudaExtent.size, 4].map((size) => new Uint8Array(size));
  const fn = "cudaArrayGetInfo";
  context.within(() => check(cudart()[fn](format, extent, flags, handle), fn));
  return { extent: extentIn(extent), flags: new DataView(flags.buffer).getUint32(0, true), ...formatIn(format) };
}

function createArray(
  context: CudaPrimaryContext,
  format: Uint8Array<ArrayBuffer>,
  extent: Uint8Array<ArrayBuffer>,
  flags: number,
  undo: Undo,
): ArrayHandle {
  const out = new BigUint64Array(1);
  context.within(() => check(cudart().cudaMalloc3DArray(out, format, extent, flags), "cudaMalloc3DArray"));
  const handle = out[0] as ArrayHandle;
  owned(context, "cuda.cudaArray_t", undo, () => checkRelease(cudart().cudaFreeArray(handle), "cudaFreeArray"));
  return handle;
}
