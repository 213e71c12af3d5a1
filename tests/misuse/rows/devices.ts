import { ArgumentError } from "@samepage/interop";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { any, fails, open } from "../kit.ts";
import { table } from "../row.ts";

/** The first device of this row's driver. */
function first() {
  return openclDevices().find(({ platform }) => platform.includes(Deno.args[1]))!;
}

export default table(import.meta, {
  "no devices": {
    run: () => OpenCLContext.create([]),
    fails: {
      error: ArgumentError,
      api: "opencl",
      argument: "devices",
      message: /expected at least one device, got none/,
    },
  },
  "anything but a list of devices": {
    run: () => OpenCLContext.create(any(5)),
    fails: { error: ArgumentError, api: "opencl", argument: "devices", message: /expected an array of devices, got 5/ },
  },
  "a device of the program's own making": {
    opencl: true,
    run: () => OpenCLContext.create([{ ...first(), handle: any(4096n) }]),
    fails: {
      error: ArgumentError,
      api: "opencl",
      argument: "devices[0]",
      message: /expected an OpenCL device of this machine, got an Object/,
      hint: /openclDevices\(\)/,
    },
  },
  "the same device twice": {
    opencl: true,
    run: () => OpenCLContext.create([first(), first()]),
    fails: { error: ArgumentError, api: "opencl", argument: "devices[1]", message: /is there already/ },
  },
  "a queue on a device that is not the context's": {
    opencl: true,
    run() {
      using cl = open();
      fails("deviceIn", () => cl.deviceIn(any({})), ArgumentError);
      cl.createQueue({ device: { ...cl.device, handle: any(4096n) } });
    },
    fails: {
      error: ArgumentError,
      api: "opencl",
      argument: "device",
      message: /expected a device of/,
      hint: /cl\.devices/,
    },
  },
  "a list of devices that never ends": {
    opencl: "Portable",
    run: () => OpenCLContext.create(new Array(2 ** 32 - 1)),
    fails: { error: ArgumentError, api: "opencl", argument: "devices", message: /at most 65536 items, got 4294967295/ },
  },
});
