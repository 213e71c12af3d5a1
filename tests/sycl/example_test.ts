/** The example sycl-usm, as its users run it. */
import { assertEquals, assertMatch } from "@std/assert";
import { deno } from "../process.ts";
import { isStandIn, openSycl, STAND_IN } from "./open.ts";

const missing = await openSycl();

Deno.test({
  name: `example sycl-usm${missing === undefined ? "" : ` (not here: ${missing})`}`,
  ignore: missing !== undefined,
  async fn() {
    const env = isStandIn() ? { SAMEPAGE_LIB_SYCL: STAND_IN } : undefined;
    const args = ["run", "-A", "--no-check", "examples/sycl-usm/main.ts"];
    const { code, stdout, stderr } = await deno(args, { limit: 60, ...(env && { env }) });
    assertEquals(code, 0, stdout + stderr);
    const beside = isStandIn() ? /^beside +/m : /^beside +opencl\.usm → .*: all 1048576 numbers are 20$/m;
    for (
      const line of [
        /^shared +host → sycl\.usm → kernel → host: all 1048576 numbers are 42$/m,
        /^system +host → kernel → host: all 1048576 numbers are 8$/m,
        /^copied +0 bytes$/m,
        beside,
        /^left +nothing/m,
      ]
    ) assertMatch(stdout, line);
  },
});
