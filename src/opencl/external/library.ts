import type { ExternalMemory } from "../../../ffi/opencl_external/functions.ts";
import { SYMBOLS } from "../../../ffi/opencl_external/symbols.ts";
import type { OpenCLDevice } from "../device.ts";
import { extensionFunctions } from "../extension.ts";

/** What lets a driver use memory of another API. */
export const EXTERNAL_MEMORY = "cl_khr_external_memory";

/** What lets it have that by a POSIX fd of which nobody but drivers knows what it is. */
export const OPAQUE_FD = "cl_khr_external_memory_opaque_fd";

/**
 * The functions of cl_khr_external_memory, as a device's driver has them; asked for once.
 *
 * @throws {InteropError} if the driver lists the extension and lacks one of its functions.
 */
export const externalMemoryOf: (device: OpenCLDevice) => ExternalMemory = extensionFunctions<ExternalMemory>(
  "opencl_external",
  EXTERNAL_MEMORY,
  SYMBOLS,
);
