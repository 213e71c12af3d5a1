/** Identifies a device: two contexts with the same `uuid` (or `pci`, or `node`) are on the same one. */
export interface DeviceId {
  /** The driver's UUID as 32 hexadecimal digits, if it has one. */
  readonly uuid?: string;
  /** `domain:bus:device.function`, if the driver reports it. */
  readonly pci?: string;
  /** Its render node, `"/dev/dri/renderD128"`, where the driver reports it. */
  readonly node?: string;
}

/** True if both name one device. A device without any of the three equals no other. */
export function isSameDevice(one: DeviceId, other: DeviceId): boolean {
  return (one.uuid !== undefined && one.uuid === other.uuid) || (one.pci !== undefined && one.pci === other.pci) ||
    (one.node !== undefined && one.node === other.node);
}

/** A UUID in the form of {@link DeviceId}: 32 hexadecimal digits, without dashes and without nvidia-smi's `GPU-`. */
export function plainUuid(text: string): string {
  return text.replace(/^GPU-/i, "").replaceAll("-", "").toLowerCase();
}

/** A PCI address in the form of {@link DeviceId}, of the numbers that drivers report. */
export function pciAddress(domain: number, bus: number, device: number, fn: number): string {
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
  return `${hex(domain, 4)}:${hex(bus, 2)}:${hex(device, 2)}.${fn}`;
}
