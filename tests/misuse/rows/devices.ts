import { ArgumentError, DisposedError } from "@samepage/interop";
import { OpenCLContext, openclDevices, partition } from "@samepage/interop/opencl";
import { any, fails, open, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

/** The first device of this row's driver. */
function first() {
  return openclDevices().find(({ platform }) => platform.includes(Deno.args[1]))!;
}

/** PoCL's device, cut so. */
function cut(how: object, failure: Partial<Failure>): Row {
  return {
    opencl: "Portable",
    run: () => partition(first(), how),
    fails: { error: ArgumentError, api: "opencl", fn: "clCreateSubDevices", message: /^\w+(\[0\])?: /, ...failure },
  };
}

export default table(import.meta, {
  "no devices": {
    run: () => OpenCLContext.create([]),
    fails: { error: ArgumentError, api: "opencl", argument: "devices", message: /no list of devices/ },
  },
  "what is no list of devices": {
    run: () => OpenCLContext.create(any(5)),
    fails: { error: ArgumentError, api: "opencl", argument: "devices", message: /no list of devices/ },
  },
  "a device of the program's own making": {
    opencl: true,
    run: () => OpenCLContext.create([{ ...first(), handle: any(4096n) }]),
    fails: {
      error: ArgumentError,
      api: "opencl",
      argument: "devices[0]",
      message: /an object is no OpenCL device/,
      hint: /openclDevices\(\) or partition\(\)/,
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
    fails: { error: ArgumentError, api: "opencl", argument: "device", message: /is none of/, hint: /cl\.devices/ },
  },
  "a device cut in no way": cut({}, { argument: "how", hint: /Pass/ }),
  "a device cut in two ways": cut({ equally: 1, counts: [1] }, { argument: "how", hint: /Pass/ }),
  "a device cut into parts of nothing": cut({ equally: 0 }, { argument: "equally" }),
  "a device cut into parts of more than it has": cut({ counts: [2 ** 31] }, { argument: "counts[0]" }),
  "sub-devices that were released, opened": {
    opencl: "Portable",
    run() {
      const parts = partition(first(), { equally: 1 });
      const cl = OpenCLContext.create(parts.devices);
      say(cl.devices.length > 0);
      parts[Symbol.dispose]();
      fails("partition", () => partition(parts.devices[0], { equally: 1 }), DisposedError, ArgumentError);
      cl.allocate({ shape: [1], dtype: "u8" })[Symbol.dispose](); // the context has them still
      cl[Symbol.dispose]();
      OpenCLContext.create(parts.devices);
    },
    says: ["true"],
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
});
