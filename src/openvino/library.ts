import type { Address } from "../../ffi/address.ts";
import { ERROR_NAMES, INVALID_C_PARAM } from "../../ffi/openvino/errors.ts";
import type { OpenVINO } from "../../ffi/openvino/functions.ts";
import { ov_version_t, readOvVersion } from "../../ffi/openvino/structs.ts";
import { SYMBOLS } from "../../ffi/openvino/symbols.ts";
import { shown } from "../core/argument.ts";
import { type ErrorFields, NativeCallError } from "../core/errors.ts";
import type { Checks } from "../core/checks.ts";
import { type Check, checkOf } from "../core/native/codes.ts";
import { textAt } from "../core/native/text.ts";
import { type Calls, callsOf, type Result } from "../inference/calls.ts";
import { RuntimeLibrary } from "../inference/library.ts";

export const library: RuntimeLibrary<OpenVINO> = new RuntimeLibrary({
  ...{ api: "openvino", title: "OpenVINO", names: ["libopenvino_c.so", "libopenvino_c.so.2641"], symbols: SYMBOLS },
  ...{ wheel: "openvino/libs", file: /^libopenvino_c\.so\.\d+$/, install: "openvino" },
  made: (functions: OpenVINO) => functions,
});

export const checks: Checks = library.checks;

/** The functions of the library that is open. @throws {InteropError} if no context was opened in this isolate. */
export function ov(): OpenVINO {
  return library.opened;
}

/** The version of the library that is open: `"2026.4.1-22982-…"`. */
export function versionOf(): string {
  const version = new DataView(new ArrayBuffer(ov_version_t.size));
  call("ov_get_openvino_version", version);
  const said = textAt(readOvVersion(version, 0).buildNumber as Address)!;
  ov().ov_version_free(version);
  return said;
}

/** Hints for functions whose messages do not say what to do. */
const HINTS = new Map([
  ["ov_core_get_property", "Is there such a device? `devices` of a context on the CPU lists them."],
  ["ov_core_create_context", "OpenVINO has such contexts only on Intel's GPUs."],
]);

/** The error of a code, with OpenVINO's last message. For a wrong argument of a C function, OpenVINO sets no message. */
export function errorOf(code: number, fn: string, fields?: ErrorFields): NativeCallError {
  const codeName = ERROR_NAMES.get(code) ?? "a code that OpenVINO does not know";
  const why = code === INVALID_C_PARAM ? undefined : reasonIn(textAt(ov().ov_get_last_err_msg()) ?? "");
  const message = `${fn} failed with ${codeName} (${code})${why === undefined ? "" : `: ${shown(why)}`}.`;
  return new NativeCallError(message, { api: "openvino", fn, code, codeName, hint: HINTS.get(fn), ...fields });
}

/** Throws unless a function returned success. */
export const check: Check = checkOf(errorOf);

/** The message without the first lines, which name places in OpenVINO's source. */
function reasonIn(said: string): string | undefined {
  const lines = said.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const own = lines.filter((line) => !/^(Exception from|Check '.*' failed at) /.test(line));
  return (own.length > 0 ? own : lines).join(" ").replace(/[.!]$/, "") || undefined;
}

const calls: Calls<OpenVINO, number> = callsOf(ov, check);
export const { call, resultOf, numberOf } = calls;

/** The string that a function writes to its last argument; frees the original. */
export const textOf: Result<OpenVINO, number, string> = (...given) => {
  const address = resultOf(...given);
  const text = textAt(address) ?? "";
  ov().ov_free(address);
  return text;
};
