import type { Address } from "../../../ffi/address.ts";
import type { Memory } from "../../core/contract.ts";
import { SAME_ADDRESS, whyUnfit } from "../../core/graph/mapper.ts";
import type { Reason } from "../../core/errors.ts";
import { type Described, ownResource } from "../../core/tensors/described.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import type { Names } from "../../core/argument.ts";
import { mapBlock, PAGE } from "../../core/native/blocks.ts";
import type { Target } from "../../core/graph/context.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import { own } from "../../core/memory/own.ts";
import {
  describeLayout,
  type Layout,
  LAYOUT_NAMES,
  layoutIn,
  type LayoutInit,
  moved,
  powerOfTwo,
} from "../../core/layout/layout.ts";
import type { Mapped } from "../../core/tensors/mapped.ts";
import { samePointers } from "../../core/tensors/pointer.ts";
import type { Undo } from "../../core/life/undo.ts";
import { ChannelTarget } from "../channel_target.ts";
import { attaching, type AttachOptions } from "../../core/tensors/adopt.ts";
import { unfitError } from "../errors.ts";
import { OpenCVMat } from "../mat.ts";
import { type MatShape, shapeOf, type Unfit } from "../shape.ts";
import type { Slot } from "../slots.ts";
import { matOver } from "./over.ts";
import { attachedMat, resultIn } from "./own.ts";

/** The Mat for {@link MatTarget.create}. */
export interface MatInit extends LayoutInit {
  /** The address will be a multiple of this power of two; the page size (4096) by default, and at least. */
  readonly align?: number;
}

const NAMES: Names<MatInit & Layout> = { ...LAYOUT_NAMES, align: true };

/** Mats as a target of the graph. Made by the context: `cv.mat`, `cv.matOf({ channels })`. */
export class MatTarget extends ChannelTarget implements Target<OpenCVMat> {
  /** The kind of memory. */
  readonly kind = "opencv.mat";
  /** Host and Mats have elements at the same address. The end of a map throws if OpenCV has put other memory into the Mat. */
  readonly ports: Memory<OpenCVMat, Address> = {
    ...samePointers(({ handle: address, layout, resource: given, parent }) => {
      const resource = ownResource(given); // its headers are native objects, which end with it
      const { slot, shape } = matOver(this, layout, address, resource.name, resource.undo);
      return new OpenCVMat({ target: this, resource, layout, address, parent, slot, shape });
    }),
    imports: [{ kind: "host-pointer", from: "host", verdict: SAME_ADDRESS }],
    byPlane: true,
    refuse: (source) => source.target === this ? undefined : this.#refuse(source),
  };

  /** True for its tensors. */
  is(value: Mapped): value is OpenCVMat {
    return value instanceof OpenCVMat && value.target === this;
  }

  #refuse(source: Described): Reason | undefined {
    const [{ layout, address }] = source.planes;
    return whyUnfit(this.fit(layout, address));
  }

  /** OpenCV's description of a layout, or why OpenCV cannot have it. For mappers. */
  fit(at: Layout, address?: bigint): MatShape | Unfit {
    const size = sizeOf(at.dtype);
    if (size === 1 || address === undefined || address % BigInt(size) === 0n) return shapeOf(at, this.channels);
    const problem = `expected a multiple of the ${size} bytes of ${at.dtype}, got the address 0x${
      address.toString(16)
    }.`;
    return { argument: "byteOffset", problem };
  }

  /** Returns a tensor over the memory that OpenCV gave a slot's Mat; undefined if the context has ended. For mappers. */
  resultIn(slot: Slot): OpenCVMat | undefined {
    return resultIn(this, slot);
  }

  /**
   * A Mat in new zeroed memory, page-aligned and with its length rounded up to a multiple of 64 bytes, so that any other API
   * can use it in place.
   *
   * @throws {LayoutError} for a layout that OpenCV cannot have.
   * @throws {NativeCallError} if memory runs out.
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using image = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * console.log(image.type, image.address % 4096n); // CV_8UC3 0n
   * ```
   */
  create(init: MatInit): OpenCVMat {
    const at = layoutIn(init, NAMES);
    const align = powerOfTwo(init.align === undefined ? PAGE : init.align, "align");
    const problem = this.fit(at);
    if ("problem" in problem) throw unfitError(problem);
    this.context.resource.assertLive();
    const end = at.byteOffset + at.byteLength;
    const block = mapBlock({ byteLength: end, align, sharable: false, guard: false });
    const allocation = new Allocation(block);
    const undo: Undo = [];
    const name = `opencv mat ${describeLayout(at)}`;
    const resource = own({ name, allocation, start: at.byteOffset, end, undo, owners: [this.context.resource] });
    try {
      const address = block.address + BigInt(at.byteOffset) as Address;
      const over = matOver(this, at, address, name, undo);
      return new OpenCVMat({ target: this, resource, layout: moved(at, 0), address, ...over });
    } catch (error) {
      resource.dispose();
      throw error;
    }
  }

  /**
   * Attaches to a foreign `cv::Mat`. Other tensors over that Mat, and host tensors over its memory, are its peers.
   *
   * The header is copied during the call, as `cv::Mat(const Mat &)` does, and may be deleted afterwards, by its maker. The
   * elements stay: OpenCV counts the tensor as one more owner. If OpenCV does not own the memory (`Mat(rows, cols, type,
   * data)`, where `u` is null), the memory has to live as long as the tensor and its peers.
   *
   * In the other direction, a native function with a parameter `cv::Mat *` takes `mat.handle`: a bigint for `"u64"`, and
   * `Deno.UnsafePointer.create(mat.handle)` for `"pointer"`.
   *
   * @param handle the address of a live `cv::Mat` object (not of its pixels), as a bigint or a Deno pointer. Header and
   * elements are probed, but if another thread frees them meanwhile, the process crashes
   * @throws {ArgumentError} if there is no Mat, or an empty one.
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * const photo = cv.imread("examples/edges/photo.jpg");
   * const pointer = Deno.UnsafePointer.create(photo.handle); // your own library's result, or argument
   * using mat = cv.mat.attach(pointer);
   * photo[Symbol.dispose]();
   * console.log(mat.rows, mat.cols, mat.type); // its elements are still there
   * ```
   */
  attach(handle: bigint | Deno.PointerValue, options: AttachOptions = {}): OpenCVMat {
    return attaching(options, (access = "read-write") => {
      this.context.resource.assertLive();
      return attachedMat(this, handle, access);
    });
  }
}
