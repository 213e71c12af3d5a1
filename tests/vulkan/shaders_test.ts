/** Committed SPIR-V is what glslangValidator makes of its source. */
import { assert, assertEquals } from "@std/assert";

const FOLDERS = ["./shaders/", "../../docs/guides/vulkan/", "../../examples/vulkan-opencl-ring/"].map((path) =>
  new URL(path, import.meta.url)
);
const COMPILER = "glslangValidator";
const present = await new Deno.Command("sh", { args: ["-c", `command -v ${COMPILER}`], stdout: "null" }).output();

for (const folder of FOLDERS) {
  for (const { name } of Deno.readDirSync(folder)) {
    if (!name.endsWith(".comp")) continue;
    Deno.test({
      name: `vulkan: ${name} makes its SPIR-V anew${present.success ? "" : ` (not here: ${COMPILER})`}`,
      ignore: !present.success,
      fn: () => makesItAnew(folder, name),
    });
  }
}

/** The command that made it: `glslangValidator -V --target-env vulkan1.2 -o twice.spv twice.comp`. */
async function makesItAnew(folder: URL, name: string): Promise<void> {
  const made = await Deno.makeTempFile();
  try {
    const args = ["-V", "--target-env", "vulkan1.2", "-o", made, new URL(name, folder).pathname];
    const { success, stdout } = await new Deno.Command(COMPILER, { args }).output();
    assert(success, new TextDecoder().decode(stdout));
    const committed = await Deno.readFile(new URL(name.replace(/comp$/, "spv"), folder));
    assertEquals(await Deno.readFile(made), committed);
  } finally {
    await Deno.remove(made);
  }
}
