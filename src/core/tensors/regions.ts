import type { FrameInfo } from "../layout/frame_info.ts";
import type { Metadata, MetadataFields } from "./metadata.ts";

/** An object in a picture, and what is known of it: dictionaries of the frame's metadata that belong together. */
export interface Region {
  /** Pixels from the left edge of the picture. */
  readonly x: number;
  /** Pixels from its upper edge. */
  readonly y: number;
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
  /** The object. */
  readonly detection: MetadataFields["detection"];
  /** What models take it for: those that say its `id` as `objectId`. */
  readonly classifications: readonly MetadataFields["classification"][];
  /** What else models made of it. */
  readonly results: readonly MetadataFields["inferenceResult"][];
  /** The id that it has in each frame, where somebody follows it. */
  readonly objectId?: number;
}

/** The detections of a picture, in pixels. */
export function regionsOf(info: FrameInfo, metadata: Metadata): readonly Region[] {
  if (info.type === "audio") return [];
  const { width: across, height: down } = info;
  return metadata.all("detection").map((detection) => {
    const { id, xMin, yMin, xMax, yMax } = detection;
    const [x, y] = [Math.round(xMin * across), Math.round(yMin * down)];
    const isAbout = ({ objectId }: { readonly objectId?: number }) => id !== undefined && objectId === id;
    const followed = metadata.all("objectId").find(isAbout);
    return {
      ...{ x, y, width: Math.round(xMax * across) - x, height: Math.round(yMax * down) - y, detection },
      classifications: metadata.all("classification").filter(isAbout),
      results: metadata.all("inferenceResult").filter(isAbout),
      ...followed !== undefined && { objectId: followed.id },
    };
  });
}
