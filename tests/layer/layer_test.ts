/** Shows that the layer does in each mode what it says, and that PoCL without it aliases. The cases are in check.c. */
import { assertEquals, assertRejects } from "@std/assert";
import { hasDevice } from "../opencl/present.ts";
import { buildLayer, compile, LAYER_MODES, layerEnv, type LayerMode } from "./mod.ts";

async function hasCompiler(): Promise<boolean> {
  try {
    return (await new Deno.Command("cc", { args: ["--version"], stdout: "null", stderr: "null" }).output()).success;
  } catch {
    return false;
  }
}

const missing = !(await hasCompiler()) ? "cc" : hasDevice("Portable") ? undefined : "PoCL";

/** What the layer's cases are about: buffers (check.c), and images (check_image.c). */
const CHECKS = ["check", "check_image"] as const;

/** Runs the cases of a C file in a process of its own; the printed lines that do not begin with "ok". */
async function failures(of: (typeof CHECKS)[number], mode: "none" | LayerMode): Promise<string[]> {
  const check = await compile(of, [`${of}.c`, "-lOpenCL"]);
  await buildLayer();
  const env = mode === "none" ? {} : layerEnv(mode);
  const { code, stdout, stderr } = await new Deno.Command(check, { args: [mode], env }).output();
  const decoder = new TextDecoder();
  const failed = decoder.decode(stdout).trim().split("\n").filter((line) => !line.startsWith("ok "));
  return code === 0 && failed.length === 0 ? [] : [...failed, decoder.decode(stderr), `exit code ${code}`];
}

function test(name: string, run: () => Promise<void>): void {
  Deno.test({ name: missing ? `${name} (not here: ${missing})` : name, ignore: missing !== undefined, fn: run });
}

for (const of of CHECKS) {
  test(`layer: PoCL without it aliases host memory (${of}.c)`, async () => {
    assertEquals(await failures(of, "none"), []);
  });

  for (const mode of LAYER_MODES) {
    test(`layer: in mode ${mode} the device does not, and bytes move as ${mode} says (${of}.c)`, async () => {
      assertEquals(await failures(of, mode), []);
    });
  }
}

test("layer: a mode it does not know is refused, in words", async () => {
  await buildLayer();
  const env = { ...layerEnv("map"), SAMEPAGE_LAYER: "mirror" };
  const check = await compile("check", ["check.c", "-lOpenCL"]);
  const { stderr } = await new Deno.Command(check, { args: ["none"], env }).output();
  assertEquals(
    new TextDecoder().decode(stderr).trim(),
    "private_copy: SAMEPAGE_LAYER must be map, finish, enqueue or kernel",
  );
});

test("layer: the compiler's words are in the error", async () => {
  await assertRejects(() => compile("nothing", ["no_such_file.c"]), Error, "no_such_file.c");
});
