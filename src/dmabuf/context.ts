import { literal, type Names, object, optionsIn } from "../core/argument.ts";
import type { Fence } from "../core/device/fence.ts";
import type { Memory, MemoryTarget, Natives } from "../core/contract.ts";
import { Port } from "../core/device/port.ts";
import { PermanentContext } from "../core/graph/context.ts";
import {
  assertApart,
  type FrameInfo,
  frameInfo,
  planeLayouts,
  type PlanePlace,
  planesAt,
} from "../core/layout/frame_info.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit } from "../core/layout/layout.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { assertMetadata, type Metadata } from "../core/tensors/metadata.ts";
import { importAs, importFrame } from "../core/tensors/over.ts";
import type { Access } from "../core/memory/access.ts";
import { accessOfFd, duplicateFd, statusOf, whereOpen } from "../core/native/fd.ts";
import { allocateFd, type Allocator, allocators } from "./allocators.ts";
import { placesOf } from "./images.ts";
import { checks } from "./library.ts";
import { ports } from "./memory.ts";
import { attachFence } from "./sync.ts";
import type { DmaBufTensor } from "./tensor.ts";

/** Options of {@link DmaBufContext.allocate}. */
export interface DmaBufAllocation extends LayoutInit {
  /** The node of an allocator: `"/dev/udmabuf"`; by default the first open one. */
  readonly from?: string;
}

/** Options of {@link DmaBufContext.allocateFrame}. */
export interface DmaBufFrameAllocation {
  /** The node of an allocator; by default the first open one. */
  readonly from?: string;
  /** Each row begins at a multiple of this many bytes; 1 by default. */
  readonly rowAlign?: number;
  /** The frame's metadata. */
  readonly metadata?: Metadata;
}

/** The place of a frame's plane. */
export interface PlaneDescription extends PlanePlace {
  /** The index of its fd; 0 by default. */
  readonly fd?: number;
}

/** The description of a frame in one or several dma-bufs. */
export interface FrameDescription {
  /** Format, size and modifier. */
  readonly info: FrameInfo;
  /** The place of each plane; one after the other in the first buffer by default. */
  readonly planes?: readonly PlaneDescription[];
  /** The frame's metadata. */
  readonly metadata?: Metadata;
}

const TENSOR: Names<DmaBufAllocation & Layout> = { ...LAYOUT_NAMES, from: true };
const FRAME_ATTACHED: Names<FrameDescription> = { info: true, planes: true, metadata: true };
const PLANE: Names<PlaneDescription> = { fd: true, offset: true, stride: true };
const FRAME: Names<DmaBufFrameAllocation> = { from: true, rowAlign: true, metadata: true };

/**
 * The kernel's memory that devices and processes share: dma-bufs. The context is its only target, and always open. Whether it
 * can allocate depends on the machine ({@link allocators}); dma-bufs of other code can always be attached.
 *
 * @example
 * ```ts
 * import { dmabuf } from "@samepage/interop/dmabuf";
 *
 * for (const { node, open, reason } of dmabuf.allocators()) console.log(node, open ? "open" : reason);
 * ```
 */
export class DmaBufContext extends PermanentContext<DmaBufTensor> implements MemoryTarget<DmaBufTensor> {
  /** Its ports: dma-bufs both ways, host pointers out, memfds in. For mappers. */
  readonly ports: Memory<DmaBufTensor> = ports;

  /** Frames by the fds of their buffers, for libraries that use those: FFmpeg's DRM frames. */
  readonly natives: Natives = {
    handles: () => ({ device: -1n }), // dma-bufs need no DRM device
    attach: ({ objects, planes, modifier = 0n }, info, options) =>
      this.attach(
        objects.map(({ handle }) => Number(handle)),
        { info: { ...info, modifier }, planes: planes.map(({ object, ...place }) => ({ fd: object, ...place })) },
        options,
      ),
    pictureOf(frame) {
      const { buffers, ...about } = placesOf(frame.planes as readonly DmaBufTensor[]);
      return { ...about, objects: buffers.map(({ fd, byteLength }) => ({ handle: BigInt(fd), byteLength })) };
    },
  };

  /** Always there. */
  constructor() {
    super("dmabuf");
  }

  /** Every allocator of dma-bufs that this machine has or could have: open, or closed with a reason and a remedy. */
  allocators(): Allocator[] {
    return allocators();
  }

  /**
   * Allocates a zeroed dma-buf of whole pages.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride, and for more bytes than the machine has available.
   * @throws {ArgumentError} if no allocator is open, or `from` is not; the hint names what would open it.
   * @throws {NativeCallError} if the kernel refuses.
   */
  allocate(init: DmaBufAllocation): DmaBufTensor {
    const layouts = [layoutIn(init, TENSOR)];
    return importAs(this, allocated(layouts, init.from), { layouts, access: "read-write" }) as DmaBufTensor;
  }

