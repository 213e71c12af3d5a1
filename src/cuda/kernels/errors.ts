import { ERROR_NAMES } from "../../../ffi/nvrtc/errors.ts";
import { shown } from "../../core/argument.ts";
import { CompilerError } from "../../core/device/program.ts";
import { type Check, checkOf, type Codes, errorOf } from "../../core/native/codes.ts";

const CODES: Codes = { api: "nvrtc", names: ERROR_NAMES, unknown: "a code that NVRTC does not know" };

/** A program did not compile. */
export class CudaBuildError extends CompilerError {}

export const checkNvrtc: Check = checkOf(errorOf(CODES));

export function nvrtcName(code: number): string {
  return CODES.names.get(code) ?? CODES.unknown;
}

export function firstLines(log: string): string {
  return log.split("\n").map((line) => line.trim()).filter((line) => line !== "").slice(0, 3).map(shown).join(" ");
}
