import { InteropError } from "../../core/errors.ts";
import type { StreamEnds } from "../../gl/stream_ends.ts";
import { frameInWords, type ImageInfo } from "../../core/layout/frame_info.ts";
import type { Layout } from "../../core/layout/layout.ts";
import { owned } from "../../core/life/ledger.ts";
import { Resource } from "../../core/life/resource.ts";
import { allOrNothing, type Undo } from "../../core/life/undo.ts";
import { type AdoptedPlane, adoptFrame, type Adoption } from "../../core/tensors/adopt.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import { CudaArray } from "../arrays/array.ts";
import type { CudaPrimaryContext } from "../base.ts";
import type { CudaBlock } from "../memory/block.ts";
import type { CudaTensor } from "../tensor.ts";
import { CudaArrayFrame } from "./array_frame.ts";
import type { FrameStruct } from "./frame.ts";
import type { CudaStreamFrame } from "./producer.ts";

/** The function that describes an acquired frame. */
export const MAP = "cudaGraphicsResourceGetMappedEglFrame";

const FRAME = "cuda.eglStreamFrame";

const NO_FLAGS: CudaBlock["flags"] = [];

/** The description of the last frame: most frames are like the one before. */
interface Known {
  readonly struct: FrameStruct;
  readonly info: ImageInfo;
  readonly layouts: readonly Layout[];
  /** Each plane's offset in a notional block: planes have addresses of their own, but samepage counts them as one block. */
  readonly starts: readonly number[];
  readonly byteLength: number;
  readonly name: string;
}

export interface AcquiredBy {
  readonly context: CudaPrimaryContext;
  readonly resource: Resource;
  readonly ends: StreamEnds;
  readonly arrays: boolean;
}

export class AcquiredFrames {
  readonly #by: AcquiredBy;
  readonly #frames = new WeakSet<CudaStreamFrame>();
  #known: Known | undefined;

  constructor(by: AcquiredBy) {
    this.#by = by;
  }

  has(frame: CudaStreamFrame): boolean {
    return this.#frames.has(frame);
  }

  /**
   * The frame that a struct describes. Its end calls `release`, as does a failure.
   * @param handle the frame's graphics resource
   * @throws {InteropError} for a frame of the other kind, or of a format that samepage does not know.
   */
  add(struct: FrameStruct, handle: bigint, release: () => void): CudaStreamFrame {
    const { arrays } = this.#by;
    const known = allOrNothing("acquiring a frame", () => this.#describe(struct), [release]);
    const frame = arrays ? this.#ofArrays(struct, known, release) : this.#ofPointers(struct, known, handle, release);
    this.#frames.add(frame);
    return frame;
  }

  #describe(struct: FrameStruct): Known {
    const { arrays } = this.#by;
    if (struct.isArrays === arrays) {
      return this.#known = this.#known?.struct.isLike(struct) ? this.#known : describe(struct);
    }
    const [is, takes] = [struct.isArrays, arrays].map((are) => are ? "CUDA arrays" : "pointers");
    throw new InteropError(`the frame is one of ${is}, and this consumer takes frames of ${takes}.`, {
      ...{ api: "cuda", fn: MAP, hint: `Connect the consumer with { arrays: ${struct.isArrays} }.` },
    });
  }

  #ofPointers(struct: FrameStruct, known: Known, handle: bigint, release: () => void): Frame<CudaTensor> {
    const { context, resource, ends } = this.#by;
    const { info, layouts, starts, byteLength, name } = known;
    const block: Omit<CudaBlock, "free"> = {
      kind: FRAME,
      memory: "external",
      flags: NO_FLAGS,
      hostAddress: undefined,
      deviceAddress: struct.addressOf(0),
      byteLength,
      ordinal: context.device.ordinal,
    };
    const planes = layouts.map((layout, i): AdoptedPlane => {
      return { handle: struct.addressOf(i), layout, block, start: starts[i] };
    });
    const owners = [resource, ends.producer];
    const about: Adoption = { name, access: "read", owners };
    return adoptFrame<CudaTensor>(context, { handle, release }, info, planes, about);
  }

  #ofArrays(struct: FrameStruct, { info, name }: Known, release: () => void): CudaArrayFrame {
    const { context, resource, ends } = this.#by;
    const undo: Undo = [];
    owned(FRAME, undo, release);
    const whole = new Resource({ name, owners: [resource, ends.producer], undo });
    return allOrNothing("acquiring a frame", () =>
      new CudaArrayFrame(info, "read", whole, (frame) =>
        Array.from(
          { length: struct.planeCount },
          (_, i) => CudaArray.over(context, struct.arrayOf(i), frame, "read"),
        )), [() => whole.dispose()]);
  }
}

function describe(struct: FrameStruct): Known {
  const { info } = struct;
  const layouts = struct.isArrays ? [] : struct.layouts(info);
  const starts: number[] = [];
  let byteLength = 0;
  for (const layout of layouts) {
    starts.push(byteLength);
    byteLength += layout.byteLength;
  }
  const name = `cuda frame ${frameInWords(info)} of an EGLStream${struct.isArrays ? ", of arrays" : ""}`;
  return { struct: struct.copy(), info, layouts, starts, byteLength, name };
}
