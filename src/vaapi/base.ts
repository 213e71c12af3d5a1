import type { Line } from "../core/device/line.ts";
import type { MemoryTarget } from "../core/contract.ts";
import type { Proofs } from "../core/device/proofs.ts";
import type { ImageFormat, ImageInfo } from "../core/layout/frame_info.ts";
import type { Resource } from "../core/life/resource.ts";
import type { Display } from "./display.ts";
import type { VaapiTensor } from "./tensor.ts";

/** The members of a context that its parts use. */
export interface VaapiBase extends MemoryTarget<VaapiTensor> {
  /** Its name, for messages. */
  readonly name: string;
  /** The display. */
  readonly display: Display;
  /** The line of its calls. */
  readonly line: Line<undefined>;
  /** Proofs that the CPU sees surfaces in place. */
  readonly proofs: Proofs<VaapiBase>;
  /** Its end of life. */
  readonly resource: Resource;
  /** The formats of images, by fourcc. */
  readonly imageFormats: ReadonlyMap<number, DataView<ArrayBuffer>>;
  /** True if the driver shares memory by fds. */
  readonly hasPrime2: boolean;
  /** The formats in which it has surfaces. */
  readonly formats: readonly ImageFormat[];
  /** Counts copied bytes. */
  countCopied(bytes: number): void;
  /** Why the driver has no surface of a format and size; undefined if it has. */
  refuse(info: ImageInfo): string | undefined;
}
