import { ArgumentError, host, LibraryNotFoundError } from "@samepage/interop";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { elfHeader, EM_S390 } from "../elf.ts";
import { makePipe, setEnvironment } from "../../libc.ts";
import { fails, open, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const MAY_READ = ["--allow-ffi", "--allow-env"];

/** The library is this file, and why it cannot be opened. */
function instead(path: string, why: RegExp): Row {
  return { flags: MAY_READ, env: { SAMEPAGE_LIB_OPENCL: path }, run: () => openclDevices(), fails: notFound(why) };
}

function notFound(why: RegExp): Failure {
  return {
    error: LibraryNotFoundError,
    ...{ api: "opencl", fn: "dlopen" },
    message: new RegExp(`No opencl library could be opened; tried .+: .*(${why.source})`),
    hint: /SAMEPAGE_LIB_OPENCL names it: correct or unset that variable/,
    has: { attempts: why },
  };
}

/** No UTF-8. */
const LATIN1 = Uint8Array.of(0x2f, 0xe9, 0xff);

/** A variable that is set to no text. */
function noText(name: string, open: () => unknown): Row {
  return {
    alone: true,
    flags: MAY_READ,
    run() {
      setEnvironment(name, LATIN1);
      open();
    },
    fails: {
      ...{ error: ArgumentError, api: "core", argument: name },
      message: new RegExp(`^${name}: its value is not UTF-8 text`),
      hint: /Correct it, or unset it/,
    },
  };
}

/** A copy of the C library, changed. */
function changed(change: (whole: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>, expected: Failure): Row {
  return {
    alone: true,
    flags: ["--allow-all"],
    run() {
      const maps = Deno.readTextFileSync("/proc/self/maps");
      const whole = Deno.readFileSync(/\/\S+\/libc\.so\.6$/m.exec(maps)![0]);
      const path = Deno.makeTempFileSync();
      try {
        Deno.writeFileSync(path, change(whole));
        Deno.env.set("SAMEPAGE_LIB_OPENCL", path);
        openclDevices();
      } finally {
        Deno.removeSync(path);
      }
    },
    fails: expected,
  };
}

/** A library of which only the first bytes are there: so large a part of it. */
function cutOff(part: number, why: RegExp): Row {
  return changed((whole) => whole.subarray(0, Math.floor(whole.length * part)), notFound(why));
}

/** A library that needs another one, which is not there: so is the loader's called, in each place of the file. */
function needing(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const name = new TextEncoder().encode("ld-linux-x86-64.so.2");
  for (let i = bytes.indexOf(name[0]); i >= 0; i = bytes.indexOf(name[0], i + 1)) {
    if (name.every((byte, j) => bytes[i + j] === byte)) bytes.set(new TextEncoder().encode("no"), i);
  }
  return bytes;
}

/** A device that the environment names, and is none. */
function noChoice(named: string): Row {
  return {
    opencl: "Portable",
    flags: MAY_READ,
    env: { SAMEPAGE_OPENCL_DEVICE: named },
    run: () => OpenCLContext.open(),
    fails: {
      ...{ error: ArgumentError, api: "opencl", argument: "SAMEPAGE_OPENCL_DEVICE" },
      message: /names no platform and no device/,
      hint: /Or unset it/,
    },
  };
}

const NO_DRIVERS = { OCL_ICD_VENDORS: "/nonexistent" };

/** Opens a device that is not there. */
function noDevice(env: Record<string, string>, platform: string, message: RegExp, hint: RegExp): Row {
  return {
    opencl: "Portable",
    flags: MAY_READ,
    env,
    run: () => OpenCLContext.open(platform === "" ? {} : { platform }),
    fails: { error: ArgumentError, api: "opencl", fn: "clGetDeviceIDs", argument: "choice", message, hint },
  };
}

export default table(import.meta, {
  "a file that does not exist": instead("/nonexistent/libOpenCL.so", /cannot open shared object file/),
  "a folder": instead("/tmp", /cannot read file data: Is a directory|it is not a regular file/),
  "a path that does not end": instead(`/${"x".repeat(100_000)}`, /File name too long|cannot open/),
  "a library that needs one which is not there": changed(needing, {
    ...notFound(/no-linux-x86-64\.so\.2: cannot open/),
    hint: /needs no-linux-x86-64\.so\.2: install it, or name its folder in LD_LIBRARY_PATH/,
  }),
  "half a library": cutOff(0.5, /it is cut off: it has \d+ bytes, and its parts reach to byte \d+/),
  "nine tenths of a library": cutOff(0.9, /it is cut off/),
  "a thousandth of a library": cutOff(0.001, /it is cut off/),
  "a pipe without a writer": {
    alone: true,
    flags: ["--allow-all"],
    run() {
      const folder = Deno.makeTempDirSync();
      try {
        makePipe(`${folder}/pipe`);
        Deno.env.set("SAMEPAGE_LIB_OPENCL", `${folder}/pipe`);
        openclDevices();
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
    },
    fails: notFound(/it is not a regular file/),
  },
  "a library whose name is not a text": noText("SAMEPAGE_LIB_OPENCL", openclDevices),
  "a C library whose name is not a text": noText("SAMEPAGE_LIB_LIBC", () => host.allocate({ shape: [1], dtype: "u8" })),
  "a device whose name is not a text": noText("SAMEPAGE_OPENCL_DEVICE", () => OpenCLContext.open()),
  "a device that is a colon": noChoice(":"),
  "a device that is white space": noChoice(" \t\n:  "),
  "a device with more colons than two names have": noDevice(
    { SAMEPAGE_OPENCL_DEVICE: "Portable::pthread" },
    "",
    /No OpenCL device fits SAMEPAGE_OPENCL_DEVICE=Portable::pthread/,
    /there is /,
  ),
  "an empty file": instead("/dev/null", /file too short|invalid ELF header/),
  "a text": instead(import.meta.filename!, /invalid ELF header/),
  "a library without the symbols": instead("libc.so.6", /undefined symbol: cl/),
  "a library for another processor": {
    flags: [...MAY_READ, "--allow-read", "--allow-write"],
    run() {
      const path = Deno.makeTempFileSync();
      try {
        Deno.writeFileSync(path, elfHeader(EM_S390));
        Deno.env.set("SAMEPAGE_LIB_OPENCL", path);
        openclDevices();
      } finally {
        Deno.removeSync(path);
      }
    },
    fails: notFound(/./),
  },
  "a C library that does not exist": {
    flags: MAY_READ,
    env: { SAMEPAGE_LIB_LIBC: "/nonexistent/libc.so" },
    run: () => host.allocate({ shape: [64], dtype: "u8" }),
    fails: {
      error: LibraryNotFoundError,
      ...{ api: "libc", fn: "dlopen" },
      message: /No libc library could be opened/,
      hint: /SAMEPAGE_LIB_LIBC names it/,
      has: { attempts: /cannot open shared object file/ },
    },
  },
  "a library that comes back after it was missing": {
    opencl: true,
    flags: MAY_READ,
    env: { SAMEPAGE_LIB_OPENCL: "/nonexistent/libOpenCL.so" },
    run() {
      fails("missing", () => openclDevices(), LibraryNotFoundError);
      Deno.env.delete("SAMEPAGE_LIB_OPENCL");
      using cl = open();
      say(cl.device.name !== "");
    },
    says: ["true"],
  },
  "no driver: the list is empty": {
    opencl: "Portable",
    env: NO_DRIVERS,
    run: () => say(openclDevices().length),
    says: ["0"],
  },
  "no driver: nothing opens": noDevice(NO_DRIVERS, "", /OpenCL has no device/, /apt install pocl-opencl-icd/),
  "a driver that is a text": noDevice(
    { OCL_ICD_FILENAMES: "/etc/hostname", ...NO_DRIVERS },
    "",
    /OpenCL has no device/,
    /apt install/,
  ),
  "a driver that offers no device": noDevice(
    { RUSTICL_ENABLE: "", OCL_ICD_VENDORS: "/etc/OpenCL/vendors" }, // PoCL is there too
    "rusticl",
    /No OpenCL device fits {"platform":"rusticl"}/,
    /there is Portable/,
  ),
  "a device that is not there": noDevice({}, "no such platform", /No OpenCL device fits/, /there is /),
  "a device with a name of 400 million characters": {
    opencl: "Portable",
    run: () => OpenCLContext.open({ device: "x".repeat(400_000_000) }), // V8 makes no JSON of it, and ends the process
    fails: {
      ...{ error: ArgumentError, api: "opencl", fn: "clGetDeviceIDs", argument: "choice" },
      message: /No OpenCL device fits {"device":"x{200}… \(400000000 characters\)"}/,
      hint: /there is /,
    },
  },
  "a device in the environment that is not there": noDevice(
    { SAMEPAGE_OPENCL_DEVICE: ":no such device" },
    "",
    /No OpenCL device fits SAMEPAGE_OPENCL_DEVICE=:no such device/,
    /there is /,
  ),
});
