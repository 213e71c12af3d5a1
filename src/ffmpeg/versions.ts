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
import type { FieldLayout, StructLayout } from "../../ffi/layout.ts";

/** Layouts with the same fields of the same types, at any offset. */
type Laid<M> = {
  readonly [N in keyof M]: M[N] extends StructLayout ? LaidStruct<M[N]> : never;
};

interface LaidStruct<L extends StructLayout> extends StructLayout {
  readonly fields: { readonly [F in keyof L["fields"]]: FieldLayout & { readonly type: L["fields"][F]["type"] } };
}

/** The structs that all releases have. */
type Common = Laid<typeof util57 & typeof hardware57 & typeof codec61 & typeof format59>;

/**
 * Those of some. Vulkan's frames: later releases need more than Vulkan 1.2, and a lock of the queue. `ThreadSafety`, the part
 * of an AVCodecContext that says whether its get_buffer2 may be called on any thread. `SupportedFormats`, those of an AVCodec.
 */
type Some = Partial<Laid<typeof vulkan57 & typeof codec59>>;

/** How one build of FFmpeg lays its structs out, and which release it is. */
export interface Structs extends Common, Omit<Some, keyof Common> {
  /** `"5.1"` */
  readonly release: string;
  /** The Debian package that has it, where one does. */
  readonly inDebian?: string;
  /** The bits of `AVFrame.key_flags` that say that a frame is decoded without others. */
  readonly keyFrame: number;
  /** The major version of its libavcodec and its libavformat. */
  readonly coding: number;
}

/** A struct that samepage knows. */
export type StructName = keyof Common | keyof Some;

/** Each has the major version of libavutil as its key. What is not here is refused. */
export const VERSIONS: ReadonlyMap<number, Structs> = new Map<number, Structs>([
  [57, {
    ...{ release: "5.1", inDebian: "libavutil57", coding: 59, keyFrame: 1 },
    ...{ ...util57, ...hardware57, ...vulkan57, ...codec59, ...format59 },
  }],
  // From this version on, bits of the flags replace fields.
  [59, {
    ...{ release: "7.1", inDebian: "libavutil59", coding: 61, keyFrame: AV_FRAME_FLAG_KEY },
    ...{ ...util59, ...hardware59, ...codec61, ...format61 },
  }],
  [60, {
    ...{ release: "8", coding: 62, keyFrame: AV_FRAME_FLAG_KEY },
    ...{ ...util60, ...hardware60, ...codec62, ...format62 },
  }],
  [61, {
    ...{ release: "9", coding: 63, keyFrame: AV_FRAME_FLAG_KEY },
    ...{ ...util61, ...hardware61, ...codec63, ...format63 },
  }],
]);

/** The releases of some: `"5.1 or 7.1"`. */
export function releases(which: (structs: Structs) => boolean = () => true): string {
  return [...VERSIONS.values()].filter(which).map(({ release }) => release).join(" or ");
}
