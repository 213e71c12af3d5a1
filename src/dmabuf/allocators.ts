import { O_RDWR, UDMABUF_FLAGS_CLOEXEC } from "../../ffi/dmabuf/constants.ts";
import {
  dma_heap_allocation_data,
  drm_mode_create_dumb,
  drm_mode_destroy_dumb,
  drm_prime_handle,
  readDrmModeCreateDumb,
  udmabuf_create,
  writeDmaHeapAllocationData,
  writeDrmModeCreateDumb,
  writeDrmModeDestroyDumb,
  writeDrmPrimeHandle,
  writeUdmabufCreate,
} from "../../ffi/dmabuf/structs.ts";
import { O_CLOEXEC } from "../../ffi/libc/constants.ts";
import { LayoutError } from "../core/errors.ts";
import type { Undo } from "../core/life/undo.ts";
import { type DeviceFile, lookAtDeviceFile, openDeviceFile } from "../core/native/device_file.ts";
import { closeFd } from "../core/native/fd.ts";
import { createMemfd } from "../core/native/memfd.ts";
import { textOf } from "../core/native/mappings.ts";
import { PAGE } from "../core/native/blocks.ts";
import { checks, ioctl, onlyFd, structOf } from "./library.ts";

/** A source of dma-bufs. */
export interface Allocator {
  /** The device file, which `from` names: `"/dev/udmabuf"`. */
  readonly node: string;
  /** Its kind: pages of a memfd, a heap, or a display driver's buffers. */
  readonly kind: "udmabuf" | "dma-heap" | "dumb-buffer";
  /** True if this process can use it. */
  readonly open: boolean;
  /** Why this process cannot use it. */
  readonly reason?: string;
  /** What would open it. */
  readonly remedy?: string;
}

interface Kind extends DeviceFile {
  readonly kind: Allocator["kind"];
  /** The folder of its nodes, and which of its files they are. */
  readonly folder: string;
  readonly names: RegExp;
  /** The nodes to look for if the folder must not be read. */
  readonly usual: readonly string[];
  /** Makes a dma-buf by the open node. */
  allocate(node: number, byteLength: number): number;
}

const KINDS: readonly Kind[] = [
  {
    kind: "udmabuf",
    folder: "/dev",
    names: /^udmabuf$/,
    usual: ["udmabuf"],
    missing: "Load its module: modprobe udmabuf (a kernel with CONFIG_UDMABUF).",
    group: "kvm",
    allocate(node, byteLength) {
      const undo: Undo = []; // closes the memfd, whose pages the dma-buf keeps
      return onlyFd(() => udmabuf(node, createMemfd(byteLength, undo).fd, 0, byteLength), undo);
    },
  },
  {
    kind: "dma-heap",
    folder: "/dev/dma_heap",
    names: /./,
    usual: ["system"],
    missing: "It needs a kernel with CONFIG_DMABUF_HEAPS and CONFIG_DMABUF_HEAPS_SYSTEM.",
    group: "video",
    allocate(node, byteLength) {
      const arg = structOf(dma_heap_allocation_data);
      writeDmaHeapAllocationData(arg, 0, {
        len: BigInt(byteLength),
        fd: 0,
        fd_flags: O_RDWR | O_CLOEXEC,
        heap_flags: 0n,
      });
      ioctl(node, "DMA_HEAP_IOCTL_ALLOC", arg);
      return arg.getUint32(dma_heap_allocation_data.fields.fd.offset, true);
    },
  },
  {
    kind: "dumb-buffer",
    folder: "/dev/dri",
    names: /^card\d+$/,
    usual: ["card0"],
    missing: "It needs a display driver with a card node; modprobe vkms makes one without a display.",
    group: "video",
    allocate: dumbBuffer,
  },
];

/** A dma-buf of a display driver, which takes it for a picture with rows of one page each. */
function dumbBuffer(card: number, byteLength: number): number {
  const dumb = structOf(drm_mode_create_dumb);
  const size = { width: PAGE, height: byteLength / PAGE, bpp: 8 };
  writeDrmModeCreateDumb(dumb, 0, { ...size, flags: 0, handle: 0, pitch: 0, size: 0n });
  ioctl(card, "DRM_IOCTL_MODE_CREATE_DUMB", dumb, "The driver has no dumb buffers: use another allocator.");
  const { handle } = readDrmModeCreateDumb(dumb, 0);
  const prime = structOf(drm_prime_handle);
  writeDrmPrimeHandle(prime, 0, { handle, flags: O_RDWR | O_CLOEXEC, fd: -1 });
  const destroyed = structOf(drm_mode_destroy_dumb); // the fd keeps the memory
  writeDrmModeDestroyDumb(destroyed, 0, { handle });
  return onlyFd(() => {
    ioctl(card, "DRM_IOCTL_PRIME_HANDLE_TO_FD", prime);
    return prime.getInt32(drm_prime_handle.fields.fd.offset, true);
  }, [() => void ioctl(card, "DRM_IOCTL_MODE_DESTROY_DUMB", destroyed)]);
}

