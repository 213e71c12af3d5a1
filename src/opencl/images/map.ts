import { type Address, NULL } from "../../../ffi/address.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { Access } from "../../core/memory/access.ts";
import { Allocation } from "../../core/memory/allocation.ts";
import type { Fence } from "../../core/life/fence.ts";
import type { Grant } from "../../core/memory/grant.ts";
import type { Layout } from "../../core/layout/layout.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { OpenCLContext } from "../context.ts";
import { errcode } from "../errors.ts";
import type { OpenCLImage } from "../image.ts";
import { ORIGIN, pitchesOf, regionOf } from "./native.ts";
import { type ImageShape, pitched, type Pitches } from "./shape.ts";
import { opencl } from "../library.ts";
import { type MappedRange, unmapOf } from "../memory.ts";
import type { RootBuffer } from "../tensor.ts";

/** An image that is mapped for the host, or will be. */
export interface MappedImage extends MappedRange {
  /** The pitches that the driver answered. */
  readonly pitch: Pitches;
}

/** An image that is mapped for the host, as a tensor will show it. */
export interface MappedTensor extends Pick<MappedRange, "address" | "unmap"> {
  /** Where the elements lie, with the pitches that the driver answered. */
  readonly layout: Layout;
  /** The grants of the tensor that shows it: they take over those that were lent for it. */
  grantsFor(lent: readonly Grant[], undo: Undo): readonly Grant[];
}

const row = new BigUint64Array(1);
const slice = new BigUint64Array(1);

/** Submits a map of all of an image. */
export function mapImage(
  { queue }: OpenCLContext,
  mem: ClMem,
  image: ImageShape,
  blocking: number,
  flags: bigint,
  waits: readonly Fence[],
): MappedImage {
  let address = NULL;
  let pitch = image.pitch;
  const mapped = queue.submit("clEnqueueMapImage", waits, (n, list, event) => {
    row[0] = slice[0] = 0n;
    const region = regionOf(image.extent);
    address = opencl().clEnqueueMapImage(
      queue.rawHandle,
      mem,
      blocking,
      flags,
      ORIGIN,
      region,
      row,
      slice,
      n,
      list,
      event,
      errcode,
    );
    pitch = pitchesOf(image, Number(row[0]), Number(slice[0]));
    return errcode[0];
  });
  return { address, mapped, pitch, unmap: unmapOf(queue, mem, address) };
}

/** Maps an image, or the buffer that it is over, for the host; blocks until it is. */
export function mapTensor(context: OpenCLContext, source: OpenCLImage, access: Access, exact: boolean): MappedTensor {
  const { root, bufferOffset, image, layout, format } = source;
  if (bufferOffset !== undefined) {
    const range = context.memory.map(root.mem, access, bufferOffset, layout.byteLength, exact);
    return { ...range, layout, grantsFor: (lent) => lent };
  }
  const mapped = context.images.map(root.mem, image, access);
  const { address, pitch } = mapped;
  const inPlace = address === root.hostAddress && pitch.row === image.pitch.row && pitch.slice === image.pitch.slice;
  if (inPlace) return { ...mapped, layout, grantsFor: (lent) => lent };
  try {
    const at = pitched(layout, format, image.type, pitch);
    return { ...mapped, layout: at, grantsFor: (lent, undo) => elsewhere(lent, address, at, root, undo) };
  } catch (error) {
    using unmapped = mapped.unmap([]);
    unmapped?.waitSync();
    throw error;
  }
}

/**
 * The image's bytes as the driver shows them, in memory and with pitches of its own: a block of its own, to which the
 * lent bytes belong.
 */
function elsewhere(
  lent: readonly Grant[],
  address: Address,
  { byteLength }: Layout,
  root: RootBuffer,
  undo: Undo,
): readonly Grant[] {
  const allocation = new Allocation({
    kind: "opencl.map",
    address,
    byteLength,
    free: (fate) => void (root.kept ||= fate !== "unused"),
  });
  allocation.join();
  undo.push(() => allocation.leave());
  return [lent[0].elsewhere(allocation), ...lent];
}
