// Runs a command in a guest, with its exit code: `deno task guest [--gpu] [--modules=vgem] [--limit=240] 'uname -r; deno eval 1'`.

import { parseArgs } from "node:util";
import { denoEnv, GPU_MODULES, runInGuest } from "./guest.ts";

const { values, positionals } = parseArgs({
  args: Deno.args,
  options: { gpu: { type: "boolean" }, modules: { type: "string" }, limit: { type: "string", default: "240" } },
  allowPositionals: true,
});
const folder = await Deno.makeTempDir({ prefix: "samepage-guest-" });
try {
  const { gpu = false } = values;
  const modules = values.modules?.split(",") ?? (gpu ? GPU_MODULES : []);
  const env = await denoEnv();
  Deno.exitCode = await runInGuest(positionals.join(" "), folder, { modules, gpu, env, limit: Number(values.limit) });
} finally {
  await Deno.remove(folder, { recursive: true });
}
