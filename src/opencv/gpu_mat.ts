import { type Address, NULL } from "../../ffi/address.ts";
import { CV_CN_MAX, MAT_CONTINUOUS_FLAG, MAT_MAGIC_VAL } from "../../ffi/opencv_core/constants.ts";
import { GpuMat, writeGpuMat } from "../../ffi/opencv_core/structs.ts";
import { object } from "../core/argument.ts";
import { type DType, sizeOf } from "../core/layout/dtype.ts";
import { type Layout, layout } from "../core/layout/layout.ts";
import { Mapped } from "../core/tensors/mapped.ts";
import { unfitError, wrong } from "./errors.ts";
import { isContinuous } from "./extents.ts";
import { MAX_INT } from "./type.ts";
import { int } from "./operations/values.ts";
import { addressIn } from "./memory.ts";
import { shapeOf } from "./shape.ts";
import { depthOf, DTYPE_NAMES, typeOf } from "./type.ts";

/** The fields of a {@link gpuMatHeader}. */
export interface GpuMatInit {
  /** The device address of the first element: a `CUdeviceptr`, which is not checked. */
  readonly pointer: bigint | Deno.PointerValue;
  /** The number of rows, at least 1. */
  readonly rows: number;
  /** The number of columns, at least 1. */
  readonly cols: number;
  /** The type of a channel. */
  readonly dtype: DType;
  /** The channels of an element; 1 by default, CV_CN_MAX (512) at most. */
  readonly channels?: number;
  /** Bytes from one row to the next; without gaps by default. */
  readonly step?: number;
  /**
   * The `GpuMat::Allocator*` of the program that will use the GpuMat (`cv::cuda::GpuMat::defaultAllocator()`). Without one
   * OpenCV cannot reallocate it: as an output it has to have the size and type of the result.
   */
  readonly allocator?: bigint | Deno.PointerValue;
}

/** The elements for a {@link gpuMatHeader}: a CUDA tensor, or any object with an address and a layout. */
export interface GpuMatOver {
  /** The device address of the first element, which is not checked. */
  readonly address: bigint;
  /** The layout of the elements: `[rows, columns]`, or `[rows, columns, channels]`, as with Mats. */
  readonly layout: Layout;
  /** See {@link GpuMatInit}. */
  readonly allocator?: bigint | Deno.PointerValue;
}

/**
 * The bytes of a `cv::cuda::GpuMat` over CUDA memory that OpenCV does not own, as `GpuMat(rows, cols, type, data, step)` makes
 * it. It is for programs whose OpenCV was built with CUDA, whose functions take the address of these bytes. samepage itself
 * makes no call, because Debian's OpenCV has no CUDA. The memory has to live as long as the GpuMat.
 *
 * @throws {LayoutError} for a dtype that OpenCV does not have, and a step that is too short or no multiple of an element.
 * @throws {ArgumentError} for any other wrong argument.
 *
 * @example
 * ```ts
 * import { gpuMatHeader } from "@samepage/interop/opencv";
 *
 * const header = gpuMatHeader({ pointer: 0x7f00_0000_0000n, rows: 480, cols: 640, dtype: "u8", channels: 3, step: 2048 });
 * const pointer = Deno.UnsafePointer.of(header); // a const cv::cuda::GpuMat *
 * console.log(header.length, pointer !== null); // 64 true
 * ```
 */
export function gpuMatHeader(init: GpuMatInit): Uint8Array<ArrayBuffer>;
/**
 * The bytes of a `cv::cuda::GpuMat` over a tensor, or any object with an address and a layout: rows, columns, type and step
 * follow from the layout by the rule of Mats.
 *
 * @throws {LayoutError} for a layout that no GpuMat can have: more than two dimensions, besides channels, rows that
 * overlap, gaps within a row, a dtype that OpenCV does not have.
 * @throws {ArgumentError} for an invalid address.
 *
 * @example
 * ```ts ignore
 * import { CudaContext } from "@samepage/interop/cuda";
 * import { gpuMatHeader } from "@samepage/interop/opencv";
 *
 * using cuda = CudaContext.open();
 * using image = cuda.allocate({ shape: [480, 640, 3], dtype: "u8", pitch: true });
 * const header = gpuMatHeader(image); // of CV_8UC3, over the image's own bytes
 * const pointer = Deno.UnsafePointer.of(header); // a const cv::cuda::GpuMat *
 * ```
 */
