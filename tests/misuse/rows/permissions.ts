import { host, MapperGraph, PermissionError } from "@samepage/interop";
import { openclDevices } from "@samepage/interop/opencl";
import { say } from "../kit.ts";
import { type Failure, table } from "../row.ts";

const refused = (api: string, message: RegExp): Failure => ({
  error: PermissionError,
  api,
  message,
  hint: /Run with --allow-ffi, without a path/,
  has: { flag: /^"--allow-ffi"$/ },
});
const bytes = { shape: [64], dtype: "u8" } as const;

export default table(import.meta, {
  "none at all, and nothing opened": {
    flags: [],
    run() {
      using graph = new MapperGraph([host]);
      say(typeof graph.map);
    },
    says: ["function"],
  },
  "none at all: host memory": {
    flags: [],
    run: () => host.allocate(bytes),
    fails: refused("libc", /Deno does not permit to open libc/),
  },
  "none at all: a buffer": {
    flags: [],
    run: () => host.wrap(new Uint8Array(64)),
    fails: refused("host", /Deno does not permit/),
  },
  "none at all: devices": {
    flags: [],
    run: () => openclDevices(),
    fails: refused("opencl", /Deno does not permit to open \S*libOpenCL/),
  },
  "denied expressly": {
    flags: ["--allow-all", "--deny-ffi"],
    run: () => openclDevices(),
    fails: refused("opencl", /Deno does not permit to open \S*libOpenCL/),
  },
  "scoped to another library": {
    flags: ["--allow-ffi=/usr/lib/libz.so.1"],
    run: () => openclDevices(),
    fails: refused("opencl", /Deno does not permit to open \S*libOpenCL/),
  },
  "scoped to the folder of the libraries: pointers need all of it": {
    flags: ["--allow-ffi=/lib,/usr/lib,libc.so.6"],
    run: () => host.wrap(new Uint8Array(64)),
    fails: refused("host", /Deno does not permit/),
  },
  "an override in an environment that may not be read": {
    opencl: true,
    env: { SAMEPAGE_LIB_OPENCL: "/nonexistent/libOpenCL.so", SAMEPAGE_OPENCL_DEVICE: "nonexistent:" },
    run: () => say(openclDevices().length > 0),
    says: ["true"],
  },
  "an environment that is denied expressly": {
    opencl: true,
    flags: ["--allow-ffi", "--deny-env"],
    env: { SAMEPAGE_LIB_OPENCL: "/nonexistent/libOpenCL.so" },
    run: () => say(openclDevices().length > 0),
    says: ["true"],
  },
});