  /** Allocates one buffer for all planes of a frame, one after the other. @throws like {@link allocate}. */
  allocateFrame(info: FrameInfo, options: DmaBufFrameAllocation = {}): Frame<DmaBufTensor> {
    const { from, rowAlign, metadata } = optionsIn(options, FRAME);
    const checked = frameInfo(info);
    assertMetadata(metadata);
    if (checked.type === "image" && checked.modifier !== 0n) {
      throw checks.wrong("modifier", "an allocator makes linear memory only.", "Leave it out.");
    }
    const layouts = planeLayouts(checked, rowAlign);
    return importFrame(this, [allocated(layouts, from)], { layouts, access: "read-write", info: checked, metadata });
  }

  /**
   * Attaches to a foreign dma-buf by a duplicate of its fd: yours stays yours. If samepage knows the buffer by any fd, the new
   * tensor is a peer of the tensors over it.
   *
   * @throws {ArgumentError} for anything but a dma-buf; the message says what it is.
   * @throws {LayoutError} for a description that reaches outside of the buffer.
   * @throws {AccessError} for an access that the fd does not allow.
   */
  attach(fd: number, init: LayoutInit, options?: AttachOptions): DmaBufTensor;
  /** Attaches to a frame in one buffer or in several: plane `i` lies in `fds[description.planes[i].fd]`. */
  attach(
    fds: number | readonly number[],
    description: FrameDescription,
    options?: AttachOptions,
  ): Frame<DmaBufTensor>;
  attach(
    fds: number | readonly number[],
    description: LayoutInit | FrameDescription,
    options: AttachOptions = {},
  ): DmaBufTensor | Frame<DmaBufTensor> {
    return attaching(options, (asked) => {
      if ("info" in object(description, "description")) {
        const { ports, ...frame } = framePorts(fds, description as FrameDescription, asked);
        return importFrame(this, ports, frame);
      }
      const layouts = [layoutIn(description as LayoutInit, LAYOUT_NAMES)];
      const fd = checks.fdIn(fds as number, "fd");
      const access = asked ?? whereOpen(checks, "fd", fd, accessOfFd);
      return importAs(this, portTo(fd, layouts), { layouts, access }) as DmaBufTensor;
    });
  }

  /**
   * A sync file as a fence, by a duplicate of its fd. Waits poll the fd, and block nothing.
   *
   * @throws {ArgumentError} for anything but a sync file.
   */
  fence(fd: number): Fence {
    return attachFence(fd);
  }
}

/** A new buffer that holds these planes, with the padding of the last row. */
function allocated(layouts: readonly Layout[], from: string | undefined): Port {
  const { byteOffset, byteLength, shape, strides } = layouts[layouts.length - 1];
  const end = byteOffset + Math.max(byteLength, shape.length === 0 ? 0 : shape[0] * strides[0]);
  return new Port("dma-buf", { fd: allocateFd(end, from), byteLength: end });
}

function portTo(fd: number, layouts: readonly Layout[]): Port {
  const byteLength = Math.max(...layouts.map((plane) => plane.byteOffset + plane.byteLength));
  return new Port("dma-buf", { fd: duplicateFd(fd), byteLength });
}

/** One port if all planes lie in one buffer, else one for each. */
function framePorts(
  given: number | readonly number[],
  description: FrameDescription,
  asked: Access | undefined,
) {
  const { planes = [], metadata, ...about } = optionsIn(description, FRAME_ATTACHED, "description");
  const info = frameInfo(about.info);
  assertMetadata(metadata);
  const list = Array.isArray(given) ? checks.itemsIn<number>(given, "fds") : [given as number];
  const fds = list.map((fd, i) => checks.fdIn(fd, `fds[${i}]`));
  if (fds.length === 0) throw checks.wrong("fds", "expected at least one fd.");
  const allowed = fds.map((fd, i) => whereOpen(checks, `fds[${i}]`, fd, accessOfFd));
  const places = Array.from(planes, (plane, i) => optionsIn(plane, PLANE, `planes[${i}]`));
  const layouts = places.length === 0 ? planeLayouts(info) : planesAt(info, places);
  const fdOf = (i: number) => {
    const { fd = 0 } = places[i] ?? {};
    if (fds[fd] !== undefined) return fds[fd];
    throw checks.wrong(`planes[${i}].fd`, `expected the place of one of ${fds.length} fds, got ${literal(fd)}.`);
  };
  const buffers = Map.groupBy(layouts, (_, i) => statusOf(fdOf(i)).identity);
  for (const shared of buffers.values()) assertApart(shared);
  const access = asked ?? (allowed.every((one) => one === "read-write") ? "read-write" : "read");
  using made = new DisposableStack();
  const ports = buffers.size === 1
    ? [made.use(portTo(fdOf(0), layouts))]
    : layouts.map((layout, i) => made.use(portTo(fdOf(i), [layout])));
  made.move();
  return { ports, layouts, access, info, metadata };
}

/** The dma-bufs of this machine. */
export const dmabuf: DmaBufContext = new DmaBufContext();