export function gpuMatHeader(over: GpuMatOver): Uint8Array<ArrayBuffer>;
export function gpuMatHeader(given: GpuMatInit | GpuMatOver): Uint8Array<ArrayBuffer> {
  return "layout" in object(given, "init") ? overLayout(given as GpuMatOver) : ofParts(given as GpuMatInit);
}

function ofParts(init: GpuMatInit): Uint8Array<ArrayBuffer> {
  const { pointer, rows: givenRows, cols: givenCols, dtype, channels = 1, step, allocator } = init;
  const [rows, cols] = [int(givenRows, "rows", 1, MAX_INT), int(givenCols, "cols", 1, MAX_INT)];
  const depth = typeof dtype === "string" ? depthOf(dtype) : undefined;
  if (depth === undefined) throw unfitError({ argument: "dtype", problem: `a GpuMat holds ${DTYPE_NAMES}.` });
  const type = typeOf(depth, int(channels, "channels", 1, CV_CN_MAX));
  const element = sizeOf(dtype) * channels;
  const stride = strideOf(step, rows, cols * element, sizeOf(dtype));
  return header(
    { rows, cols, type, element, stride, data: addressIn(pointer, "pointer"), argument: "pointer" },
    allocator,
  );
}

function overLayout(over: GpuMatOver): Uint8Array<ArrayBuffer> {
  if (over instanceof Mapped && over.target.context.api !== "cuda") {
    const hint = "Map it to a device first: graph.map(tensor, cuda).";
    throw wrong("init", `a CUDA device cannot reach ${over.name}.`, hint);
  }
  const { address, layout: at, allocator } = over;
  const shape = shapeOf(layout(at));
  if ("problem" in shape) throw unfitError(shape);
  const { type, sizes, steps } = shape;
  if (sizes.length > 2) {
    throw unfitError({ argument: "shape", problem: `expected two dimensions, got ${sizes.length}.` });
  }
  const [[rows, cols], [stride, element]] = [sizes, steps];
  const data = addressIn(address, "address");
  return header({ rows, cols, type, element, stride, data, argument: "address" }, allocator);
}

interface Said {
  readonly rows: number;
  readonly cols: number;
  readonly type: number;
  readonly element: number;
  readonly stride: number;
  readonly data: Address;
  readonly argument: string;
}

function header(
  { rows, cols, type, element, stride, data, argument }: Said,
  allocator: GpuMatInit["allocator"],
): Uint8Array<ArrayBuffer> {
  const end = data + BigInt(stride * (rows - 1) + cols * element);
  if (end > 2n ** 64n) {
    throw wrong(argument, `the GpuMat at 0x${data.toString(16)} reaches past the end of the address space.`);
  }
  const bytes = new Uint8Array(GpuMat.size);
  writeGpuMat(new DataView(bytes.buffer), 0, {
    flags: MAT_MAGIC_VAL | type | (isContinuous(type, [rows, cols], [stride, element]) ? MAT_CONTINUOUS_FLAG : 0),
    rows,
    cols,
    step: BigInt(stride),
    data,
    refcount: NULL,
    datastart: data,
    dataend: end as Address,
    allocator: allocator === undefined ? NULL : addressIn(allocator, "allocator"),
  });
  return bytes;
}

/** The step. For a single row OpenCV takes its length, whatever the stride. */
function strideOf(given: number | undefined, rows: number, row: number, size: number): number {
  if (given === undefined) return inRange(row, rows);
  const step = int(given, "step", 1, Number.MAX_SAFE_INTEGER);
  if (step < row) {
    throw unfitError({ argument: "step", problem: `expected at least ${row}, the bytes of a row, got ${step}.` });
  }
  if (step % size !== 0) {
    throw unfitError({
      argument: "step",
      problem: `expected a multiple of the ${size} bytes of a channel, got ${step}.`,
    });
  }
  return rows === 1 ? row : inRange(step, rows);
}

function inRange(step: number, rows: number): number {
  if (Number.isSafeInteger(step * rows)) return step;
  throw unfitError({ argument: "step", problem: `${rows} rows of ${step} bytes are more than 2^53 bytes.` });
}
