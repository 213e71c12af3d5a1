/** The tests of this folder under Khronos' validation layer: it says nothing. A mistake of a test's own shows that it would. */
import { assert, assertEquals } from "@std/assert";
import { NativeCallError } from "@samepage/interop";
import { VulkanContext } from "@samepage/interop/vulkan";
import { deno } from "../process.ts";
import { missing } from "./help.ts";

/** Why the layer is not here. */
const reason = missing() ?? (() => {
  try {
    VulkanContext.open({ validation: true })[Symbol.dispose]();
    return undefined;
  } catch (error) {
    if (error instanceof NativeCallError) return error.message;
    throw error;
  }
})();

/** What the layer says of a run of Deno's. */
async function saidOf(args: readonly string[]): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const settings = {
      debug_action: "VK_DBG_LAYER_ACTION_LOG_MSG",
      report_flags: "error,warn,perf",
      log_filename: `${folder}/log`,
      enables: "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
    };
    const lines = Object.entries(settings).map(([name, value]) => `khronos_validation.${name} = ${value}\n`);
    await Deno.writeTextFile(`${folder}/vk_layer_settings.txt`, lines.join(""));
    const env = { VK_INSTANCE_LAYERS: "VK_LAYER_KHRONOS_validation", VK_LAYER_SETTINGS_PATH: folder };
    const { code, stdout, stderr } = await deno(args, { env, limit: 240 });
    assertEquals(code, 0, stdout + stderr);
    return await Deno.readTextFile(`${folder}/log`); // the layer makes it, also where it has nothing to say
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function test(name: string, fn: () => Promise<void>): void {
  const where = reason === undefined ? "" : ` (not here: ${reason})`;
  Deno.test({ name: `vulkan: validation: ${name}${where}`, ignore: reason !== undefined, fn });
}

const at = (path: string) => new URL(path, import.meta.url).pathname;

test("a buffer that outlives its device is told of", async () => {
  const said = await saidOf(["run", "-A", at("mistake.ts")]);
  assert(said.includes("VUID-vkDestroyDevice-device"), said);
});

for (const file of ["context", "kernel", "memory", "queue"]) {
  test(`${file}_test.ts`, async () => {
    assertEquals(await saidOf(["test", "-A", "--no-check", at(`${file}_test.ts`)]), "");
  });
}
