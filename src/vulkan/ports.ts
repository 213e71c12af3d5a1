import type { Exported, Imported, KnownObject, Memory, Offer } from "../core/device/memory.ts";
import { type MemoryKind, Port } from "../core/device/port.ts";
import { MemoryClass, unseen, verdictOf } from "../core/device/proofs.ts";
import type { Refusal } from "../core/errors.ts";
import type { FrameInfo } from "../core/layout/frame_info.ts";
import { describeLayout, type Layout, layout } from "../core/layout/layout.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { Import, Imports } from "../core/memory/imports.ts";
import { own } from "../core/memory/own.ts";
import { mapBlock, PAGE } from "../core/native/blocks.ts";
import { bytesAt } from "../core/native/pin.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { tensorOver } from "../core/tensors/over.ts";
import type { MemoryAbility } from "./abilities.ts";
import type { VulkanBase } from "./base.ts";
import { VulkanBuffer } from "./buffer.ts";
import { fillCall } from "./commands.ts";
import { givenAway } from "./fds.ts";
import { checks } from "./library.ts";
import { EXPORT_KINDS, type ExportKind, fdAccessOf, type HandleKind, HANDLES } from "./handle_kinds.ts";
import type { Place } from "./memory_object.ts";
import type { OpenDevice } from "./open_device.ts";
import { placeOf } from "./staging.ts";
import { VulkanTensor } from "./tensor.ts";

type Closed = Omit<Refusal, "edge"> | undefined;

/** How new memory is made. */
export interface Making {
  /** Where it lies. */
  readonly place: Place;
  /** The kind of fd by which it has to go out; the best that the device has if left out. */
  readonly exportAs?: ExportKind | undefined;
}

/** The key of an allocation's buffer. */
const BUFFER = {};

/** Memory of another API, as a buffer. */
export interface ImportedBuffer extends Import {
  /** The buffer over all of it. */
  readonly buffer: VulkanBuffer;
}

/** The bytes of an experiment. */
const LENGTH = 4096;

/** Host memory, of which a device uses every page in place, or none. */
const HOST_PAGES = new MemoryClass<VulkanBase>("host memory, by its pages", (base, undo) => {
  return verdictOf(experiment(base, undo), "host memory, by its pages");
});

/** What a context's buffers give to other kinds of memory, and take from them. A block that comes by an fd is imported once. */
export function portsOf(base: VulkanBase, imports: Imports<ImportedBuffer>): Memory<VulkanTensor, VulkanBuffer> {
  const { openDevice: device, line, staging } = base;
  const sample = (exportAs: ExportKind, byteLength: number, undo: Undo): VulkanTensor => {
    const layouts = [layout({ shape: [byteLength], dtype: "u8" })];
    const tensor = allocated(base, layouts, { place: "device", exportAs }) as VulkanTensor;
    undo.push(() => tensor[Symbol.dispose]());
    return tensor;
  };
  const own = { uuid: device.facts.id.uuid! };
  const made = (kind: ExportKind): Offer => ({
    kind,
    closed: () => closedFor(device, kind, "exports"),
    refuse: (range) => refuseExport(device, range, kind),
    sample: () => ({ name: `device memory by its ${kind}`, make: (length, undo) => sample(kind, length, undo) }),
  });
  return {
    line,
    exports: [{ ...made("opaque-fd"), device: own }, made("dma-buf"), {
      kind: "host-pointer",
      refuse: (range) => refuseHost(device, range),
      prepare: (range) => void range.address, // which maps it
    }],
    imports: [
      { kind: "opaque-fd", device: own, closed: () => closedFor(device, "opaque-fd", "imports") },
      { kind: "dma-buf", fdAccess: fdAccessOf(device.facts), closed: () => closedFor(device, "dma-buf", "imports") },
      {
        kind: "host-pointer",
        closed: () => closedFor(device, "host-pointer", "imports"),
        refuse: (range) => refusePages(device, range),
        prepare: () => base.proofs.tryToProve(HOST_PAGES),
        judge: () => base.proofs.judge(HOST_PAGES),
      },
    ],
    export: (tensor, kind, byteLength) => exported(device, tensor, kind, byteLength),
    import: (port, _access, of) => imported(device, imports, port, of),
    tensor: (init) => new VulkanTensor(init),
    copies: staging.copiesOn(line, placeOf),
  };
}

