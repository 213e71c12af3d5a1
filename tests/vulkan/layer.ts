import { assertEquals } from "@std/assert";
import { deno } from "../process.ts";

/** What Khronos' validation layer says of a run of Deno's, but for messages of some names. */
export async function saidOf(
  args: readonly string[],
  flags: string = "error,warn,perf",
  muted: readonly string[] = [],
): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const settings = {
      debug_action: "VK_DBG_LAYER_ACTION_LOG_MSG",
      report_flags: flags,
      message_id_filter: muted.join(","),
      log_filename: `${folder}/log`,
      enables: "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
    };
    const lines = Object.entries(settings).map(([name, value]) => `khronos_validation.${name} = ${value}\n`);
    await Deno.writeTextFile(`${folder}/vk_layer_settings.txt`, lines.join(""));
    const env = { VK_INSTANCE_LAYERS: "VK_LAYER_KHRONOS_validation", VK_LAYER_SETTINGS_PATH: folder };
    const { code, stdout, stderr } = await deno(args, { env });
    assertEquals(code, 0, stdout + stderr);
    return await Deno.readTextFile(`${folder}/log`); // the layer makes it, also where it has nothing to say
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
