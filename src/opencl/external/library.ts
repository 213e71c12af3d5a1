import type { ExternalMemory } from "../../../ffi/opencl_external/functions.ts";
import { SYMBOLS } from "../../../ffi/opencl_external/symbols.ts";
import type { OpenCLDevice } from "../device.ts";
import { extensionFunctions } from "../extension.ts";

/** The extension for memory of another API. */
export const EXTERNAL_MEMORY = "cl_khr_external_memory";

/** The extension for such memory by an opaque POSIX fd. */
export const OPAQUE_FD = "cl_khr_external_memory_opaque_fd";

/**
 * The functions of cl_khr_external_memory in a device's driver, looked up once.
 *
 * @throws {InteropError} if the driver lists the extension and lacks one of its functions.
 */
export const externalMemoryOf: (device: OpenCLDevice) => ExternalMemory = extensionFunctions<ExternalMemory>(
  "opencl_external",
  EXTERNAL_MEMORY,
  SYMBOLS,
);
