/** Which libraries of CUDA's go with a driver. */
import { assertEquals } from "@std/assert";
import { tooNewRuntime } from "../../src/cuda/library.ts";
import { tooNewForDriver, version } from "../../src/cuda/versions.ts";

/** The functions of a runtime that tell versions. */
function runtimeOf(own: number, driver: number, code = 0) {
  const answer = (value: number) => (out: BufferSource | null) => {
    (out as Int32Array)[0] = value;
    return code;
  };
  return { cudaRuntimeGetVersion: answer(own), cudaDriverGetVersion: answer(driver) };
}

Deno.test("cuda versions: a driver takes what is of its own major version, and older", () => {
  for (const [library, driver] of [[13000, 13000], [13010, 13000], [12090, 12000], [12000, 13020], [13000, 0]]) {
    assertEquals(tooNewForDriver(library, driver), undefined, `${library} with ${driver}`);
  }
  assertEquals(tooNewForDriver(13000, 12040), "it is of CUDA 13.0, and the driver supports 12.4.");
  assertEquals([version(13000), version(12090), version(11080)], ["13.0", "12.9", "11.8"]);
});

Deno.test("cuda versions: a runtime is asked for both; a version that it does not report is not a reason against it", () => {
  assertEquals(tooNewRuntime(runtimeOf(13000, 12080)), "it is of CUDA 13.0, and the driver supports 12.8.");
  assertEquals(tooNewRuntime(runtimeOf(12080, 12000)), undefined);
  assertEquals(tooNewRuntime(runtimeOf(13000, 12080, 35)), undefined);
  assertEquals(tooNewRuntime(runtimeOf(13000, 0)), undefined); // no driver: the first runtime says so
});
