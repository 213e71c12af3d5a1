import type { DeviceId } from "../core/device/device_id.ts";
import type { Trait } from "./report.ts";

/** The identity by which other APIs recognize a device; undefined where its driver reports none. */
export function identityOf({ uuid, pci }: DeviceId): string | undefined {
  const parts = [uuid && `UUID ${uuid}`, pci && `PCI ${pci}`].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(", ");
}

export function identityTraits(id: DeviceId): Trait[] {
  const text = identityOf(id);
  return text === undefined ? [] : [{ label: "identity", text }];
}

/** The extensions that a device lacks, and what is closed for that reason: `absent` has sentences that begin with its name. */
export function lackingTraits(device: string, absent: ReadonlyMap<string, string>): Trait[] {
  const lacks = [...absent.values()].map((reason) => reason.replace(`${device} has no `, "").replace(/\.$/, ""));
  return lacks.length === 0 ? [] : [{ label: "lacks", text: lacks.join("; ") }];
}
