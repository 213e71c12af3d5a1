import type { Exported, Imported, Memory, StepSide } from "../core/contract.ts";
import { type MemoryKind, Port } from "../core/device/port.ts";
import { AccessError, type InteropError, type LayoutError, type Reason } from "../core/errors.ts";
import { allOrNothing } from "../core/life/undo.ts";
import type { Access } from "../core/memory/access.ts";
import { closeFd, duplicateFd } from "../core/native/fd.ts";
import { inspectMemfd } from "../core/native/memfd.ts";
import { PAGE } from "../core/native/blocks.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import { allocatorAt, fromMemfd, UDMABUF } from "./allocators.ts";
import { DmaBuf } from "./buffer.ts";
import { images } from "./images.ts";
import { checks, onlyFd } from "./library.ts";
import { isLinear, modifierName } from "./modifiers.ts";
import { signals } from "./sync.ts";
import { bufferOf, DmaBufTensor, handOver } from "./tensor.ts";

type Closed = Reason | undefined;

/** The ports of dma-bufs, which are mapped for the CPU, and made of a memfd's pages. */
export const ports: Memory<DmaBufTensor, DmaBuf> = {
  line: signals,
  exports: [{ kind: "dma-buf" }, { kind: "host-pointer", refuse: refuseHost, prepare: mapForHost }],
  imports: [{ kind: "dma-buf" }, {
    kind: "memfd",
    closed: closedMemfd,
    refusePort: (port) => refuseMemfd(port.fd, pagesOf(port).end),
  }],
  export: exported,
  import: imported,
  images,
  tensor: (init) => new DmaBufTensor(init),
};

function closedMemfd(): Closed {
  const { open, reason, remedy } = allocatorAt(UDMABUF)!;
  return open ? undefined : { reason: reason!, remedy: remedy! };
}

function refuseHost({ allocation, planes = [] }: ByteRange): Closed {
  const { modifier = 0n } = bufferOf(allocation) ?? {};
  if (!isLinear(modifier)) {
    return {
      reason: `its layout is ${modifierName(modifier)}, in which rows do not lie one after the other.`,
      remedy: "Have the GPU that knows this layout write it to a linear buffer: ask for modifier 0.",
    };
  }
  return planes.map(({ fd }) => fd?.hidden).find((reason) => reason !== undefined);
}

/** Maps the bytes. A buffer that cannot be mapped is refused afterwards. */
function mapForHost(range: ByteRange): void {
  void range.address;
}

function exported(tensor: DmaBufTensor, kind: MemoryKind, byteLength: number, access: Access): Exported {
  const { rawHandle: buffer, layout: { byteOffset: offset } } = tensor;
  if (kind !== "host-pointer") {
    return { port: new Port(kind, { fd: duplicateFd(buffer.fd), offset, byteLength }), ...fenced(buffer, access) };
  }
  const { address } = tensor;
  if (address === undefined) throw new AccessError(`${tensor.name}: ${buffer.hidden?.reason}`, { api: "dmabuf" });
  return { port: new Port(kind, { value: address, byteLength }), ...used(buffer, access) };
}

/** Begins the CPU's access, until the map ends. Outside {@link exported}, so that no closure holds the tensor. */
function used(buffer: DmaBuf, access: Access): StepSide {
  buffer.begin(access);
  return { release: () => buffer.end(access) };
}

/** Makes the other side's work a fence of the buffer; writers wait for a reader's work. */
function fenced(buffer: DmaBuf, access: Access): StepSide {
  return { end: () => handOver([buffer], access) };
}

function imported(port: Port, access: Access): Imported<DmaBuf> {
  const { kind, offset, byteLength } = port;
  const isPages = kind === "memfd";
  const buffer = isPages ? new DmaBuf(ofPages(port), true) : new DmaBuf(port.takeFd());
  const start = isPages ? offset % PAGE : offset;
  allOrNothing("importing a dma-buf", () => {
    if (start + byteLength > buffer.byteLength) throw tooShort(start + byteLength, buffer);
    buffer.assertAllows(access);
  }, [() => buffer.free()]);
  const object = { kind: "dma-buf", handle: buffer.identity, byteLength: buffer.byteLength, start };
  return { handle: buffer, object, release: () => buffer.free() };
}

function ofPages(port: Port): number {
  const { first, end } = pagesOf(port);
  const memfd = port.takeFd();
  return onlyFd(() => {
    const refused = refuseMemfd(memfd, end);
    if (refused !== undefined) throw refused;
    return fromMemfd(memfd, first, end - first);
  }, [() => closeFd(memfd)]);
}

function pagesOf({ offset, byteLength }: Port): { readonly first: number; readonly end: number } {
  return { first: Math.floor(offset / PAGE) * PAGE, end: Math.ceil((offset + byteLength) / PAGE) * PAGE };
}

/** Why the pages of a memfd up to `end` cannot become a dma-buf. */
function refuseMemfd(memfd: number, end: number): InteropError | undefined {
  const { byteLength, mode } = inspectMemfd(memfd);
  if (byteLength < end) return notInPages();
  return mode === "read-write" ? undefined : sealedMemfd();
}

function notInPages(): LayoutError {
  return checks.unfit(
    "source",
    "its memfd ends within a page, and /dev/udmabuf takes only whole ones.",
    `Make the memfd's length a multiple of ${PAGE}, as host.allocate({ sharable: true }) does.`,
  );
}

/** The error for a memfd that can only be read: any holder of a dma-buf can write it, and not every kernel checks the seals. */
function sealedMemfd(): AccessError {
  return new AccessError("source: its memfd can only be read, and a dma-buf of it could be written.", {
    api: "dmabuf",
    argument: "source",
    hint:
      "Use it as host memory (a receiver passes { contexts: [host] }), or ask its owner for an fd that is open for both, of a " +
      "memfd not sealed against writing.",
  });
}

function tooShort(end: number, { byteLength }: DmaBuf): LayoutError {
  return checks.unfit(
    "description",
    `it ends at byte ${end}, and the buffer has ${byteLength}.`,
    "Its length is asked of the kernel: what does its owner say of offset, stride and height?",
  );
}
