import { type Names, object, optionsIn, shown } from "../../core/argument.ts";
import { checks } from "../check.ts";

/** Options of {@link CudaContext.program}. */
export interface ProgramOptions {
  /** Macros by name: `{ TILE: 64, FAST: true }`. True defines a macro without a value; false does not define it. */
  readonly defines?: Readonly<Record<string, string | number | boolean>>;
  /** Options of NVRTC, one an item: `["--use_fast_math", "-I/usr/local/cuda/include"]`. */
  readonly options?: readonly string[];
  /** The name of the source in the compiler's messages; `"program.cu"` by default. */
  readonly name?: string;
  /** The names of C++ kernels: `["fill<float>", "image::blur"]`; not needed for `extern "C"`. */
  readonly names?: readonly string[];
}

const OPTIONS: Names<ProgramOptions> = { defines: true, options: true, name: true, names: true };

export interface Source {
  readonly text: string;
  readonly name: string;
  readonly names: readonly string[];
  readonly options: readonly string[];
}

export const ARCHITECTURE: RegExp = /^(?:--gpu-architecture|-arch)\b/;

/** Options whose values are the program's own words. */
const OWN_WORDS = /^(?:-[DIU]|--(?:define-macro|undefine-macro|include-path)=)/;

/** The limit of an option's length: NVRTC 13.0 has buffers of a fixed size. */
const LONGEST_OPTION = 4096;

/** A checked source and its options. @throws {ArgumentError} if the compiler could not take them. */
export function sourceIn(text: string, given: ProgramOptions): Source {
  checks.assertText(text, "source");
  if (text.trim() === "") throw checks.wrong("source", "it is empty.");
  const { defines = {}, options = [], name = "program.cu", names = [] } = optionsIn(given, OPTIONS);
  checks.assertText(name, "name");
  return {
    text,
    name,
    names: textsIn(names, "names"),
    options: [...definesIn(defines), ...textsIn(options, "options").map(checkedOption)],
  };
}

function definesIn(defines: NonNullable<ProgramOptions["defines"]>): string[] {
  return Object.entries(object(defines, "defines")).flatMap(([name, value]) => {
    const argument = `defines.${shown(name)}`;
    if (!/^[A-Za-z_]\w*$/.test(name)) throw checks.wrong(argument, "expected the name of a macro.");
    if (value === false) return [];
    const isValue = value === true || typeof value === "string" || (typeof value === "number" && isFinite(value));
    if (!isValue) throw checks.wrong(argument, `expected a string, a finite number or a boolean, got ${shown(value)}.`);
    const option = value === true ? `-D${name}` : `-D${name}=${value}`;
    if (/[\0\n]/.test(option)) throw checks.wrong(argument, "it has a line break or a zero in it.");
    if (option.length > LONGEST_OPTION) throw tooLong(argument);
    return [option];
  });
}

/**
 * Returns the option unless it would crash NVRTC. NVRTC 13.0 crashes on an option with an empty value, `-`, or a number that
 * C does not have, on a very long option, and if it cannot write a trace. It reports other mistakes itself.
 */
function checkedOption(option: string, i: number): string {
  const argument = `options[${i}]`;
  if (!/^-.+$/s.test(option)) {
    throw checks.wrong(argument, `"${shown(option)}" is not an option: each begins with -.`);
  }
  if (option.length > LONGEST_OPTION) throw tooLong(argument);
  if (OWN_WORDS.test(option)) return option;
  if (/^--?fdevice-time-trace/.test(option)) throw checks.wrong(argument, "NVRTC may not write a trace.");
  const [, value] = /^[^=]*=(.*)$/s.exec(option) ?? [];
  if (value !== undefined && !/\w/.test(value)) throw checks.wrong(argument, `"${shown(option)}" lacks its value.`);
  if (/\d{10}/.test(option)) throw checks.wrong(argument, `"${shown(option)}" has a number beyond 32 bits.`);
  return option;
}

function textsIn(given: readonly string[], argument: string): string[] {
  if (!Array.isArray(given)) throw checks.wrongKind(argument, "an array of strings", given);
  return checks.itemsIn<string>(given, argument).map((text, i) => {
    checks.assertText(text, `${argument}[${i}]`);
    return text;
  });
}

function tooLong(argument: string): Error {
  return checks.wrong(argument, `it has more than ${LONGEST_OPTION} characters.`, "Write it into the source.");
}
