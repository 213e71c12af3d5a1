import { Port } from "../core/device/port.ts";
import { MemoryClass, unseen, verdictOf } from "../core/device/proofs.ts";
import type { Takes } from "../core/device/takes.ts";
import type { Undo } from "../core/life/undo.ts";
import { mapBlock, PAGE } from "../core/native/blocks.ts";
import { bytesAt } from "../core/native/pin.ts";
import type { VulkanBase } from "./base.ts";
import { VulkanBuffer } from "./buffer.ts";
import { HANDLES } from "./handle_kinds.ts";
import type { OpenDevice } from "./open_device.ts";

const LENGTH = 4096;

export const HOST_PAGES = new MemoryClass<VulkanBase>("host memory, by its pages", (base, undo) => {
  return verdictOf(experiment(base, undo), "host memory, by its pages");
});

/**
 * The alignment that a device needs beyond a page, to which an import widens the bytes.
 */
export function takesPages({ facts: { limits: { minImportedHostPointerAlignment: align } } }: OpenDevice): Takes {
  return align <= PAGE ? {} : { align };
}

export function importPages(device: OpenDevice, { value, byteLength }: Port) {
  const align = BigInt(device.facts.limits.minImportedHostPointerAlignment);
  const address = value / align * align;
  const end = (value + BigInt(byteLength) + align - 1n) / align * align;
  const handleType = HANDLES["host-pointer"].type;
  const buffer = new VulkanBuffer(device, Number(end - address), { from: "host", address, handleType });
  return { buffer, start: Number(value - address) };
}

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
