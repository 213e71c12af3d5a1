import { object, shown } from "../../core/argument.ts";
import type { BaseContext } from "../base_context.ts";
import { checks } from "../check.ts";
import { type OpenCLDevice, openclDevices } from "../device.ts";

/** As the drivers describe them now. @throws {ArgumentError} for a device that {@link openclDevices} did not return. */
function knownDevices(given: readonly unknown[], argument: (index: number) => string): OpenCLDevice[] {
  const listed = openclDevices();
  return given.map((named, i) => {
    const { handle } = object(named as OpenCLDevice, argument(i));
    const device = listed.find((each) => each.handle === handle);
    if (device !== undefined) return device;
    throw checks.wrong(
      argument(i),
      `expected an OpenCL device of this machine, got ${shown(named)}.`,
      "Pass a device that openclDevices() returned.",
    );
  });
}

/** The devices of a new context. @throws {ArgumentError} for no device, a device twice, or several platforms. */
export function devicesIn(given: readonly OpenCLDevice[]): OpenCLDevice[] {
  if (!Array.isArray(given)) throw checks.wrong("devices", `expected an array of devices, got ${shown(given)}.`);
  if (given.length === 0) throw checks.wrong("devices", "expected at least one device, got none.");
  const devices = knownDevices(checks.itemsIn<OpenCLDevice>(given, "devices"), (i) => `devices[${i}]`);
  devices.forEach((device, i) => {
    if (devices.indexOf(device) < i) throw checks.wrong(`devices[${i}]`, `${device.name} is there already.`);
    if (device.platformHandle === devices[0].platformHandle) return;
    throw checks.wrong(
      `devices[${i}]`,
      `${device.name} is of ${device.platform}, devices[0] of ${devices[0].platform}.`,
      "Open a context for each platform.",
    );
  });
  return devices;
}

export function deviceOf({ name, devices }: BaseContext, given: OpenCLDevice): OpenCLDevice {
  const { handle } = object(given, "device");
  const device = devices.find((each) => each.handle === handle);
  if (device !== undefined) return device;
  throw checks.wrong("device", `expected a device of ${name}, got ${shown(given)}.`, "Pass one of cl.devices.");
}

/**
 * What a set of devices is called in this process. A set with sub-devices has no name: an attached context may bring
 * them, and a handle that was released can come again for another one.
 */
export function setOf(devices: readonly OpenCLDevice[]): string | undefined {
  if (devices.some((device) => device.parent !== undefined)) return undefined;
  return devices.map((device) => device.handle).sort().join();
}
