/** Committed SPIR-V is what glslangValidator makes of its source. */
import { assert, assertEquals } from "@std/assert";
import { shaderFormat, VULKAN_FORMATS } from "../../src/vulkan/images/formats.ts";
import { Module, spirvIn } from "../../src/vulkan/spirv.ts";

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

Deno.test({
  name: `vulkan: every format of a shader's images is the one that SPIR-V means${
    present.success ? "" : ` (not here: ${COMPILER})`
  }`,
  ignore: !present.success,
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const formats = Array.from({ length: 64 }, (_, code) => shaderFormat(code)).filter((one) => one !== undefined);
      const bindings = formats.map(([glsl, name], i) => {
        const prefix = { u: "u", s: "i" }[name.split(" ")[1].replace(/[us]norm/, "f")[0]] ?? "";
        return `layout(binding = ${i}, ${glsl}) uniform writeonly ${prefix}image2D image${i};`;
      });
      const used = formats.map((_, i) => `imageSize(image${i}).x`).join(" + ");
      const source = `#version 450\n${bindings.join("\n")}\nlayout(binding = 99) buffer Out { int sum; };
        void main() { sum = ${used}; }`;
      await Deno.writeTextFile(`${folder}/all.comp`, source);
      const args = ["-V", "--target-env", "vulkan1.2", "-o", `${folder}/all.spv`, `${folder}/all.comp`];
      const { success, stdout } = await new Deno.Command(COMPILER, { args }).output();
      assert(success, new TextDecoder().decode(stdout));
      const { bindings: told } = new Module(spirvIn(await Deno.readFile(`${folder}/all.spv`))).shader("main");
      const images = told.flatMap(({ image }) => image === undefined ? [] : [image]);
      assertEquals(images.map(({ glsl, format }) => [glsl, format]), formats.map(([glsl, name]) => [glsl, name]));
      const kinds = Object.values(VULKAN_FORMATS).map(({ name, kind }) => [name, kind] as const);
      for (const { format, kind } of images) assertEquals(new Map(kinds).get(format!), kind, format);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