/**
 * New zeroed memory as a tensor, or as a frame in one buffer. It may go out by the kind of fd that was asked for, and by
 * those that the device gives the same memory besides.
 *
 * @throws {ArgumentError} if the device exports none of that kind.
 */
export function allocated(
  base: VulkanBase,
  layouts: readonly Layout[],
  { place, exportAs }: Making,
  info?: FrameInfo,
): VulkanTensor | Frame<VulkanTensor> {
  base.resource.assertLive();
  const handleTypes = exportTypes(base.openDevice, exportAs);
  const { byteOffset, byteLength } = layouts[layouts.length - 1];
  const end = byteOffset + byteLength;
  const whole = Math.ceil(end / 16) * 16; // fills take words
  const buffer = new VulkanBuffer(base.openDevice, whole, { from: "new", place, handleTypes });
  const undo: Undo = [() => buffer.free()];
  return allOrNothing("allocating Vulkan memory", () => {
    const zeroed = base.line.submitRaw(fillCall(buffer, 0, whole, 0));
    undo.push(() => base.line.block(zeroed.mark));
    const { size } = buffer.info; // whoever imports the memory has to know all of it
    const allocation = base.openDevice.allocation({
      kind: "vulkan.buffer",
      byteLength: size,
      free: (fate) => fate === "unused" ? buffer.free() : base.openDevice.keep(),
    });
    allocation.attachment(BUFFER, () => buffer);
    const what = info === undefined ? `tensor ${describeLayout(layouts[0])}` : `frame ${info.format}`;
    const resource = own({
      name: `vulkan ${what}`,
      allocation,
      start: layouts[0].byteOffset,
      end,
      owners: [base.resource],
    });
    resource.usedBy(zeroed);
    return tensorOver(base, { handle: buffer, layouts, resource, info });
  }, undo);
}

/** The kinds of handle for new memory: the one asked for, or the best, and all that the same memory can go out by besides. */
function exportTypes(device: OpenDevice, asked: ExportKind | undefined): number {
  const closed = asked && closedFor(device, asked, "exports");
  if (closed !== undefined) throw checks.wrong("exportAs", closed.reason, closed.remedy);
  const kinds = (Object.keys(EXPORT_KINDS) as ExportKind[]).sort((a, b) => Number(b === asked) - Number(a === asked));
  const able = kinds.map((kind) => abilityOf(device, kind)).filter((ability) => ability.exports);
  if (able.length === 0) return 0;
  const [{ handleType, compatible }] = able;
  return able.reduce((types, one) => (compatible & one.handleType) === 0 ? types : types | one.handleType, handleType);
}

function abilityOf({ abilities }: OpenDevice, kind: HandleKind): MemoryAbility {
  return { "opaque-fd": abilities.opaqueFd, "dma-buf": abilities.dmaBuf, "host-pointer": abilities.hostPointer }[kind];
}

/** Why no memory of the device crosses by handles of this kind. */
function closedFor(device: OpenDevice, kind: HandleKind, way: "exports" | "imports"): Closed {
  if (abilityOf(device, kind)[way]) return undefined;
  return device.lacks(HANDLES[kind].extension) ??
    {
      reason: `${device.facts.name} answers that its buffers ${
        way === "exports" ? "go out" : "come in"
      } by no ${kind}.`,
    };
}

const FROM_ELSEWHERE = {
  reason: "the memory came from another API or process, and Vulkan lets out only its own.",
  remedy: "Map the tensor that it came from, or receive it in the context that uses it.",
};

/** The buffer that the device made for an allocation; undefined where it only shows another's. */
function ownBuffer(device: OpenDevice, allocation: Allocation): VulkanBuffer | undefined {
  const buffer = allocation.findAttachment<VulkanBuffer>(BUFFER);
  return buffer?.isOf(device) ? buffer : undefined;
}

function refuseExport(device: OpenDevice, { allocation }: ByteRange, kind: ExportKind): Closed {
  const buffer = ownBuffer(device, allocation);
  if (buffer === undefined) return FROM_ELSEWHERE;
  if (buffer.exportsAs(kind)) return undefined;
  return {
    reason: `the memory was made to go out by another kind of fd, and not as ${kind}.`,
    remedy: `Allocate it with { exportAs: "${kind}" }.`,
  };
}

