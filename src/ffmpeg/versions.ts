import * as codec59 from "../../ffi/avcodec59/structs.ts";
import * as format59 from "../../ffi/avformat59/structs.ts";
import * as v57 from "../../ffi/avutil57/structs.ts";
import type { StructLayout } from "../../ffi/layout.ts";

/** How a major version of libavutil lays its structs out, and which FFmpeg has it. */
export interface Structs {
  /** `"5.1"` */
  readonly release: string;
  readonly AVFrame: StructLayout;
  readonly AVBufferRef: StructLayout;
  readonly AVPixFmtDescriptor: StructLayout;
  readonly AVComponentDescriptor: StructLayout;
  readonly readAVFrame: typeof v57.readAVFrame;
  readonly writeAVFrame: typeof v57.writeAVFrame;
  readonly readAVBufferRef: typeof v57.readAVBufferRef;
  readonly readAVPixFmtDescriptor: typeof v57.readAVPixFmtDescriptor;
  readonly readAVComponentDescriptor: typeof v57.readAVComponentDescriptor;
  readonly coding: Coding;
}

/** The structs of the libavcodec and the libavformat that belong to a libavutil, and the major version of both. */
export type Coding = { readonly major: number } & typeof codec59 & typeof format59;

/** By the major version of libavutil. What is not here is refused; a field that has moved or gone, `read` and `write` say. */
export const VERSIONS: ReadonlyMap<number, Structs> = new Map([
  [57, { release: "5.1", ...v57, coding: { major: 59, ...codec59, ...format59 } }],
]);
