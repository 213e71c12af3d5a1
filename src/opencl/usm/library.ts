import type { ClPlatformId } from "../../../ffi/opencl/handles.ts";
import type { Usm } from "../../../ffi/opencl_usm/functions.ts";
import { SYMBOLS } from "../../../ffi/opencl_usm/symbols.ts";
import { InteropError } from "../../core/errors.ts";
import { functionsByAddress } from "../../core/library.ts";
import type { OpenCLDevice } from "../device.ts";
import { opencl } from "../library.ts";

/** The extension. */
export const USM = "cl_intel_unified_shared_memory";

const FN = "clGetExtensionFunctionAddressForPlatform";

/** Each driver has functions of its own. */
const found = new Map<ClPlatformId, Usm>();

/**
 * The functions of cl_intel_unified_shared_memory, as a device's driver has them; asked for once.
 *
 * @throws {InteropError} where the driver lists the extension and lacks one of its functions.
 */
export function usmOf({ platformHandle, platform }: OpenCLDevice): Usm {
  let functions = found.get(platformHandle);
  if (functions !== undefined) return functions;
  const asked = functionsByAddress(
    "opencl_usm",
    SYMBOLS,
    (name) => opencl()[FN](platformHandle, new TextEncoder().encode(`${name}\0`)),
  );
  const missing = Object.entries(SYMBOLS).find(([name, symbol]) => asked[name] === null && !("optional" in symbol))
    ?.[0];
  if (missing !== undefined) {
    throw new InteropError(`${platform} lists ${USM}, and has no ${missing}.`, { api: "opencl", fn: FN });
  }
  found.set(platformHandle, functions = asked as unknown as Usm);
  return functions;
}
