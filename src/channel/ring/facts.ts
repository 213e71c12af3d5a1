/**
 * Facts about a published frame, as JSON behind the notice: its metadata, and what codecs know about it. A frame with
 * neither, or with nothing but a timestamp, which the notice itself has, needs none.
 *
 * @module
 */
import type { MediaFacts } from "../../core/layout/frame_info.ts";
import type { Frame } from "../../core/tensors/frame.ts";
import type { Metadata } from "../../core/tensors/metadata.ts";
import { bodyOfMedia, bodyOfMetadata, mediaIn, metadataIn } from "../description.ts";
import { asArgument } from "../errors.ts";
import { record } from "../fields.ts";
import { assertLength, jsonIn } from "../message.ts";

export interface Facts {
  readonly media?: MediaFacts | undefined;
  readonly metadata?: Metadata | undefined;
}

/** Undefined if the notice alone says all. @throws {ArgumentError} if a reader would refuse it. */
export function encodedFacts({ info: { media }, metadataIfMade: metadata, name }: Frame): Uint8Array | undefined {
  const isKnown = metadata !== undefined && isMore(metadata);
  if (media === undefined && !isKnown) return undefined;
  try {
    const body = {
      ...media !== undefined && { media: bodyOfMedia(media) },
      ...isKnown && { metadata: bodyOfMetadata(metadata) },
    };
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    assertLength(bytes.length);
    factsIn(bytes);
    return bytes;
  } catch (error) {
    throw asArgument(error, "frame", `no notice can describe ${name}`);
  }
}

/** @throws {MessageError} if it is anything else. */
export function factsIn(bytes: Uint8Array<ArrayBuffer>): Facts {
  const { media, metadata } = record(jsonIn(bytes), "body", [], ["media", "metadata"]);
  return {
    media: media === undefined ? undefined : mediaIn(media),
    metadata: metadata === undefined ? undefined : metadataIn(metadata),
  };
}

/** True if the metadata says more than when to show the frame. */
function isMore(metadata: Metadata): boolean {
  let isFirst = true;
  for (const [name, fields] of metadata.entries()) {
    if (!isFirst || name !== "timestamp") return true;
    for (const key in fields) if (key !== "pts") return true;
    isFirst = false;
  }
  return false;
}
