import type { Usm } from "../../../ffi/opencl_usm/functions.ts";
import { SYMBOLS } from "../../../ffi/opencl_usm/symbols.ts";
import type { OpenCLDevice } from "../device.ts";
import { extensionFunctions } from "../extension.ts";

/** The extension. */
export const USM = "cl_intel_unified_shared_memory";

/**
 * The functions of cl_intel_unified_shared_memory in a device's driver, looked up once.
 *
 * @throws {InteropError} if the driver lists the extension and lacks one of its functions.
 */
export const usmOf: (device: OpenCLDevice) => Usm = extensionFunctions<Usm>("opencl_usm", USM, SYMBOLS);
