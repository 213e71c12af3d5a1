import { describeLayout, type Layout } from "../core/layout/layout.ts";
import { type FrameInfo, frameInWords } from "../core/layout/frame_info.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { VkBuffer } from "../../ffi/vulkan/handles.ts";
import type { Access } from "../core/memory/access.ts";
import { adoptHandle, own } from "../core/memory/own.ts";
import { registerByHandle } from "../core/memory/peers.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { tensorOver } from "../core/tensors/over.ts";
import type { VulkanBase } from "./base.ts";
import { needsOfBuffer, VulkanBuffer } from "./buffer.ts";
import { fillCall } from "./commands.ts";
import { abilityOf, closedFor, EXPORT_KINDS, type ExportKind } from "./handle_kinds.ts";
import { checks } from "./library.ts";
import type { Place } from "./memory_object.ts";
import type { OpenDevice } from "./open_device.ts";
import type { VulkanTensor } from "./tensor.ts";

export interface Making {
  readonly place: Place;
  /** The kind of fd by which it is exported; by default the best that the device has. */
  readonly exportAs?: ExportKind | undefined;
}

const BUFFER = {};

const FOREIGN = {};

/**
 * New zeroed memory as a tensor, or as a frame in one buffer. It can be exported by the chosen kind of fd, and by all kinds
 * that the device combines with it.
 * @throws {ArgumentError} if the device exports no memory by that kind.
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
    const zeroed = base.line.submitRaw(fillCall(buffer, [{ at: 0, length: whole, word: 0 }]));
    undo.push(() => base.line.block(zeroed.mark));
    const { size } = buffer.info!; // an importer needs the whole length
    const allocation = base.openDevice.allocation({
      kind: "vulkan.buffer",
      byteLength: size,
      free: (fate) => fate === "unused" ? buffer.free() : base.openDevice.keep(),
    });
    allocation.attachment(BUFFER, () => buffer);
    registerByHandle(kindOf(base.openDevice), buffer.buffer, allocation);
    const what = info === undefined ? `tensor ${describeLayout(layouts[0])}` : `frame ${frameInWords(info)}`;
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

export function attachedBuffer(
  base: VulkanBase,
  given: bigint,
  at: Layout,
  access: Access = "read-write",
): VulkanTensor {
  const handle = checks.handleIn<VkBuffer>(given, "handle");
  const { openDevice, resource: owner } = base;
  owner.assertLive();
  const { size } = needsOfBuffer(openDevice, handle);
  checks.assertWithin(at, size, "init", "vkGetBufferMemoryRequirements2");
  const block = { kind: ATTACHED, byteLength: size, free() {} };
  const { allocation } = adoptHandle(kindOf(openDevice), handle, () => block);
  const make = () => new VulkanBuffer(openDevice, size, { from: "foreign", buffer: handle });
  const buffer = allocation.findAttachment<VulkanBuffer>(BUFFER) ?? allocation.attachment(FOREIGN, make);
  const name = `vulkan tensor ${describeLayout(at)}`;
  const start = at.byteOffset;
  const resource = own({ name, allocation, start, end: start + at.byteLength, access, owners: [owner] });
  return tensorOver<VulkanTensor>(base, { handle: buffer, layouts: [at], resource }) as VulkanTensor;
}

/** Distinguishes devices, because handles of two devices may be equal. */
function kindOf({ handle }: OpenDevice): string {
  return `VkBuffer of ${handle}`;
}

/** The kinds of handle for new memory: the chosen one, or the best, and all that the device combines with it. */
function exportTypes(device: OpenDevice, asked: ExportKind | undefined): number {
  const closed = asked && closedFor(device, asked, "exports");
  if (closed !== undefined) throw checks.wrong("exportAs", closed.reason, closed.remedy);
  const kinds = (Object.keys(EXPORT_KINDS) as ExportKind[]).sort((a, b) => Number(b === asked) - Number(a === asked));
  const able = kinds.map((kind) => abilityOf(device, kind)).filter((ability) => ability.exports);
  if (able.length === 0) return 0;
  const [{ handleType, compatible }] = able;
  return able.reduce((types, one) => (compatible & one.handleType) === 0 ? types : types | one.handleType, handleType);
}

/** The kind of block of other libraries' buffers. */
export const ATTACHED = "vulkan.attached";

/** The buffer that the device made for an allocation; undefined if the memory is another API's. */
export function ownBuffer(device: OpenDevice, allocation: Allocation): VulkanBuffer | undefined {
  const buffer = allocation.findAttachment<VulkanBuffer>(BUFFER);
  return buffer?.isOf(device) ? buffer : undefined;
}
