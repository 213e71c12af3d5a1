import { CL_PROGRAM_BINARIES, CL_PROGRAM_BINARY_SIZES, CL_PROGRAM_DEVICES } from "../../../ffi/opencl/constants.ts";
import { CL_INVALID_PROGRAM_EXECUTABLE } from "../../../ffi/opencl/errors.ts";
import type { ClDeviceId, ClProgram } from "../../../ffi/opencl/handles.ts";
import { pinned } from "../../core/native/pin.ts";
import type { BaseContext, BaseProgram } from "../base_context.ts";
import { describeIdentity, identityOf, isSame } from "../devices/identity.ts";
import type { DeviceBinary, Envelope } from "./envelope.ts";
import { BinaryError, check, openclError } from "../errors.ts";
import { infoU64s } from "../info.ts";
import { opencl } from "../library.ts";
import { programQuery } from "./build.ts";

export function contentOf(program: BaseProgram, source: string | undefined): Envelope {
  const { context, options } = program;
  const binaries = binariesOf(program.handle);
  const devices = context.devices.map((device) => {
    const binary = binaries.get(device.handle);
    if (binary !== undefined && binary.length > 0) return { identity: identityOf(device), binary };
    throw openclError(CL_INVALID_PROGRAM_EXECUTABLE, "clGetProgramInfo", {
      hint: `The driver has no binary for ${device.name}.`,
    });
  });
  const kernels = program.kernelNames.map((name) => {
    using kernel = program.kernel(name);
    return [name, kernel.parameters] as const;
  });
  return { options, source, devices, kernels: new Map(kernels) };
}

/** The binary for each device of a context. @throws {BinaryError} if one of them has no binary. */
export function binariesFor(context: BaseContext, made: readonly DeviceBinary[]): Uint8Array<ArrayBuffer>[] {
  return context.devices.map((device) => {
    const mine = identityOf(device);
    const fitting = made.find(({ identity }) => isSame(identity, mine));
    if (fitting !== undefined) return fitting.binary;
    const theirs = made.map(({ identity }) => describeIdentity(identity)).join(" and ");
    throw new BinaryError(`bytes: they were made for ${theirs}; this is ${describeIdentity(mine)}.`, "foreign", {
      api: "opencl",
      argument: "bytes",
    });
  });
}

/** The driver's binaries of a program, by device: empty for a device that it was not built for. */
function binariesOf(program: ClProgram): Map<ClDeviceId, Uint8Array<ArrayBuffer>> {
  const fn = "clGetProgramInfo";
  const query = programQuery(program);
  const devices = infoU64s(fn, query, CL_PROGRAM_DEVICES);
  const sizes = infoU64s(fn, query, CL_PROGRAM_BINARY_SIZES).map(Number);
  const all = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0));
  const begins = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
  pinned(all, "opencl", (address) => {
    // A null pointer is skipped.
    const to = BigUint64Array.from(begins, (begin, i) => sizes[i] === 0 ? 0n : address + BigInt(begin));
    check(opencl().clGetProgramInfo(program, CL_PROGRAM_BINARIES, BigInt(to.byteLength), to, null), fn);
  });
  return new Map(devices.map((device, i) => {
    return [device as ClDeviceId, all.slice(begins[i], begins[i] + sizes[i])];
  }));
}
