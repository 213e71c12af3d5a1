import type { NvrtcProgram } from "../../../ffi/nvrtc/handles.ts";
import type { Address } from "../../../ffi/address.ts";
import { NVRTC_ERROR_INVALID_OPTION } from "../../../ffi/nvrtc/errors.ts";
import { InteropError } from "../../core/errors.ts";
import { owned } from "../../core/life/ledger.ts";
import { pinned } from "../../core/native/pin.ts";
import { cString, textAt } from "../../core/native/text.ts";
import { thenUndo, type Undo } from "../../core/life/undo.ts";
import type { CudaDevice } from "../device.ts";
import { nvrtc } from "../library.ts";
import type { Code } from "./code.ts";
import { checkNvrtc, CudaBuildError, firstLines, nvrtcName } from "./errors.ts";
import { ARCHITECTURE, type Source } from "./source.ts";

export interface Compiled {
  readonly code: Code;
  readonly lowered: ReadonlyMap<string, string>;
  readonly log: string;
}

type Target = Pick<CudaDevice, "name" | "computeCapability">;

/** Compiles with NVRTC, without a GPU. @throws {CudaBuildError} with the log. @throws {LibraryNotFoundError} without NVRTC. */
export function compile(source: Source, target: Target): Compiled {
  const { text, name, names } = source;
  const given = source.options.some((option) => ARCHITECTURE.test(option));
  const options = given ? source.options : [`--gpu-architecture=${architectureFor(target)}`, ...source.options];
  return thenUndo("compiling a program", (undo) => {
    const program = createProgram(text, name, undo);
    for (const each of names) {
      checkNvrtc(nvrtc().nvrtcAddNameExpression(program, cString(each)), "nvrtcAddNameExpression");
    }
    build(program, options);
    const code = codeOf(program);
    const lowered = new Map(names.map((each) => [each, loweredName(program, each)]));
    return { code, lowered, log: logOf(program) };
  });
}

/** `sm_90` if the compiler knows it; else the newest older virtual architecture, whose PTX the driver compiles. */
export function architectureFor({ name, computeCapability: { major, minor } }: Target): string {
  const count = new Int32Array(1);
  checkNvrtc(nvrtc().nvrtcGetNumSupportedArchs(count), "nvrtcGetNumSupportedArchs");
  const known = new Int32Array(count[0]);
  checkNvrtc(nvrtc().nvrtcGetSupportedArchs(known), "nvrtcGetSupportedArchs");
  const own = 10 * major + minor;
  if (known.includes(own)) return `sm_${own}`;
  const before = known.filter((each) => each < own);
  if (before.length > 0) return `compute_${Math.max(...before)}`;
  throw new InteropError(`This NVRTC compiles for sm_${Math.min(...known)} and later; ${name} is sm_${own}.`, {
    api: "nvrtc",
    fn: "nvrtcCompileProgram",
    hint: "Use an older CUDA toolkit: name its libnvrtc by SAMEPAGE_LIB_NVRTC.",
  });
}

function createProgram(text: string, name: string, undo: Undo): NvrtcProgram {
  const out = new BigUint64Array(1);
  checkNvrtc(nvrtc().nvrtcCreateProgram(out, cString(text), cString(name), 0, null, null), "nvrtcCreateProgram");
  owned("nvrtc.nvrtcProgram", undo, () => checkNvrtc(nvrtc().nvrtcDestroyProgram(out), "nvrtcDestroyProgram"));
  return out[0] as NvrtcProgram;
}

function build(program: NvrtcProgram, options: readonly string[]): void {
  const texts = new TextEncoder().encode(options.map((option) => `${option}\0`).join(""));
  const code = pinned(texts, "nvrtc", (address) => {
    let at = address as bigint;
    const pointers = BigUint64Array.from(options, (option) => {
      const pointer = at;
      at += BigInt(new TextEncoder().encode(option).length + 1);
      return pointer;
    });
    return nvrtc().nvrtcCompileProgram(program, pointers.length, pointers);
  });
  if (code === 0) return;
  const log = logOf(program);
  const codeName = nvrtcName(code);
  const lacksHeader = log.includes("could not open source file");
  throw new CudaBuildError(`The program does not compile: ${firstLines(log) || codeName}`, log, {
    api: "nvrtc",
    fn: "nvrtcCompileProgram",
    code,
    codeName,
    ...(code === NVRTC_ERROR_INVALID_OPTION ? { argument: "options" } : {}),
    ...(lacksHeader ? { hint: 'Say where headers are: { options: ["-I/usr/local/cuda/include"] }.' } : {}),
  });
}

function codeOf(program: NvrtcProgram): Code {
  const { nvrtcGetCUBINSize, nvrtcGetCUBIN, nvrtcGetPTXSize, nvrtcGetPTX } = nvrtc();
  const cubin = outputOf(program, "nvrtcGetCUBIN", nvrtcGetCUBINSize, nvrtcGetCUBIN);
  if (cubin.length > 0) return { isPtx: false, bytes: cubin };
  const ptx = outputOf(program, "nvrtcGetPTX", nvrtcGetPTXSize, nvrtcGetPTX);
  if (ptx.length > 1) return { isPtx: true, bytes: ptx };
  throw new InteropError("options: with these the compiler makes neither a cubin nor PTX.", {
    api: "nvrtc",
    fn: "nvrtcGetPTX",
    argument: "options",
    hint: "Leave -dlto and -optix-ir out: their output has to be linked first.",
  });
}

/** The mangled name of a kernel: `_Z4fillIfEvPT_i` for `fill<float>`. */
function loweredName(program: NvrtcProgram, name: string): string {
  const out = new BigUint64Array(1);
  checkNvrtc(nvrtc().nvrtcGetLoweredName(program, cString(name), out), "nvrtcGetLoweredName");
  return textAt(out[0] as Address) ?? name;
}

function logOf(program: NvrtcProgram): string {
  const { nvrtcGetProgramLogSize, nvrtcGetProgramLog } = nvrtc();
  const bytes = outputOf(program, "nvrtcGetProgramLog", nvrtcGetProgramLogSize, nvrtcGetProgramLog);
  return new TextDecoder().decode(bytes).replaceAll("\0", "").trim();
}

/** An output of the compiler, by two calls: one for its length, one for its bytes. */
function outputOf(
  program: NvrtcProgram,
  fn: string,
  askSize: (program: NvrtcProgram, size: BigUint64Array<ArrayBuffer>) => number,
  ask: (program: NvrtcProgram, bytes: Uint8Array<ArrayBuffer>) => number,
): Uint8Array<ArrayBuffer> {
  const size = new BigUint64Array(1);
  checkNvrtc(askSize(program, size), `${fn}Size`);
  const bytes = new Uint8Array(Number(size[0]));
  if (bytes.length > 0) checkNvrtc(ask(program, bytes), fn);
  return bytes;
}
