import type { ClPlatformId } from "../../ffi/opencl/handles.ts";
import { InteropError } from "../core/errors.ts";
import { functionsByAddress } from "../core/native/library.ts";
import { byStubs } from "../guard/stubs.ts";
import type { OpenCLDevice } from "./device.ts";
import { opencl } from "./library.ts";

const FN = "clGetExtensionFunctionAddressForPlatform";

/** Looked up once for each driver; `api` names them in taps. @throws {InteropError}, when called, if one is missing. */
export function extensionFunctions<F>(
  api: string,
  extension: string,
  symbols: Record<string, Deno.ForeignFunction>,
): (device: OpenCLDevice) => F {
  const found = new Map<ClPlatformId, F>();
  return ({ platformHandle, platform }) => {
    let functions = found.get(platformHandle);
    if (functions !== undefined) return functions;
    const asked = functionsByAddress(
      api,
      symbols,
      (name) => opencl()[FN](platformHandle, new TextEncoder().encode(`${name}\0`)),
      byStubs,
    );
    const missing = Object.entries(symbols).find(([name, symbol]) => asked[name] === null && !("optional" in symbol))
      ?.[0];
    if (missing !== undefined) {
      throw new InteropError(`${platform} has no ${missing} of ${extension}.`, { api: "opencl", fn: FN });
    }
    found.set(platformHandle, functions = asked as F);
    return functions;
  };
}
