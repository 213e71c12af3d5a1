import type { Exported, Imported, Memory, Offer } from "../core/contract.ts";
import { type KnownObject, type MemoryKind, Port } from "../core/device/port.ts";
import type { Reason } from "../core/errors.ts";
import { layout } from "../core/layout/layout.ts";
import type { Undo } from "../core/life/undo.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { Import, Imports } from "../core/memory/imports.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import type { VulkanBase } from "./base.ts";
import { VulkanBuffer } from "./buffer.ts";
import { givenAway } from "./fds.ts";
import { closedFor, type ExportKind, fdAccessOf, type HandleKind, HANDLES } from "./handle_kinds.ts";
import { HOST_PAGES, importPages, takesPages } from "./host_pages.ts";
import type { OpenDevice } from "./open_device.ts";
import { allocated, ATTACHED, ownBuffer } from "./own_memory.ts";
import { placeOf } from "./staging.ts";
import { VulkanTensor } from "./tensor.ts";

type Closed = Reason | undefined;

export interface ImportedBuffer extends Import {
  readonly buffer: VulkanBuffer;
}

/** The ports of a context's buffers. A block that comes by an fd is imported once. */
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
    denseCopy: "vulkan.queue.copy(tensor, vulkan.allocate({ shape, dtype }))",
    exports: [{ ...made("opaque-fd"), device: own }, made("dma-buf"), {
      kind: "host-pointer",
      refuse: (range) => refuseHost(device, range),
      prepare: (range) => void range.address, // the getter maps it
    }],
    imports: [
      { kind: "opaque-fd", device: own, closed: () => closedFor(device, "opaque-fd", "imports") },
      ...(device.facts.driver.startsWith("NVIDIA") ? [ofCuda(device)] : []),
      { kind: "dma-buf", fdAccess: fdAccessOf(device.facts), closed: () => closedFor(device, "dma-buf", "imports") },
      {
        kind: "host-pointer",
        closed: () => closedFor(device, "host-pointer", "imports"),
        takes: takesPages(device),
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

const FROM_ELSEWHERE = {
  reason: "the memory came from another API or process, and Vulkan lets out only its own.",
  remedy: "Map the tensor that it came from, or receive it in the context that uses it.",
};

const FROM_ANOTHER_LIBRARY = {
  reason: "another library made this VkBuffer, and Vulkan reports no memory of a buffer.",
  remedy: "Copy it by queue.read() or queue.copy(), or take its memory itself, by an fd: vulkan.importMemory().",
};

/**
 * CUDA's host memory, made by any GPU. For that of another GPU, the driver reported success and showed other bytes (two H200s).
 */
function ofCuda(device: OpenDevice): Offer {
  const { name, id: { uuid } } = device.facts;
  const other = {
    reason:
      `it is memory of another GPU than ${name}, UUID ${uuid}, and Vulkan would show other bytes without an error.`,
    remedy: 'Allocate it with { location: "host" }, or open Vulkan on the same device, by its UUID.',
  };
  return {
    ...{ kind: "opaque-fd", from: "cuda.virtual", closed: () => closedFor(device, "opaque-fd", "imports") },
    refuse: ({ address }) => address === undefined ? other : undefined,
  };
}

function refuseOthers({ block }: Allocation): Closed {
  return block.kind === ATTACHED ? FROM_ANOTHER_LIBRARY : FROM_ELSEWHERE;
}

function refuseExport(device: OpenDevice, { allocation }: ByteRange, kind: ExportKind): Closed {
  const buffer = ownBuffer(device, allocation);
  if (buffer === undefined) return refuseOthers(allocation);
  if (buffer.exportsAs(kind)) return undefined;
  return {
    reason: `the memory was made to go out by another kind of fd, and not as ${kind}.`,
    remedy: `Allocate it with { exportAs: "${kind}" }.`,
  };
}

function refuseHost(device: OpenDevice, { allocation }: ByteRange): Closed {
  const buffer = ownBuffer(device, allocation);
  if (buffer === undefined) return refuseOthers(allocation);
  if (buffer.isHostVisible) return undefined;
  return {
    reason: `the CPU does not see this memory as the device does: its type is ${buffer.info!.type.index}.`,
    remedy: 'Allocate it with { memory: "host" }, or read it by queue.read().',
  };
}

/** Exports the device's original memory, even if the tensor is a re-import over the same pages. */
function exported(device: OpenDevice, tensor: VulkanTensor, given: MemoryKind, byteLength: number): Exported {
  const kind = given as HandleKind;
  if (kind === "host-pointer") return { port: new Port(kind, { value: tensor.address!, byteLength }) };
  const { start: offset, allocation } = tensor.grant;
  const buffer = ownBuffer(device, allocation)!;
  const fd = () => buffer.exportFd(kind);
  const { size, type, dedicated } = buffer.info!;
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
  return { kind: "VkDeviceMemory", handle: memory!, byteLength, start };
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
