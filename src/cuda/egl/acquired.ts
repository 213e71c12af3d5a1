import { InteropError } from "../../core/errors.ts";
import type { StreamEnds } from "../../gl/stream_ends.ts";
import type { ImageInfo } from "../../core/layout/frame_info.ts";
import type { Layout } from "../../core/layout/layout.ts";
import { owned } from "../../core/life/ledger.ts";
import { Resource } from "../../core/life/resource.ts";
import { allOrNothing, type Undo } from "../../core/life/undo.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import { own } from "../../core/memory/own.ts";
import { Frame } from "../../core/tensors/frame.ts";
import { CudaArray } from "../arrays/array.ts";
import type { CudaPrimaryContext } from "../base.ts";
import type { CudaBlock } from "../memory/block.ts";
import { CudaTensor } from "../tensor.ts";
import { CudaArrayFrame } from "./array_frame.ts";
import type { FrameStruct } from "./frame.ts";
import type { CudaStreamFrame } from "./producer.ts";

/** Tells the program what an acquired frame is. */
export const MAP = "cudaGraphicsResourceGetMappedEglFrame";

/** The ledger's kind of an acquired frame. */
const FRAME = "cuda.eglStreamFrame";

/** What the last frame was: most are like the one before. */
interface Known {
  readonly struct: FrameStruct;
  readonly info: ImageInfo;
  readonly layouts: readonly Layout[];
  readonly byteLength: number;
  readonly name: string;
  /** The planes'. */
  readonly names: readonly string[];
}

/** What makes the frames of a consumer. */
export interface AcquiredBy {
  readonly context: CudaPrimaryContext;
  readonly resource: Resource;
  readonly ends: StreamEnds;
  /** True if it takes frames of arrays. */
  readonly arrays: boolean;
}

/** The frames that a consumer has acquired, or had. */
export class AcquiredFrames {
  readonly #by: AcquiredBy;
  readonly #frames = new WeakSet<CudaStreamFrame>();
  #known: Known | undefined;

  /** None so far. */
  constructor(by: AcquiredBy) {
    this.#by = by;
  }

  /** True for one of them. */
  has(frame: CudaStreamFrame): boolean {
    return this.#frames.has(frame);
  }

  /** The frame that a struct tells of; its end releases it. @throws {InteropError} for one of the other kind. */
  add(struct: FrameStruct, release: () => void): CudaStreamFrame {
    const { arrays } = this.#by;
    if (struct.isArrays !== arrays) {
      const [is, takes] = [struct.isArrays, arrays].map((are) => are ? "CUDA arrays" : "pointers");
      throw new InteropError(`the frame is one of ${is}, and this consumer takes frames of ${takes}.`, {
        ...{ api: "cuda", fn: MAP, hint: `Connect the consumer with { arrays: ${struct.isArrays} }.` },
      });
    }
    const known = this.#known = this.#known?.struct.isLike(struct) ? this.#known : describe(struct);
    const frame = arrays ? this.#ofArrays(struct, known, release) : this.#ofPointers(struct, known, release);
    this.#frames.add(frame);
    return frame;
  }

  #ofPointers(
    struct: FrameStruct,
    { info, layouts, byteLength, name, names }: Known,
    release: () => void,
  ): Frame<CudaTensor> {
    const { context, resource, ends } = this.#by;
    const block: CudaBlock = {
      ...{ kind: FRAME, memory: "external", flags: [], hostAddress: undefined },
      deviceAddress: struct.addressOf(0),
      byteLength,
      ordinal: context.device.ordinal,
      free: release,
    };
    const owners = [resource, ends.producer];
    const whole = own({ name, allocation: new Allocation(block), access: "read", owners });
    const parts = names.length === 1 ? [whole] : this.#partsOf(whole, layouts, names); // a plane alone is the whole
    const planes = (parent: Frame<CudaTensor>) =>
      layouts.map((layout, i) => {
        const handle = struct.addressOf(i);
        return new CudaTensor({ target: context, memory: "external", handle, layout, resource: parts[i], parent });
      });
    return new Frame<CudaTensor>({ target: context, resource: whole, info, planes });
  }

  #partsOf(whole: Resource, layouts: readonly Layout[], names: readonly string[]): readonly Resource[] {
    const [grant] = whole.grants;
    let start = 0;
    return layouts.map(({ byteLength }, i) => {
      const grants = [grant.facet(start, start += byteLength, names[i])];
      return new Resource({ name: names[i], grants, owners: [whole] });
    });
  }

  #ofArrays(struct: FrameStruct, { info, name }: Known, release: () => void): CudaArrayFrame {
    const { context, resource, ends } = this.#by;
    const undo: Undo = [];
    const whole = new Resource({ name, owners: [resource, ends.producer], undo });
    return allOrNothing("acquiring a frame", () => {
      const frame = new CudaArrayFrame(info, "read", whole, (frame) =>
        Array.from(
          { length: struct.planeCount },
          (_, i) => CudaArray.over(context, struct.arrayOf(i), frame, "read"),
        ));
      owned(FRAME, undo, release); // from here on it is the frame's
      return frame;
    }, [() => whole.dispose()]);
  }
}

function describe(struct: FrameStruct): Known {
  const { info } = struct;
  const layouts = struct.isArrays ? [] : struct.layouts(info);
  const byteLength = layouts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const name = `cuda frame ${info.format} of an EGLStream${struct.isArrays ? ", of arrays" : ""}`;
  const names = layouts.map((_, i) => `plane ${i} of ${name}`);
  return { struct: struct.copy(), info, layouts, byteLength, name, names };
}
