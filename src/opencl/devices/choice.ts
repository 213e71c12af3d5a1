import { type Names, optionsIn, shown, shownFields } from "../../core/argument.ts";
import { ArgumentError, type InteropError } from "../../core/errors.ts";
import type { GlContext } from "../../gl/port.ts";
import { hasPart } from "../../core/device/choice.ts";
import { plainUuid } from "../../core/device/device_id.ts";
import { contextOn, devicesOn, type OpenOn } from "../../core/device/device_on.ts";
import { environment } from "../../core/native/library.ts";
import { checks } from "../check.ts";
import { type OpenCLDevice, openclDevices } from "../device.ts";
import type { DeviceType } from "./info.ts";

/** The variable for the default device: part of a platform's name, a colon, part of a device's. */
const VARIABLE = "SAMEPAGE_OPENCL_DEVICE";

/** The device to open. Strings match a part of the name, in any case. */
export interface DeviceChoice extends OpenOn {
  /** Part of the platform's name. */
  readonly platform?: string;
  /** Part of the device's name. */
  readonly device?: string;
  /** The kind of device. */
  readonly type?: DeviceType;
  /** The device's UUID: 32 hexadecimal digits, also with dashes and a `GPU-` in front. */
  readonly uuid?: string;
  /** OpenGL's context whose pictures and buffers it is to share: an EglContext. The device is the one that draws. */
  readonly gl?: GlContext;
}

const CHOICE: Names<DeviceChoice> = { platform: true, device: true, type: true, uuid: true, gl: true, on: true };

/** The first GPU that fits a choice, else the first device that fits. @throws {ArgumentError} if none fits. */
export function chosenDevice(choice: DeviceChoice): OpenCLDevice {
  const fitting = fittingDevices(choice);
  return fitting.find((d) => d.type === "gpu") ?? fitting[0];
}

/** The devices that fit a choice, one at least. @throws {ArgumentError} if none fits. */
export function fittingDevices(choice: DeviceChoice): OpenCLDevice[] {
  const { gl: _, on, ...asked } = { ...optionsIn(choice, CHOICE, "choice") }; // each read once
  for (const [name, value] of Object.entries(asked)) {
    if (value !== undefined) checks.assertText(value, `choice.${name}`);
  }
  const named = Object.keys(asked).length > 0 || on !== undefined ? undefined : environment(VARIABLE);
  const wanted = named === undefined ? asked : choiceIn(named);
  const devices = on === undefined
    ? openclDevices()
    : devicesOn(checks, contextOn(checks, on), openclDevices(), (device) => device);
  const fitting = devices.filter((device) => matches(device, wanted));
  if (fitting.length === 0) {
    throw noDevice(named === undefined ? shownFields(wanted) : `${VARIABLE}=${shown(named)}`, devices);
  }
  return fitting;
}

function matches(device: OpenCLDevice, choice: DeviceChoice): boolean {
  return hasPart(device.platform, choice.platform) && hasPart(device.name, choice.device) &&
    (choice.type === undefined || device.type === choice.type) &&
    (choice.uuid === undefined || device.id.uuid === plainUuid(choice.uuid));
}

/** The choice in the variable; only its first colon divides it. @throws {ArgumentError} if it names nothing. */
function choiceIn(named: string): DeviceChoice {
  const [platform, ...rest] = named.split(":");
  const device = rest.join(":");
  if (platform.trim() === "" && device.trim() === "") {
    throw checks.wrong(
      VARIABLE,
      `"${shown(named)}" names no platform and no device.`,
      "Name part of a platform, a colon, and part of a device: rusticl:llvmpipe. Or unset it.",
    );
  }
  return { ...(platform ? { platform } : {}), ...(device ? { device } : {}) };
}

function noDevice(wanted: string, devices: readonly OpenCLDevice[]): InteropError {
  const there = devices.map(({ platform, name, type, id: { uuid } }) =>
    `${platform}: ${name} (${type}${uuid === undefined ? "" : `, UUID ${uuid}`})`
  );
  const byName = `Name part of a platform and part of a device: there is ${there.join("; ")}.`;
  return new ArgumentError(
    devices.length === 0 ? "OpenCL has no device." : `No OpenCL device fits ${wanted}.`,
    {
      api: "opencl",
      fn: "clGetDeviceIDs",
      argument: "choice",
      hint: devices.length === 0 ? "Install a driver: apt install pocl-opencl-icd." : byName,
    },
  );
}
