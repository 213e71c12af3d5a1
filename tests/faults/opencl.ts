/**
 * What the sweeps over OpenCL have in common. Importing it puts the tap in place, before the library is opened.
 *
 * @module
 */
import { assert } from "@std/assert";
import { OpenCLContext, type OpenCLDevice, openclDevices } from "../../src/opencl/mod.ts";
import { assertTyped, type Fault } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();

function devices(): OpenCLDevice[] | string {
  try {
    const found = openclDevices();
    return found.length > 0 ? found : "an OpenCL device";
  } catch {
    return "libOpenCL.so.1";
  }
}

/** A test on every device; ignored, under a name that says why, where there is none. */
export function test(name: string, run: (cl: () => OpenCLContext) => Promise<unknown>): void {
  const found = devices();
  if (typeof found === "string") {
    Deno.test({ name: `faults: ${name} (not here: ${found})`, ignore: true, fn() {} });
    return;
  }
  for (const { platform, name: device } of found) {
    Deno.test(`faults: ${name} on ${platform}`, () =>
      run(() => OpenCLContext.open({ platform, device })).then(() => {}));
  }
}

/** What a context kept of earlier failures is thrown by its end. */
export function close(cl: OpenCLContext): void {
  try {
    cl[Symbol.dispose]();
  } catch (error) {
    assertTyped(error, "closing the context");
  }
}

/** One of these calls was among those that failed. */
export function some(faults: readonly Fault[], fn: string): void {
  assert(faults.some((fault) => fault.call === `opencl.${fn}`), `${fn} was not among the ${faults.length} calls`);
}
