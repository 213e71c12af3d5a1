import * as codec59 from "../../ffi/avcodec59/structs.ts";
import * as codec61 from "../../ffi/avcodec61/structs.ts";
import * as codec62 from "../../ffi/avcodec62/structs.ts";
import * as codec63 from "../../ffi/avcodec63/structs.ts";
import * as format59 from "../../ffi/avformat59/structs.ts";
import * as format61 from "../../ffi/avformat61/structs.ts";
import * as format62 from "../../ffi/avformat62/structs.ts";
import * as format63 from "../../ffi/avformat63/structs.ts";
import * as hardware57 from "../../ffi/avhwcontext57/structs.ts";
import * as hardware59 from "../../ffi/avhwcontext59/structs.ts";
import * as hardware60 from "../../ffi/avhwcontext60/structs.ts";
import * as hardware61 from "../../ffi/avhwcontext61/structs.ts";
import * as util57 from "../../ffi/avutil57/structs.ts";
import { AV_FRAME_FLAG_KEY } from "../../ffi/avutil59/constants.ts";
import * as util59 from "../../ffi/avutil59/structs.ts";
import * as util60 from "../../ffi/avutil60/structs.ts";
import * as util61 from "../../ffi/avutil61/structs.ts";
import * as vulkan57 from "../../ffi/avvulkan57/structs.ts";
import type { StructLayout } from "../../ffi/layout.ts";

/** The same structs, wherever their fields lie. */
type Laid<M> = {
  readonly [N in keyof M]: M[N] extends StructLayout
    ? StructLayout & { readonly fields: { readonly [F in keyof M[N]["fields"]]: StructLayout["fields"][string] } }
    : M[N];
};

/** How a major version of libavutil lays its structs out, and which FFmpeg has it. */
export interface Structs extends Laid<typeof util57> {
  /** `"5.1"` */
  readonly release: string;
  /** The package of Debian's that has it, where one does. */
  readonly inDebian?: string;
  /** The bits of `AVFrame.key_flags` that say that a frame is decoded without others. */
  readonly keyFrame: number;
  /** The structs of hardware frames. */
  readonly hardware: Laid<typeof hardware57>;
  /** The structs of Vulkan's frames; left out for releases that need more than Vulkan 1.2, and a lock of the queue. */
  readonly vulkan?: typeof vulkan57;
  /** The structs of the libavcodec and the libavformat of the same build. */
  readonly coding: Coding;
}

/** What all majors of libavcodec have. AVCodecs are read only. */
type Codec = Omit<typeof codec61, "writeAVCodec">;

/**
 * The structs of libavcodec and libavformat, and the major version of both. `ThreadSafety` is the part of an AVCodecContext
 * that says whether its get_buffer2 may be called on any thread, where a release asks.
 */
export type Coding =
  & { readonly major: number; readonly ThreadSafety: StructLayout | undefined }
  & Laid<Codec & typeof format59>;

/** Each has the major version of libavutil as its key. What is not here is refused. */
export const VERSIONS: ReadonlyMap<number, Structs> = new Map<number, Structs>([
  [57, {
    release: "5.1",
    inDebian: "libavutil57",
    keyFrame: 1,
    ...util57,
    hardware: hardware57,
    vulkan: vulkan57,
    coding: of(59, codec59, format59),
  }],
  [59, {
    release: "7.1",
    inDebian: "libavutil59",
    ...later(util59),
    hardware: hardware59,
    coding: of(61, codec61, format61),
  }],
  [60, { release: "8", ...later(util60), hardware: hardware60, coding: of(62, codec62, format62) }],
  [61, { release: "9", ...later(util61), hardware: hardware61, coding: of(63, codec63, format63) }],
]);

/** Since 7.1, a bit of the flags says what a field said. */
function later<S>(structs: S): S & { readonly keyFrame: number } {
  return { keyFrame: AV_FRAME_FLAG_KEY, ...structs };
}

function of(
  major: number,
  codec: Laid<Codec> & { readonly ThreadSafety?: StructLayout },
  format: Laid<typeof format59>,
): Coding {
  return { major, ThreadSafety: undefined, ...codec, ...format };
}
