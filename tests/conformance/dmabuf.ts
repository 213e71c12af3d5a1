import { MapperGraph } from "../../mod.ts";
import { NULL } from "../../ffi/address.ts";
import { mapPages, unmapPages } from "../../src/core/native/blocks.ts";
import { type Allocator, dmabuf, DmaBufContext, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { host } from "../../src/host/mod.ts";
import { VulkanContext } from "../../src/vulkan/mod.ts";
import { bytesAt } from "./bytes.ts";
import { SIZE } from "./case.ts";
import { byHost, hostEnd } from "./host_end.ts";
import { levelZeroEnds, noLevelZero } from "./levelzero.ts";
import type { Candidate, End, Foreign, Subject } from "./subject.ts";
import { openSurfaces, type Surfaces } from "./vaapi.ts";
import { devices } from "./vulkan.ts";
import { VulkanEnd } from "./vulkan_end.ts";
import { IMAGE_ROWS, VulkanImageEnd } from "./vulkan_image.ts";

/** Host memory that has an fd. */
const sharedEnd: End = {
  ...hostEnd,
  allocate: (init) => host.allocate({ ...init, sharable: true }),
  allocateFrame: (info) => host.allocateFrame(info, { sharable: true }),
};

/** The edges of dma-bufs, of every allocator that is open here. The first one's are mapped ten thousand times. */
export function dmabufs(): Candidate[] {
  const allocators = dmabuf.allocators();
  const toHost = allocators.map(({ node, open, reason }, i): Candidate => ({
    edge: "dmabuf→host",
    device: node,
    open: open ? () => opened(endOf(node), hostEnd) : reason!,
    covered: i > 0,
  }));
  const [{ node, open, reason }] = allocators;
  return [
    { edge: "host→dmabuf", open: open ? () => opened(sharedEnd, endOf(node)) : reason! },
    { edge: "dmabuf→dmabuf", open: open ? () => opened(endOf(node), elsewhere(node), ASKED_OF_FDS) : reason! },
    ...toHost,
    ...VULKAN.flatMap((edge) => withVulkan(edge, allocators[0])),
    ...VAAPI.map((edge) => withVaapi(edge, allocators[0])),
    {
      edge: "dmabuf→levelzero.usm",
      covered: true,
      openedElsewhere: true,
      open: open ? noLevelZero ?? (() => openedWithLevelZero(node)) : reason!,
    },
  ];
}

const VAAPI = ["vaapi→dmabuf", "dmabuf→vaapi"];

/** Drivers know one way or another of telling where planes lie: both are tried. */
const FIRST_TRIES = ["vaapi.vaExportSurfaceHandle", "vaapi.vaCreateSurfaces"];

/** An edge to surfaces or from them, on the driver of the tests, whose surfaces are udmabufs. */
function withVaapi(edge: string, { node, open, reason }: Allocator): Candidate {
  const about = { edge, covered: true, openedElsewhere: true };
  if (!open) return { ...about, open: reason! };
  const surfaces = openSurfaces();
  if (typeof surfaces === "string") return { ...about, open: surfaces };
  surfaces[Symbol.dispose]();
  return { ...about, open: () => openedWithVaapi(edge, node) };
}

function openedWithVaapi(edge: string, from: string): Subject {
  using made = new DisposableStack();
  const { end, other, variants } = made.use(openSurfaces() as Surfaces);
  const rows: End = { ...endOf(from), shapeOf: IMAGE_ROWS.shapeOf };
  const graph = made.use(new MapperGraph([host, dmabuf, end.target.context, other.target.context]));
  const isTo = edge === VAAPI[1];
  const kept = made.move();
  return {
    graph,
    ...(isTo ? { source: rows, target: end, elsewhere: other } : { source: end, target: rows }),
    ...{
      expected: "alias",
      variants,
      silent: FIRST_TRIES,
      silentAtAllocating: [...ASKED_OF_FDS, "libc.fcntl"],
      silentAtAttaching: ASKED_OF_FDS,
    },
    ...{ openContext: openSurfaces as () => Surfaces },
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** Device memory of the tests' driver, whose dma-bufs are the kernel's. */
function openedWithLevelZero(from: string): Subject {
  const { ends: [target, elsewhere], contexts, ...rest } = levelZeroEnds("device", 2);
  return {
    ...rest,
    graph: new MapperGraph([host, dmabuf, ...contexts]),
    ...{ source: endOf(from), target, elsewhere, expected: "alias" },
    ...{ silentAtAllocating: ASKED_OF_FDS, silentAtAttaching: ASKED_OF_FDS },
  };
}

const VULKAN = ["dmabuf→vulkan", "vulkan→dmabuf", "dmabuf→vulkan.image", "vulkan.image→dmabuf"];

/** An edge to Vulkan or from it, on every device. */
function withVulkan(edge: string, { node, open: isOpen, reason }: Allocator): Candidate[] {
  const names = isOpen ? devices() : reason!;
  const about = { edge, covered: true, openedElsewhere: true };
  if (typeof names === "string") return [{ ...about, open: names }];
  const open = edge.includes("image") ? openedWithImages : openedWithVulkan;
  return names.map((device) => ({ ...about, device, open: () => open(edge, device, node) }));
}

function openedWithVulkan(edge: string, device: string, from: string): Subject {
  using made = new DisposableStack();
  const end = made.use(new VulkanEnd(device, { exportAs: "dma-buf" }));
  const other = made.use(new VulkanEnd(device));
  const [source, target, silent] = edge === VULKAN[0] ? [endOf(from), end, []] : [end, endOf(from), ASKED_OF_FDS];
  const graph = made.use(new MapperGraph([host, dmabuf, end.target]));
  const kept = made.move();
  return {
    ...{ graph, source, target, expected: "alias", elsewhere: other, silent },
    silentAtAllocating: ASKED_OF_FDS,
    silentAtAttaching: ASKED_OF_FDS,
    openContext: () => VulkanContext.open({ device }),
    [Symbol.dispose]: () => kept.dispose(),
  };
}

function openedWithImages(edge: string, device: string, from: string): Subject {
  using made = new DisposableStack();
  const end = made.use(new VulkanImageEnd(device, undefined, { tiling: "linear", exportAs: "dma-buf" }));
  const other = made.use(new VulkanImageEnd(device));
  const { allocateFrame: _, ...buffers } = endOf(from); // of a picture, each plane is an image
  const rows: End = { ...buffers, shapeOf: IMAGE_ROWS.shapeOf };
  const isTo = edge === VULKAN[2];
  const [source, target, silent] = isTo ? [rows, end, []] : [end, rows, ASKED_OF_FDS];
  const graph = made.use(new MapperGraph([host, dmabuf, end.context]));
  const kept = made.move();
  return {
    ...{ graph, source, target, expected: "alias", silent },
    silentAtAllocating: ASKED_OF_FDS,
    silentAtAttaching: ASKED_OF_FDS,
    openContext: () => VulkanContext.open({ device }),
    ...(isTo
      ? { elsewhere: other, variants: IMAGE_ROWS.variants }
      : { variants: { ...IMAGE_ROWS.variants, padded: [], parts: [] } }),
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/**
 * The exporter of a buffer that comes by its fd is read in /proc. Where that fails, an ioctl shows whether it is one.
 */
const ASKED_OF_FDS = ["libc.open", "libc.read", "libc.close"];

function opened(source: End, target: End, silent: readonly string[] = []): Subject {
  const graph = new MapperGraph([...new Set([host, dmabuf, target.target.context])]);
  return {
    ...{
      graph,
      source,
      target,
      expected: "alias",
      silent,
      silentAtAllocating: ASKED_OF_FDS,
      silentAtAttaching: ASKED_OF_FDS,
    },
    [Symbol.dispose]: () => graph[Symbol.dispose](),
  };
}

/** The same in a context of its own. */
function elsewhere(from: string): End {
  return endOf(from, new DmaBufContext());
}

/** Dma-bufs of one allocator. */
function endOf(from: string, target: DmaBufContext = dmabuf): End {
  return {
    ...dmaBufEnd((init) => target.allocate({ ...init, from }), target),
    allocateFrame: (info) => target.allocateFrame(info, { from }),
    foreign: () => foreignBuffer(from, target),
  };
}

/** Dma-bufs. They have no commands: what writes them is a map of the CPU's. */
export function dmaBufEnd(allocate: End["allocate"], target: DmaBufContext = dmabuf): End {
  const own = new MapperGraph([host, target]);
  return {
    target,
    allocate,
    ...byHost(own),
    raw: {
      write(tensor, bytes) {
        look(tensor as DmaBufTensor, (own) => own.set(bytes));
        return () => Promise.resolve();
      },
      read: (tensor) => Promise.resolve(look(tensor as DmaBufTensor, (own) => own.slice())),
    },
  };
}

/** A buffer of samepage's, whose fd stands for one of other code's. */
function foreignBuffer(from: string, target: DmaBufContext): Foreign {
  const made = target.allocate({ shape: [SIZE], dtype: "u8", from });
  const { fd, byteLength } = made.handle;
  return {
    attach: (options) => target.attach(fd, { shape: [SIZE], dtype: "u8" }, options),
    misfit: (options) => target.attach(fd, { shape: [byteLength + 1], dtype: "u8" }, options),
    [Symbol.dispose]: () => made[Symbol.dispose](),
  };
}

/** Through a mapping of the test's own. */
function look<R>({ rawHandle, layout: { byteOffset, byteLength } }: DmaBufTensor, use: (bytes: Uint8Array) => R): R {
  const address = mapPages(NULL, rawHandle.byteLength, rawHandle.fd);
  try {
    return use(bytesAt(address + BigInt(byteOffset), byteLength));
  } finally {
    unmapPages(address, rawHandle.byteLength);
  }
}
