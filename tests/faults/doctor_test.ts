/** Every native call of the doctor's fails once: it reports all the same, and leaves nothing open. */
import { assert, assertEquals } from "@std/assert";
import { doctor, type Report, svgOf, textOf } from "../../src/doctor/mod.ts";
import { openclDevices } from "../../src/opencl/mod.ts";
import { installTap } from "./tap.ts";
import { type Fault, sweep } from "./sweep.ts";

installTap();
Deno.permissions.revokeSync({ name: "run" }); // asking for packages takes most of the time

/** Asked here and not in tests/opencl/present.ts, which opens the library before it is tapped. */
function hasDevice(): boolean {
  try {
    return openclDevices().length > 0;
  } catch {
    return false;
  }
}

/** Everything that a report says went wrong. */
function problemsOf({ apis, findings, edges, targets }: Report): unknown[] {
  return [
    ...findings,
    ...apis.flatMap((api) => api.findings),
    ...apis.flatMap((api) => [api.library, ...api.drivers, ...api.devices].flatMap(({ facts }) => facts))
      .filter(({ problem }) => problem !== undefined),
    ...apis.flatMap((api) => api.devices.flatMap((device) => device.findings)),
    ...edges.filter(({ open }) => !open),
    ...targets.filter(({ problem }) => problem !== undefined),
  ];
}

Deno.test({
  name: `faults: the doctor says what failed, and goes on${hasDevice() ? "" : " (not here: an OpenCL device)"}`,
  ignore: !hasDevice(),
  async fn() {
    let silent = 0;
    const whole = problemsOf(doctor({ proofs: false })).length;
    const faults: Fault[] = await sweep(
      () => {
        const report = doctor({ proofs: false });
        assert(textOf(report).length > 0 && svgOf(report).length > 0);
        if (problemsOf(report).length === whole) silent++;
      },
      undefined,
      "any",
    );
    for (const { call, error } of faults) assertEquals(error, undefined, call);
    const called = new Set(faults.map(({ call }) => call));
    for (const fn of ["clGetPlatformIDs", "clGetDeviceInfo", "clCreateContext", "clCreateBuffer", "clReleaseContext"]) {
      assert(called.has(`opencl.${fn}`), `${fn} was not among the ${faults.length} calls`);
    }
    // Some failures do no harm: an optional question, dladdr.
    assert(silent < faults.length / 2, `${silent} of ${faults.length} failures went unsaid`);
  },
});
