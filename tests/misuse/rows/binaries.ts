import { ArgumentError, PermissionError } from "@samepage/interop";
import { BinaryError, directoryCache, type OpenCLContext, type OpenCLProgram } from "@samepage/interop/opencl";
import { any, fails, open, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const SOURCE = "kernel void k(global int* x) { x[0] = 1; }";

/** A program from what became of a binary. */
function from(change: (binary: Uint8Array<ArrayBuffer>) => unknown, fails: Omit<Failure, "api">): Row {
  return {
    opencl: "Portable",
    run() {
      using cl = open();
      using program = cl.program(SOURCE);
      cl.programFromBinary(any(change(program.binary())));
    },
    fails: { api: "opencl", ...fails },
  };
}

/** A cache that returns this. */
function cacheOf(get: () => unknown): (cl: OpenCLContext) => OpenCLProgram {
  return (cl) => cl.program(SOURCE, { cache: { get: any(get), set: () => {} } });
}

const damaged = {
  ...{
    error: BinaryError,
    argument: "bytes",
    message: /not a binary of a samepage program|cut short, or some of its bytes were/,
  },
  ...{ hint: /Build the program from its source/, has: { fault: /damaged/ } },
};

export default table(import.meta, {
  "no bytes": from(() => "binary", {
    error: ArgumentError,
    argument: "bytes",
    message: /expected a Uint8Array, got a string/,
  }),
  "an empty binary": from(() => new Uint8Array(0), damaged),
  "random bytes": from((binary) => crypto.getRandomValues(binary.subarray(0, 4096)), damaged),
  "a binary that was cut": from((binary) => binary.subarray(0, -1), damaged),
  "a binary with one bit changed": from((binary) => {
    binary[binary.length >> 1] ^= 1;
    return binary;
  }, damaged),
  "a handle that is not a program": {
    opencl: true,
    run() {
      using cl = open();
      for (const handle of [undefined, 0n, -1n, 2n ** 64n]) {
        fails(String(handle), () => cl.attachProgram(any(handle)), ArgumentError);
      }
      cl.attachProgram(any(4096));
    },
    fails: { error: ArgumentError, api: "opencl", argument: "handle", message: /expected a bigint, got a number/ },
  },
  "a program of another context": {
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      using program = other.program(SOURCE);
      cl.attachProgram(program.handle);
    },
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clRetainProgram", argument: "handle" },
      message: /the program is of another context/,
      hint: /Attach its own/,
    },
  },
  "a cache that returns rubbish": {
    opencl: "Portable",
    run() {
      using cl = open();
      using built = cacheOf(() => new Uint8Array(16))(cl); // of no use, and built again
      say(built.kernel("k").parameters[0].name);
      cacheOf(() => "binary")(cl);
    },
    says: ["x"],
    fails: {
      error: ArgumentError,
      api: "opencl",
      argument: "cache",
      message: /whose get\(\) returns a Uint8Array, or undefined, got a string/,
    },
  },
  "a folder that may not be read": {
    opencl: "Portable",
    run() {
      using cl = open();
      cl.program(SOURCE, { cache: directoryCache("/tmp") });
    },
    fails: {
      error: PermissionError,
      api: "opencl",
      message: /Deno does not permit reading/,
      hint: /--allow-read=/,
      has: { flag: /--allow-read/ },
    },
  },
  "an invalid folder": {
    run: () => directoryCache(""),
    fails: { error: ArgumentError, api: "opencl", argument: "path", message: /expected a path, got ""/ },
  },
});
