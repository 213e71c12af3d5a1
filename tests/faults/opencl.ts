/**
 * What the sweeps over OpenCL share. It has to be imported before a library is opened.
 *
 * @module
 */
import { assert } from "@std/assert";
import { OpenCLContext, type OpenCLDevice, openclDevices } from "../../src/opencl/mod.ts";
import type { Fault } from "./sweep.ts";
import { installTap } from "./tap.ts";

export { close } from "./sweep.ts";

installTap();

/** `slow` works for a while in every item. */
export const SOURCE = `
kernel void fill(global uchar* out, uchar value) { out[get_global_id(0)] = value; }
kernel void slow(global const uchar* in, global uchar* out) {
  uint x = in[get_global_id(0)];
  for (uint i = 0; i < 5000; i++) x = x * 1664525u + 1013904223u;
  out[get_global_id(0)] = (uchar)(x | 1u);
}`;

/** A device that does not tell all of itself is a device. */
export const OPTIONAL: readonly string[] = ["opencl.clGetDeviceInfo"];

function devices(): OpenCLDevice[] | string {
  try {
    const found = openclDevices();
    return found.length > 0 ? found : "an OpenCL device";
  } catch {
    return "libOpenCL.so.1";
  }
}

/** Why this machine has no device; undefined if it has one. */
export function lackingOfOpenCL(): string | undefined {
  const found = devices();
  return typeof found === "string" ? found : undefined;
}

/** A test on every device of this machine; `cl` opens it. */
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

/** One of the calls that failed has to be this. */
export function some(faults: readonly Fault[], fn: string): void {
  assert(faults.some((fault) => fault.call === `opencl.${fn}`), `${fn} was not among the ${faults.length} calls`);
}
