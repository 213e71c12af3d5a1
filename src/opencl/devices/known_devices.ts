import { object, shown } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { itemsIn } from "../check.ts";
import { type OpenCLDevice, openclDevices } from "../device.ts";
import { ownerOf } from "./sub_devices.ts";

/**
 * What samepage itself knows of the devices that a program gave.
 *
 * @throws {ArgumentError} for anything but a device that {@link openclDevices} or {@link partition} answered.
 * @throws {DisposedError} for a sub-device that was released.
 */
export function knownDevices(given: readonly unknown[], argument: (index: number) => string): OpenCLDevice[] {
  // To look at a handle may run code of the program's: all are looked at before any is judged.
  const handles = given.map((device, i) => object(device as OpenCLDevice, argument(i)).handle);
  const listed = openclDevices();
  return handles.map((handle, i) => {
    const part = given[i] as OpenCLDevice;
    const owner = ownerOf(part);
    if (owner !== undefined) {
      owner.assertLive();
      return part;
    }
    const device = listed.find((each) => each.handle === handle);
    if (device !== undefined) return device;
    throw wrong(
      argument(i),
      `${shown(given[i])} is no OpenCL device of this machine's.`,
      "Pass what openclDevices() or partition() has answered.",
    );
  });
}

/** The devices of a new context. @throws {ArgumentError} where there is none, one twice, or several platforms. */
export function devicesIn(given: readonly OpenCLDevice[]): OpenCLDevice[] {
  if (!Array.isArray(given) || given.length === 0) throw wrong("devices", "it is no list of devices.");
  const devices = knownDevices(itemsIn<OpenCLDevice>(given, "devices"), (i) => `devices[${i}]`);
  devices.forEach((device, i) => {
    if (devices.indexOf(device) < i) throw wrong(`devices[${i}]`, `${device.name} is there already.`);
    if (device.platformHandle === devices[0].platformHandle) return;
    throw wrong(
      `devices[${i}]`,
      `${device.name} is of ${device.platform}, devices[0] of ${devices[0].platform}.`,
      "Open a context for each platform.",
    );
  });
  return devices;
}

function wrong(argument: string, what: string, hint?: string): ArgumentError {
  return new ArgumentError(`${argument}: ${what}`, {
    api: "opencl",
    argument,
    ...(hint === undefined ? {} : { hint }),
  });
}
