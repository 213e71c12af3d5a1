import type { Memory } from "../../core/contract.ts";
import type { Target } from "../../core/graph/context.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import type { Grant } from "../../core/memory/grant.ts";
import type { Names } from "../../core/argument.ts";
import { type Layout, layoutIn, type LayoutInit } from "../../core/layout/layout.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import type { Resource } from "../../core/life/resource.ts";
import type { Undo } from "../../core/life/undo.ts";
import { ChannelTarget } from "../channel_target.ts";
import { unfitError } from "../errors.ts";
import { MAX_INT } from "../type.ts";
import { attaching, type AttachOptions } from "../../core/tensors/adopt.ts";
import { type MatShape, shapeOf, type Unfit } from "../shape.ts";
import type { Slot } from "../slots.ts";
import { OpenCVUMat, type UMatBuffer, type UMatPlace } from "../umat.ts";
import { type UMatInit, type UMatOver, umatOver } from "./over.ts";
import { attachedUMat, createdUMat, resultIn } from "./own.ts";

/** The UMat for {@link UMatTarget.create}. OpenCV chooses the step of its rows. */
export type UMatShape = Pick<LayoutInit, "shape" | "dtype">;

const NAMES: Names<UMatShape> = { shape: true, dtype: true };

/** UMats as a target of the graph. Made by the context: `cv.umat`, `cv.umatOf({ channels })`. */
export class UMatTarget extends ChannelTarget implements Target<OpenCVUMat> {
  /** The kind of memory. */
  readonly kind = "opencv.umat";
  /** A frame becomes one UMat for each plane. Its edges are not made from ports. */
  readonly ports: Memory<OpenCVUMat> = { exports: [], imports: [], byPlane: true };
  /** True for its tensors. */
  is(value: Mapped): value is OpenCVUMat {
    return value instanceof OpenCVUMat && value.target === this;
  }

  /** OpenCV's description of a layout `offset` bytes into a buffer, or why OpenCV cannot have it. For mappers. */
  fit(at: Layout, offset: number): MatShape | Unfit {
    const end = offset + at.byteLength;
    if (end > MAX_INT) {
      const problem = `it ends ${end} bytes into its buffer; OpenCV's kernels count them with an int (${MAX_INT}).`;
      return { argument: "byteLength", problem, remedy: "Map it in slices." };
    }
    const size = sizeOf(at.dtype);
    if (offset % size === 0) return onGrid(shapeOf(at, this.channels), offset);
    return {
      argument: "byteOffset",
      problem: `expected a multiple of the ${size} bytes of ${at.dtype}, got ${offset}.`,
    };
  }

  /** Fills in a header over a buffer, until `undo` runs. For mappers. @throws {LayoutError} if OpenCV cannot have the layout. */
  over(init: UMatInit, grants: readonly Grant[], undo: Undo): UMatOver {
    return umatOver(this, init, grants, undo);
  }

  /** A tensor over the buffer that OpenCV gave a slot's UMat; undefined if its context has ended. For mappers. */
  resultIn(slot: Slot, buffer: UMatBuffer): OpenCVUMat | undefined {
    return resultIn(this, slot, buffer);
  }

  /** Makes the tensor of a UMat over a buffer, for mappers. */
  tensor(resource: Resource, at: Layout, over: UMatOver & UMatPlace, parent: Mapped): OpenCVUMat {
    const { slot, shape, u, buffer, address } = over; // no spread, which would take as long as everything else here
    return new OpenCVUMat({ target: this, resource, layout: at, parent, slot, shape, u, buffer, address });
  }

  /**
   * A new uninitialised UMat, which OpenCV allocates on the device that it uses in this thread (`cv.openCLContext`). To use an
   * OpenCL context of your own, map `cl.allocate(…)` to `cv.umat` instead.
   *
   * @throws {ArgumentError} if OpenCV uses no OpenCL in this thread.
   * @throws {LayoutError} for a shape or dtype that OpenCV does not have.
   * @throws {OpenCVError} if memory runs out.
   *
   * @example
   * ```ts ignore
   * Deno.env.set("OPENCV_OPENCL_DEVICE", ":CPU:"); // where there is no GPU
   * using cv = OpenCVContext.open();
   * using grey = cv.umat.create({ shape: [480, 640], dtype: "u8" });
   * ```
   */
  create(init: UMatShape): OpenCVUMat {
    const shape = this.fit(layoutIn(init, NAMES), 0);
    if ("problem" in shape) throw unfitError(shape);
    this.context.resource.assertLive();
    return createdUMat(this, shape);
  }

  /**
   * Attaches to a foreign `cv::UMat` made in the OpenCL context that OpenCV uses in this thread (`cv.openCLContext`).
   * OpenCV's queue is finished first.
   *
   * The header is copied during the call, as `cv::UMat(const UMat &)` does, and may be deleted afterwards, by its maker. The
   * buffer stays: OpenCV counts the tensor as one more owner. A UMat that samepage made by a map cannot be attached to.
   *
   * In the other direction, a native function with a parameter `cv::UMat *` takes `umat.handle`: a bigint for `"u64"`, and
   * `Deno.UnsafePointer.create(umat.handle)` for `"pointer"`.
   *
   * @param handle the address of a live `cv::UMat`, as a bigint or a Deno pointer. The header is probed, but if another
   * thread frees it meanwhile, the process crashes
   * @throws {ArgumentError} if there is no UMat, an empty one, or one without a `cl_mem`.
   *
   * @example
   * ```ts ignore
   * using cv = OpenCVContext.open();
   * using cl = OpenCLContext.attach(cv.openCLContext!);
   * const pointer = library.symbols.detect(); // your own function, which returns a cv::UMat *
   * using umat = cv.umat.attach(pointer);
   * library.symbols.release(pointer); // deletes it
   * using buffer = graph.map(umat, cl);
   * ```
   */
  attach(handle: bigint | Deno.PointerValue, options: AttachOptions = {}): OpenCVUMat {
    return attaching(options, (access = "read-write") => {
      this.context.resource.assertLive();
      return attachedUMat(this, handle, access);
    });
  }
}

/** Refuses an offset that is no multiple of steps and pixels: OpenCV's filters derive one from it (locateROI), and round. */
function onGrid(shape: MatShape | Unfit, offset: number): MatShape | Unfit {
  if ("problem" in shape) return shape;
  const { steps } = shape;
  const [row, pixel] = [steps[0], steps[steps.length - 1]];
  if (offset % row % pixel === 0) return shape;
  return {
    argument: "byteOffset",
    problem:
      `OpenCV's filters expect whole rows (${row} bytes) and whole pixels (${pixel} bytes), got ${offset} bytes.`,
    remedy: "Begin at a whole pixel; or slice the host's tensor, and map that.",
  };
}
