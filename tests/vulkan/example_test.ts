/** The example vulkan-opencl-ring, as its users run it. */
import { assertEquals, assertMatch } from "@std/assert";
import { deno } from "../process.ts";
import { missing } from "./help.ts";

const EXAMPLE = new URL("../../examples/vulkan-opencl-ring/main.ts", import.meta.url).pathname;

async function run(env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await deno(["run", "-A", "--no-check", "-q", EXAMPLE, "20"], { env });
  assertEquals([code, stderr], [0, ""], stdout);
  assertMatch(stdout, /^left {5}nothing: every native object was given back$/m);
  return stdout;
}

const reason = missing();
Deno.test({
  name: `vulkan: the example's players take turns${reason === undefined ? "" : ` (not here: ${reason})`}`,
  ignore: reason !== undefined,
  async fn() {
    const said = await run({});
    assertMatch(said, /^result {3}0 mismatches/m);
    assertMatch(said, /^copied {3}0 bytes$/m);
    assertMatch(said, /^waits {4}\d+ of the host's/m);
  },
});

Deno.test("vulkan: the example says in a sentence that there is no Vulkan, and ends well", async () => {
  const said = await run({ SAMEPAGE_LIB_VULKAN: "/nonexistent" });
  assertMatch(
    said,
    /^device {3}none\. No vulkan library could be opened; tried \/nonexistent: cannot open shared object file/,
  );
});
