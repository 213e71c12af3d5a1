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
  "lists that never end": {
    opencl: "Portable",
    run() {
      fails("create", () => OpenCLContext.create(new Array(2 ** 32 - 1)), ArgumentError);
      const endless = Object.assign([1], {
        *[Symbol.iterator]() {
          while (true) yield 1;
        },
      });
      partition(first(), { counts: endless })[Symbol.dispose](); // it has one item by its length
      partition(first(), { counts: new Array(2 ** 32 - 1) });
    },
    fails: { error: ArgumentError, api: "opencl", argument: "counts", message: /4294967295 are more than 65536/ },
  },
  "options that dispose the kernel, which has never run on the queue's device": {
    opencl: "Portable",
    run() {
      using parts = partition(first(), { equally: 1 });
      using cl = OpenCLContext.create(parts.devices);
      using t = cl.allocate({ shape: [1], dtype: "u8" });
      using queue = cl.createQueue({ device: cl.devices.at(-1)! });
      const program = cl.program("kernel void k(global uchar* x) { x[0] = 1; }");
      const kernel = program.kernel("k");
      const options = {
        get queue() {
          program[Symbol.dispose]();
          return queue;
        },
      };
      kernel.run([1], [t], options);
    },
    fails: { error: DisposedError, api: "core", message: /opencl kernel k was disposed/ },
  },
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
