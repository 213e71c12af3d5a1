import { type Address, NULL } from "../../ffi/address.ts";
import { ORT_API_VERSION } from "../../ffi/onnxruntime/constants.ts";
import { ERROR_NAMES } from "../../ffi/onnxruntime/errors.ts";
import type { OnnxRuntime } from "../../ffi/onnxruntime/functions.ts";
import { SYMBOLS } from "../../ffi/onnxruntime/symbols.ts";
import type { OrtApiFunctions } from "../../ffi/onnxruntime_api/functions.ts";
import { OrtApi } from "../../ffi/onnxruntime_api/structs.ts";
import { SYMBOLS as API } from "../../ffi/onnxruntime_api/symbols.ts";
import type { OrtApiBaseFunctions } from "../../ffi/onnxruntime_base/functions.ts";
import { OrtApiBase } from "../../ffi/onnxruntime_base/structs.ts";
import { SYMBOLS as BASE } from "../../ffi/onnxruntime_base/symbols.ts";
import type { StructLayout } from "../../ffi/layout.ts";
import { type ErrorFields, InteropError, NativeCallError } from "../core/errors.ts";
import type { Checks } from "../core/checks.ts";
import { type Check, checkOf, type ErrorMaker, errorOf as errorOfCodes } from "../core/native/codes.ts";
import { functionsByAddress } from "../core/native/library.ts";
import { viewAt } from "../core/native/pin.ts";
import { textAt } from "../core/native/text.ts";
import { type Calls, callsOf } from "../inference/calls.ts";
import { RuntimeLibrary } from "../inference/library.ts";
import { byStubs } from "../guard/stubs.ts";

interface Opened {
  readonly functions: OrtApiFunctions;
  readonly version: string;
  /** The address of OrtApi's function `Run`. */
  readonly run: Address;
}

export const library: RuntimeLibrary<Opened> = new RuntimeLibrary({
  ...{
    api: "onnxruntime",
    title: "ONNX Runtime",
    names: ["libonnxruntime.so.1", "libonnxruntime.so"],
    symbols: SYMBOLS,
  },
  ...{ wheel: "onnxruntime/capi", file: /^libonnxruntime\.so\.[\d.]+$/, install: "onnxruntime" },
  made: ({ OrtGetApiBase }: OnnxRuntime) => openedFrom(OrtGetApiBase()),
});

export const checks: Checks = library.checks;

function openedFrom(address: Address): Opened {
  const base = tableOf<OrtApiBaseFunctions>("onnxruntime_base", BASE, OrtApiBase, address);
  const version = textAt(base.GetVersionString()) ?? "";
  const table = base.GetApi(ORT_API_VERSION);
  if (table === NULL) {
    throw new InteropError(`ONNX Runtime ${version} is too old: samepage needs 1.${ORT_API_VERSION} or newer.`, {
      ...{ api: "onnxruntime", fn: "GetApi", hint: "Install a newer one: pip install -U onnxruntime." },
    });
  }
  const run = viewAt(table, OrtApi.size, "onnxruntime").getBigUint64(OrtApi.fields.Run.offset, true) as Address;
  return { functions: tableOf<OrtApiFunctions>("onnxruntime_api", API, OrtApi, table), version, run };
}

/** The functions of a table at an address. */
function tableOf<F>(
  api: string,
  symbols: Readonly<Record<string, Deno.ForeignFunction & { readonly name?: string }>>,
  { size, fields }: StructLayout,
  address: Address,
): F {
  const table = viewAt(address, size, api);
  const addressOf = (name: string) => table.getBigUint64(fields[symbols[name].name ?? name].offset, true);
  return functionsByAddress(api, symbols, addressOf, byStubs) as F;
}

/** The functions of the library that is open. @throws {InteropError} if no context was opened in this isolate. */
export function ort(): OrtApiFunctions {
  return library.opened.functions;
}

/** The error of a status, which this releases. */
export function statusError(status: Address, fn: string, fields: ErrorFields = {}): NativeCallError {
  const code = ort().GetErrorCode(status);
  const said = textAt(ort().GetErrorMessage(status))?.replaceAll(/\s+/g, " ").replace(/\.? ?$/, "");
  ort().ReleaseStatus(status);
  const codeName = ERROR_NAMES.get(code) ?? "an unknown code";
  return new NativeCallError(`${fn} failed with ${codeName} (${code}): ${said}.`, {
    ...{ api: "onnxruntime", fn, code, codeName },
    ...fields,
  });
}

/** Throws unless a function returned no status. */
export const check: Check<Address> = checkOf(statusError, NULL);

/** The error of a code that is not 0. */
export const errorOf: ErrorMaker = errorOfCodes({
  api: "onnxruntime",
  names: ERROR_NAMES,
  unknown: "a code that ONNX Runtime does not know",
});

const calls: Calls<OrtApiFunctions, Address> = callsOf(ort, check);
export const { call, resultOf, numberOf } = calls;
