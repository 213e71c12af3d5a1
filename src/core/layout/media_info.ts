import type { DType } from "./dtype.ts";
import type { Ratio } from "./ratio.ts";

/** What a file says of one of its streams. What it does not say is left out. */
export interface StreamInfo {
  /** Its place among the streams. */
  readonly index: number;
  /** What it holds. */
  readonly type: "video" | "audio" | "subtitle" | "other";
  /** The library's name of the codec: `"h264"`. */
  readonly codec: string;
  /** Seconds. */
  readonly duration?: number;
  /** Seconds that a frame's `pts` counts. */
  readonly timeBase: Ratio;
  /** Bits a second. */
  readonly bitRate?: number;
  /** Pixels across. A frame may have another size, and says so. */
  readonly width?: number;
  /** Pixels down. */
  readonly height?: number;
  /** The library's name of the pixel format, or the type of a sample. */
  readonly format?: string | DType;
  /** Frames a second, on average. */
  readonly frameRate?: Ratio;
  /** A pixel's width by its height. */
  readonly sampleAspect?: Ratio;
  /** Samples a second. */
  readonly sampleRate?: number;
  /** How many channels. */
  readonly channels?: number;
}

/** What a file says of itself. */
export interface MediaInfo {
  /** The library's names of the format of the file: `"mov,mp4,m4a,3gp,3g2,mj2"`. */
  readonly format: string;
  /** Seconds, if it is known. */
  readonly duration?: number;
  /** All of its streams. */
  readonly streams: readonly StreamInfo[];
  /** The stream that is decoded. */
  readonly stream: StreamInfo;
}
