import * as hardware57 from "../../ffi/avhwcontext57/structs.ts";
import * as v57 from "../../ffi/avutil57/structs.ts";
import type { StructLayout } from "../../ffi/layout.ts";

/** Those of hardware frames. */
type Hardware = {
  readonly [Name in keyof typeof hardware57]: typeof hardware57[Name] extends StructLayout ? StructLayout
    : typeof hardware57[Name];
};

/** How a major version of libavutil lays its structs out, and which FFmpeg has it. */
export interface Structs {
  /** `"5.1"` */
  readonly release: string;
  readonly AVFrame: StructLayout;
  readonly AVBufferRef: StructLayout;
  readonly AVPixFmtDescriptor: StructLayout;
  readonly AVComponentDescriptor: StructLayout;
  readonly hardware: Hardware;
  readonly readAVFrame: typeof v57.readAVFrame;
  readonly writeAVFrame: typeof v57.writeAVFrame;
  readonly readAVBufferRef: typeof v57.readAVBufferRef;
  readonly readAVPixFmtDescriptor: typeof v57.readAVPixFmtDescriptor;
  readonly readAVComponentDescriptor: typeof v57.readAVComponentDescriptor;
}

/** By the major version of libavutil. What is not here is refused; a field that has moved or gone, `read` and `write` say. */
export const VERSIONS: ReadonlyMap<number, Structs> = new Map([[57, { release: "5.1", ...v57, hardware: hardware57 }]]);
