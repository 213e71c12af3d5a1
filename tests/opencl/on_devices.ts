/**
 * Tests that run once on every OpenCL device of this machine, and are ignored, by name, where one lacks what they need.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { ledger, LibraryNotFoundError } from "@samepage/interop";
import { OpenCLContext, type OpenCLDevice, openclDevices } from "@samepage/interop/opencl";

/** Why a device cannot be tested so; false where it can. */
export type Lacks = (device: OpenCLDevice) => string | false;

/** What a device may lack. */
export const LACKS = {
  coarse: ({ svm }) => !svm.coarseGrainBuffer && "no coarse-grained sharing",
  fine: ({ svm }) => !svm.fineGrainBuffer && "no fine-grained sharing",
  atomics: ({ svm }) => !svm.atomics && "no atomics across host and device",
  system: ({ svm }) => !svm.fineGrainSystem && "no fine-grained system sharing",
  usm: ({ extensions }) => !extensions.includes("cl_intel_unified_shared_memory") && "no unified shared memory",
} as const satisfies { readonly [what: string]: Lacks };

/** The other way round: a device that has it is not what the test is about. */
export function without(lacks: Lacks): Lacks {
  return (device) => lacks(device) === false && "it has that";
}

const devices = devicesHere();

function devicesHere(): readonly OpenCLDevice[] {
  try {
    return openclDevices();
  } catch (error) {
    if (error instanceof LibraryNotFoundError) return [];
    throw error;
  }
}

/** A test on every device; it leaves the ledger as it was. */
export function onDevices(
  name: string,
  lacks: Lacks,
  run: (open: () => OpenCLContext, device: OpenCLDevice) => void | Promise<void>,
): void {
  if (devices.length === 0) Deno.test({ name: `${name} (no OpenCL device here)`, ignore: true, fn() {} });
  for (const device of devices) {
    const missing = lacks(device);
    Deno.test({
      name: `${device.platform}: ${name}${missing === false ? "" : ` (${missing})`}`,
      ignore: missing !== false,
      async fn() {
        const before = ledger.alive;
        const choice = { platform: device.platform, device: device.name };
        await run(() => OpenCLContext.open(choice), device);
        assertEquals(ledger.alive, before, "alive after the test, and before it");
      },
    });
  }
}