function udmabuf(node: number, memfd: number, offset: number, size: number): number {
  const arg = structOf(udmabuf_create);
  writeUdmabufCreate(arg, 0, { memfd, flags: UDMABUF_FLAGS_CLOEXEC, offset: BigInt(offset), size: BigInt(size) });
  return ioctl(
    node,
    "UDMABUF_CREATE",
    arg,
    "It takes a memfd that is sealed against shrinking and not against writing, of at most as many MiB as " +
      "/sys/module/udmabuf/parameters/size_limit_mb says (64).",
  );
}

export const UDMABUF = "/dev/udmabuf";

/** A cache for probes, which make no native call. {@link allocators} refreshes it. */
const known = new Map<string, Allocator>();

export function allocatorAt(node: string, again = false): Allocator | undefined {
  const kind = kindOf(node);
  if (kind === undefined) return undefined;
  if (again || !known.has(node)) known.set(node, lookAt(node, kind));
  return known.get(node);
}

function kindOf(node: string): Kind | undefined {
  return KINDS.find(({ folder, names }) => {
    const name = node.slice(folder.length + 1);
    return node.startsWith(`${folder}/`) && !name.includes("/") && names.test(name);
  });
}

function lookAt(node: string, about: Kind): Allocator {
  return { node, kind: about.kind, ...lookAtDeviceFile(node, about) };
}

/** Every allocator that this machine has or could have, the best first. */
export function allocators(): Allocator[] {
  return KINDS.flatMap(({ folder, names, usual }) => {
    const found = filesIn(folder)?.filter((name) => names.test(name)).sort() ?? [];
    return (found.length > 0 ? found : usual).map((name) => allocatorAt(`${folder}/${name}`, true)!);
  });
}

function filesIn(folder: string): string[] | undefined {
  try {
    if (Deno.permissions.querySync({ name: "read", path: folder }).state !== "granted") return undefined;
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch {
    return undefined;
  }
}

/** The allocator that a program names, or the first open one. @throws {ArgumentError} if it is closed. */
function chosen(from: string | undefined): Allocator {
  if (from !== undefined) checks.assertText(from, "from");
  const all = from === undefined ? allocators() : [allocatorAt(from, true)];
  const open = all.find((one) => one?.open);
  if (open !== undefined) return open;
  if (all[0] === undefined) {
    throw checks.wrong("from", `expected the node of an allocator, got "${from}".`, "See dmabuf.allocators().");
  }
  const reasons = all.map((one) => one!.reason!.slice(0, -1)).join("; ");
  throw checks.wrong("from", `no dma-buf can be allocated: ${reasons}.`, all[0].remedy);
}

/** A new dma-buf, whose fd the caller owns. */
export function allocateFd(byteLength: number, from: string | undefined): number {
  const { node, kind } = chosen(from);
  const pages = Math.ceil(Math.max(byteLength, 1) / PAGE) * PAGE;
  assertAvailable(pages);
  return through(node, (fd) => KINDS.find((one) => one.kind === kind)!.allocate(fd, pages));
}

/** Refuses more than the machine has: a heap allocates until the kernel kills processes, perhaps this one. */
function assertAvailable(byteLength: number): void {
  const all = textOf("/proc/meminfo").matchAll(/^(?:MemAvailable|SwapFree):\s*(\d+) kB$/gm);
  const available = [...all].reduce((sum, [, kib]) => sum + Number(kib) * 1024, 0);
  if (available === 0 || byteLength <= available) return; // 0 if /proc cannot be read
  throw new LayoutError(`a dma-buf of ${byteLength} bytes was asked for, and this machine has ${available} to give.`, {
    api: "dmabuf",
    hint: "Ask for fewer bytes, or free memory: a dma-buf's pages are never swapped out.",
  });
}

/** A dma-buf of a memfd's pages, whose fd the caller owns. */
export function fromMemfd(memfd: number, offset: number, size: number): number {
  return through(UDMABUF, (node) => udmabuf(node, memfd, offset, size));
}

function through(path: string, use: (node: number) => number): number {
  const node = openDeviceFile(path, kindOf(path)!);
  if (typeof node !== "number") throw checks.wrong("from", node.reason, node.remedy);
  return onlyFd(() => use(node), [() => closeFd(node)]);
}
