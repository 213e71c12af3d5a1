import { NULL } from "../../../ffi/address.ts";
import { CL_PROGRAM_BUILD_LOG, CL_PROGRAM_BUILD_STATUS } from "../../../ffi/opencl/constants.ts";
import { CL_BUILD_ERROR } from "../../../ffi/opencl/constants.ts";
import type { ClProgram } from "../../../ffi/opencl/handles.ts";
import { shown } from "../../core/argument.ts";
import { messageOf } from "../../core/errors.ts";
import { owned } from "../../core/life/ledger.ts";
import { pinned } from "../../core/native/pin.ts";
import { cString } from "../../core/native/text.ts";
import type { Undo } from "../../core/life/undo.ts";
import { checks } from "../check.ts";
import type { BaseContext } from "../base_context.ts";
import type { OpenCLDevice } from "../device.ts";
import { BinaryError, BuildError, check, errcode, made, openclError } from "../errors.ts";
import { infoString, infoU32, type Query } from "../info.ts";
import { opencl } from "../library.ts";

/** Arguments are checked by their argument information, which compilers drop by default. */
const ALWAYS = "-cl-kernel-arg-info";

export function programQuery(program: ClProgram): Query {
  return (name, size, value, written) => opencl().clGetProgramInfo(program, name, size, value, written);
}

export function buildQuery(program: ClProgram, device: OpenCLDevice): Query {
  return (name, size, value, written) =>
    opencl().clGetProgramBuildInfo(program, device.handle, name, size, value, written);
}

export function buildStatus(program: ClProgram, device: OpenCLDevice): number {
  return infoU32("clGetProgramBuildInfo", buildQuery(program, device), CL_PROGRAM_BUILD_STATUS) | 0;
}

const STANDARD = /^-(?:[DIOW]|[gw]$|cl-)[^"']*$/;

/**
 * Options in the form that every compiler takes: `-D` and `-I` with their operands in the same word. Invalid options crash
 * PoCL 3.1 (`-I` without an operand) and rusticl 22.3 (a word without `-`, quotes around a space, and some options of
 * clang that it passes on: `-triple=`, `-fsanitize=address`).
 */
export function buildOptions(given: unknown, devices: readonly OpenCLDevice[]): string {
  checks.assertText(given, "options");
  const words = given.trim().replaceAll(/(?<!\S)(-[DI])\s+(?=[^\s-])/g, "$1").split(/\s+/).filter((word) =>
    word !== ""
  );
  const passesOn = devices.some(({ platform }) => platform === "rusticl");
  const isNone = (word: string) => !/^-[^"']/.test(word) || /^-[DI]$/.test(word);
  const wrong = words.find((word) => isNone(word) || (passesOn && !STANDARD.test(word)));
  if (wrong === undefined) return [ALWAYS, ...words.filter((word) => word !== ALWAYS)].join(" ");
  throw checks.wrong(
    "options",
    `"${shown(wrong)}" is not a compiler option, or lacks its operand.`,
    isNone(wrong)
      ? "Each begins with -, and none has spaces in it: -DTILE=64 -I/include."
      : "rusticl takes those of OpenCL, without quotes: -D, -I, -w, -W…, -g, -O… and -cl-….",
    "clBuildProgram",
  );
}

export function programWithSource(context: BaseContext, source: string, undo: Undo): ClProgram {
  const text = new TextEncoder().encode(source);
  const lengths = BigUint64Array.of(BigInt(text.length));
  const program = made(
    pinned(text, "opencl", (address) => {
      const strings = BigUint64Array.of(address);
      return opencl().clCreateProgramWithSource(context.rawHandle, 1, strings, lengths, errcode);
    }),
    "clCreateProgramWithSource",
  );
  return own(program, undo);
}

/** Not built yet; its release goes on the undo list. @throws {BinaryError} if the driver refuses a binary. */
export function programWithBinaries(
  context: BaseContext,
  binaries: readonly Uint8Array[],
  undo: Undo,
): ClProgram {
  const handles = BigUint64Array.from(context.devices, (device) => device.handle);
  const lengths = BigUint64Array.from(binaries, (binary) => BigInt(binary.length));
  const status = new Int32Array(binaries.length);
  const { bytes, offsets } = joined(binaries);
  const program = pinned(bytes, "opencl", (address) => {
    const addresses = BigUint64Array.from(offsets, (offset) => address + BigInt(offset));
    const n = binaries.length;
    return opencl().clCreateProgramWithBinary(context.rawHandle, n, handles, lengths, addresses, status, errcode);
  });
  // The driver may have made a program of the valid ones.
  const [code] = errcode;
  if (code === 0) own(program, undo);
  const wrong = code === 0 ? status.find((each) => each !== 0) : code;
  if (wrong !== undefined) throw refusedBinary(wrong, "clCreateProgramWithBinary");
  return program;
}

export function retainProgram(program: ClProgram, undo: Undo): ClProgram {
  check(opencl().clRetainProgram(program), "clRetainProgram");
  return own(program, undo);
}

/** Builds a program for every device of its context. @throws {BuildError} with the compiler's log. */
export function build(context: BaseContext, program: ClProgram, options: string): void {
  const { devices } = context;
  const handles = BigUint64Array.from(devices, (device) => device.handle);
  const text = cString(options);
  const code = opencl().clBuildProgram(program, handles.length, handles, text, NULL, null);
  if (code === 0) return;
  const error = openclError(code, "clBuildProgram");
  const device = failedOn(program, devices);
  const log = logOf(program, device);
  const says = log.split("\n").slice(0, 3).map(shown).join(" ");
  throw new BuildError(`${error.message} ${device.name} says: ${says}`, log, {
    api: "opencl",
    fn: "clBuildProgram",
    code,
    ...(error.codeName === undefined ? {} : { codeName: error.codeName }),
  });
}

export function refusedBinary(code: number, fn: string): BinaryError {
  const { message, codeName } = openclError(code, fn);
  return new BinaryError(`bytes: the driver refuses the binary: ${message}`, "refused", {
    api: "opencl",
    fn,
    code,
    argument: "bytes",
    hint: "Build the program from its source.",
    ...(codeName === undefined ? {} : { codeName }),
  });
}

function failedOn(program: ClProgram, devices: readonly OpenCLDevice[]): OpenCLDevice {
  const hasFailed = (device: OpenCLDevice) => {
    try {
      return buildStatus(program, device) === CL_BUILD_ERROR;
    } catch {
      return false;
    }
  };
  return devices.find(hasFailed) ?? devices[0];
}

function logOf(program: ClProgram, device: OpenCLDevice): string {
  try {
    return infoString("clGetProgramBuildInfo", buildQuery(program, device), CL_PROGRAM_BUILD_LOG);
  } catch (error) {
    return `(no log: ${messageOf(error)})`;
  }
}

/** All binaries in one block, each aligned for any type. */
function joined(binaries: readonly Uint8Array[]): { bytes: Uint8Array<ArrayBuffer>; offsets: number[] } {
  let length = 0;
  const offsets = binaries.map((binary) => {
    const offset = Math.ceil(length / 64) * 64;
    length = offset + binary.length;
    return offset;
  });
  const bytes = new Uint8Array(length);
  binaries.forEach((binary, i) => bytes.set(binary, offsets[i]));
  return { bytes, offsets };
}

function own(program: ClProgram, undo: Undo): ClProgram {
  owned("opencl.cl_program", undo, () => check(opencl().clReleaseProgram(program), "clReleaseProgram"));
  return program;
}
