import type { NativePicture } from "../core/contract.ts";
import { AccessError } from "../core/errors.ts";
import type { PlaneLayout } from "../core/layout/components.ts";
import { type AudioInfo, type FrameInfo, frameInfo, type ImageInfo, planeLayouts } from "../core/layout/frame_info.ts";
import type { Layout } from "../core/layout/layout.ts";
import { allOrNothing } from "../core/life/undo.ts";
import { type Access, writes } from "../core/memory/access.ts";
import { type AdoptedPlane, givesBack } from "../core/tensors/adopt.ts";
import type { Frame } from "../core/tensors/frame.ts";
import type { Address } from "../../ffi/address.ts";
import type { MediaContext, Wanted } from "./context.ts";

/** A block of memory that a native frame refers to. */
export interface HeldBlock {
  /** Who allocated it. */
  readonly kind: string;
  readonly address: Address;
  readonly byteLength: number;
}

/** The index of the block in which a plane lies, and its layout there. */
export type HeldPlane = readonly [block: number, layout: Layout];

/** What all native frames of a stream have in common. */
export interface HeldStream {
  readonly info: FrameInfo;
  readonly planes: readonly HeldPlane[];
}

/** Returns where a plane lies, given its index. Its layout counts from the plane's first byte. */
export type Placing = (plane: PlaneLayout, i: number) => HeldPlane;

/** Audio frames: what they are, and where their planes lie. */
export function soundOf(given: AudioInfo, place: Placing): HeldStream {
  const info = frameInfo(given);
  return { info, planes: planeLayouts(info).map((plane, i) => place({ ...plane, byteOffset: 0 }, i)) };
}

/** The planes in these blocks. */
export function planesIn(blocks: readonly HeldBlock[], { planes }: HeldStream): AdoptedPlane[] {
  const adopted = new Array<AdoptedPlane>(planes.length);
  for (let i = 0; i < adopted.length; i++) {
    const block = blocks[planes[i][0]];
    adopted[i] = { handle: block.address, layout: planes[i][1], block };
  }
  return adopted;
}

/**
 * A frame of the context that the library's context was opened on, over a picture by that API's own objects.
 *
 * @param release releases the native frame, at the frame's end or on failure
 */
export function frameOfPicture(
  context: MediaContext,
  { picture, info }: { readonly picture: NativePicture; readonly info: ImageInfo },
  access: Access,
  release: () => void,
): Frame {
  const { natives } = context.on!;
  const frame = allOrNothing("attaching a picture", () => natives!.attach(picture, info, { access }), [release]);
  givesBack(frame, release);
  frame.resource.dependOn(context.resource);
  return frame;
}

/** What messages say about a native frame that others may refer to. */
export interface Shared {
  /** The library and the native frame, as messages name them, and the function that reported whether it is shared. */
  readonly library: string;
  readonly object: string;
  readonly fn: string;
  readonly api: string;
  /** How the program can copy device memory. */
  readonly remedy?: string;
}

/**
 * The access to attach with, and whether that takes a copy.
 *
 * @param isWritable false where others refer to its memory
 * @param canCopy false for memory of a device
 * @throws {AccessError} to write what others refer to, without a copy.
 */
export function accessIn(
  { access: asked, mayCopy }: Wanted,
  isWritable: boolean,
  canCopy: boolean,
  shared: Shared,
): { readonly access: Access; readonly isCopy: boolean } {
  const copies = mayCopy && canCopy;
  const access = asked ?? (isWritable || copies ? "read-write" : "read");
  const isCopy = !isWritable && writes(access);
  if (!isCopy || copies) return { access, isCopy };
  throw onlyRead(shared, canCopy);
}

function onlyRead({ library, object, fn, api, remedy = "" }: Shared, canCopy: boolean): AccessError {
  return new AccessError(`access: others refer to the memory of the ${object}, so ${library} lets it only be read.`, {
    ...{ api, fn, argument: "access" },
    hint: canCopy
      ? 'Pass { access: "read" }, or { copy: "allow" } for a copy that can be written.'
      : `Pass { access: "read" }. ${remedy}`.trim(),
  });
}