function refuseHost(device: OpenDevice, { allocation }: ByteRange): Closed {
  const buffer = ownBuffer(device, allocation);
  if (buffer === undefined) return FROM_ELSEWHERE;
  if (buffer.isHostVisible) return undefined;
  return {
    reason: `the CPU does not see this memory as the device does: its type is ${buffer.info.type.index}.`,
    remedy: 'Allocate it with { memory: "host" }, or read it by queue.read().',
  };
}

/** Imported memory begins and ends at pages; where the device wants more than pages, the bytes themselves have to. */
function refusePages({ facts: { name, limits } }: OpenDevice, { address, byteLength }: ByteRange): Closed {
  const align = limits.minImportedHostPointerAlignment;
  if (address === undefined || align <= PAGE) return undefined;
  if (address % BigInt(align) === 0n && byteLength % align === 0) return undefined;
  return {
    reason: `${name} takes host memory that begins and ends at multiples of ${align} bytes.`,
    remedy: `Allocate it so: host.allocate({ align: ${align} }), of a length that ${align} divides.`,
  };
}

/** By an fd goes what the device made, also where the tensor has come back to it over the same pages. */
function exported(device: OpenDevice, tensor: VulkanTensor, given: MemoryKind, byteLength: number): Exported {
  const kind = given as HandleKind;
  if (kind === "host-pointer") return { port: new Port(kind, { value: tensor.address!, byteLength }) };
  const { start: offset, allocation } = tensor.grant;
  const buffer = ownBuffer(device, allocation)!;
  const fd = () => buffer.exportFd(kind);
  const { size, type, dedicated } = buffer.info;
  const whole = kind === "opaque-fd" ? { byteLength: size, type: type.index } : undefined;
  const port = new Port(kind, { fd, offset, byteLength, dedicated, whole });
  return { port, begin: () => buffer.handOver(kind) };
}

function imported(
  device: OpenDevice,
  imports: Imports<ImportedBuffer>,
  port: Port,
  of: Allocation | undefined,
): Imported<VulkanBuffer> {
  if (port.kind === "host-pointer") {
    const { buffer, start } = importPages(device, port);
    return { handle: buffer, object: objectOf(buffer, start), address: port.value, release: () => buffer.free() };
  }
  const make = () => importFd(device, port, of);
  const { buffer, release } = of === undefined ? make() : imports.of(of, make);
  return {
    handle: buffer,
    object: objectOf(buffer, port.offset),
    end: () => buffer.giveBack(),
    ...(of === undefined ? { release } : {}),
  };
}

function objectOf({ memory, byteLength }: VulkanBuffer, start: number): KnownObject {
  return { kind: "VkDeviceMemory", handle: memory, byteLength, start };
}

function importPages(device: OpenDevice, { value, byteLength }: Port) {
  const align = BigInt(device.facts.limits.minImportedHostPointerAlignment);
  const address = value / align * align;
  const end = (value + BigInt(byteLength) + align - 1n) / align * align;
  const handleType = HANDLES["host-pointer"].type;
  const buffer = new VulkanBuffer(device, Number(end - address), { from: "host", address, handleType });
  return { buffer, start: Number(value - address) };
}

function importFd(device: OpenDevice, port: Port, of: Allocation | undefined): ImportedBuffer {
  const byteLength = port.wholeLength(of?.block, "vulkan");
  const { whole: known, dedicated } = port;
  const fd = port.takeFd();
  const handleType = HANDLES[port.kind as HandleKind].type;
  const buffer = givenAway(
    fd,
    "importing memory",
    () => new VulkanBuffer(device, byteLength, { from: "fd", fd, handleType, known, dedicated }),
  );
  return { buffer, release: () => buffer.free() };
}

/** What kept host memory from being an alias; undefined where nothing did. */
function experiment({ openDevice: device, line, staging }: VulkanBase, undo: Undo): string | undefined {
  const block = mapBlock({ byteLength: LENGTH, align: PAGE, sharable: false, guard: false });
  undo.push(() => block.free("unused"));
  const bytes = bytesAt(block.address, LENGTH, "vulkan", undo);
  const { buffer } = importPages(device, new Port("host-pointer", { value: block.address, byteLength: LENGTH }));
  undo.push(() => buffer.free());
  const copies = staging.copiesOn(line, (buffer: VulkanBuffer) => ({ buffer, offset: 0 }));
  return unseen(
    { name: "the CPU", write: (given) => bytes.set(given), read: (into) => into.set(bytes) },
    { name: "the device", write: (given) => copies.write(buffer, given), read: (into) => copies.read(buffer, into) },
    LENGTH,
  );
}
