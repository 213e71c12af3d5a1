import {
  CL_BUILD_SUCCESS,
  CL_PROGRAM_BINARY_TYPE,
  CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
  CL_PROGRAM_BUILD_OPTIONS,
  CL_PROGRAM_CONTEXT,
  CL_PROGRAM_DEVICES,
} from "../../../ffi/opencl/constants.ts";
import type { ClProgram } from "../../../ffi/opencl/handles.ts";
import { type Names, object, optionsIn, shown } from "../../core/argument.ts";
import { type ArgumentError, messageOf, NativeCallError, warn } from "../../core/errors.ts";
import { allOrNothing, type Undo } from "../../core/life/undo.ts";
import { checks, refused } from "../check.ts";
import type { OpenCLContext } from "../context.ts";
import { type Envelope, pack, unpack } from "./envelope.ts";
import { BinaryError, BuildError } from "../errors.ts";
import { infoString, infoU32, infoU64, infoU64s } from "../info.ts";
import { OpenCLProgram, type ProgramInit } from "../program.ts";
import { binariesFor, contentOf } from "./binary.ts";
import {
  build,
  buildOptions,
  buildQuery,
  buildStatus,
  programQuery,
  programWithBinaries,
  programWithSource,
  refusedBinary,
  retainProgram,
} from "./build.ts";
import { cacheKey, isWhole, type ProgramCache } from "./cache.ts";

/** Options of {@link OpenCLContext.program}. */
export interface ProgramOptions {
  /** Options of the OpenCL C compiler: `"-cl-std=CL3.0 -DTILE=64"`. */
  readonly options?: string;
  /** A Map, or {@link directoryCache}. A source that includes others is built every time: they may have changed. */
  readonly cache?: ProgramCache;
}

const OPTIONS: Names<ProgramOptions> = { options: true, cache: true };

export function programFromSource(context: OpenCLContext, source: string, given: ProgramOptions): OpenCLProgram {
  checks.assertText(source, "source");
  if (source === "") throw checks.wrong("source", "it is empty.");
  const { options: asked = "", cache } = optionsIn(given, OPTIONS);
  const options = buildOptions(asked, context.devices);
  if (cache !== undefined) assertCache(cache);
  context.resource.assertLive();
  const fromSource = () =>
    made(context, (undo) => {
      const handle = programWithSource(context, source, undo);
      build(context, handle, options);
      return { handle, undo, options, source };
    });
  return cache === undefined || !isWhole(options, source)
    ? fromSource()
    : cached(context, cache, options, source, fromSource);
}

export function programFromBinary(context: OpenCLContext, bytes: Uint8Array): OpenCLProgram {
  const given = checks.bytesIn(bytes, "bytes", "a Uint8Array");
  context.resource.assertLive();
  // A copy cannot change between the check and the driver.
  return fromEnvelope(context, unpack(given.slice()));
}

export function attachedProgram(context: OpenCLContext, given: bigint): OpenCLProgram {
  const handle = checks.handleIn<ClProgram>(given, "handle");
  context.resource.assertLive();
  const fn = "clGetProgramInfo";
  if (infoU64(fn, programQuery(handle), CL_PROGRAM_CONTEXT) !== context.rawHandle) {
    throw unfit("the program is of another context.", "Attach its own: OpenCLContext.attach(handle).");
  }
  const devices = infoU64s(fn, programQuery(handle), CL_PROGRAM_DEVICES);
  for (const device of context.devices) {
    if (!devices.includes(device.handle) || buildStatus(handle, device) !== CL_BUILD_SUCCESS) {
      throw unfit(`the program is not built for ${device.name}.`, "Build it first: clBuildProgram.");
    }
    const type = infoU32("clGetProgramBuildInfo", buildQuery(handle, device), CL_PROGRAM_BINARY_TYPE);
    if (type !== CL_PROGRAM_BINARY_TYPE_EXECUTABLE) {
      throw unfit("the program is compiled, and not linked.", "Link it first: clLinkProgram.");
    }
  }
  const query = buildQuery(handle, context.device);
  const options = infoString("clGetProgramBuildInfo", query, CL_PROGRAM_BUILD_OPTIONS);
  return made(context, (undo) => ({ handle: retainProgram(handle, undo), undo, options }));
}

function cached(
  context: OpenCLContext,
  cache: ProgramCache,
  options: string,
  source: string,
  fromSource: () => OpenCLProgram,
): OpenCLProgram {
  const key = cacheKey(context.devices, options, source);
  const bytes: unknown = cache.get(key);
  const expected = "one whose get() returns a Uint8Array, or undefined";
  const kept = bytes === undefined ? undefined : checks.bytesIn(bytes, "cache", expected);
  context.resource.assertLive(); // the cache's own code may have ended it
  const found = kept === undefined ? undefined : fromKept(context, kept.slice(), options, source);
  if (found !== undefined) return found;
  const program = fromSource();
  try {
    const binary = binaryWithSource(program, source);
    if (binary !== undefined) cache.set(key, binary);
  } catch (error) {
    program[Symbol.dispose]();
    throw error;
  }
  return program;
}

function fromKept(
  context: OpenCLContext,
  kept: Uint8Array<ArrayBuffer>,
  options: string,
  source: string,
): OpenCLProgram | undefined {
  try {
    const envelope = unpack(kept);
    return envelope.source === source && envelope.options === options ? fromEnvelope(context, envelope) : undefined;
  } catch (error) {
    if (error instanceof BinaryError) return undefined;
    throw error;
  }
}

/** A program that cannot be kept works all the same: a failure is warned of. */
function binaryWithSource(program: OpenCLProgram, source: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return pack(contentOf(program, source));
  } catch (error) {
    if (!(error instanceof NativeCallError)) throw error;
    warn(`a program of ${program.context.name} cannot be kept: ${messageOf(error)}`);
    return undefined;
  }
}

function fromEnvelope(context: OpenCLContext, { options: kept, source, devices, kernels }: Envelope): OpenCLProgram {
  const options = buildOptions(kept, context.devices);
  const binaries = binariesFor(context, devices);
  return made(context, (undo) => {
    const handle = programWithBinaries(context, binaries, undo);
    try {
      build(context, handle, options);
    } catch (error) {
      if (error instanceof BuildError) throw refusedBinary(error.code!, "clBuildProgram");
      throw error;
    }
    return { handle, undo, options, kernels, ...(source === undefined ? {} : { source }) };
  });
}

function made(context: OpenCLContext, make: (undo: Undo) => ProgramInit): OpenCLProgram {
  return allOrNothing("making a program", (undo) => new OpenCLProgram(context, make(undo)));
}

/** @throws {ArgumentError} unless the cache has both methods. */
function assertCache(cache: ProgramCache): void {
  const { get, set } = object(cache, "cache");
  if (typeof get === "function" && typeof set === "function") return;
  throw checks.wrong("cache", `${shown(cache)} has no get and set.`);
}

function unfit(what: string, hint: string): ArgumentError {
  return refused("clRetainProgram", "handle", what, hint);
}
