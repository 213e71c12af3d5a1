/** The tests of this folder under Khronos' validation layer: it says nothing. A mistake of a test's own shows that it would. */
import { assert, assertEquals } from "@std/assert";
import { NativeCallError } from "@samepage/interop";
import { VulkanContext } from "@samepage/interop/vulkan";
import { saidOf } from "./layer.ts";
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

function test(name: string, fn: () => Promise<void>): void {
  const where = reason === undefined ? "" : ` (not here: ${reason})`;
  Deno.test({ name: `vulkan: validation: ${name}${where}`, ignore: reason !== undefined, fn });
}

const at = (path: string) => new URL(path, import.meta.url).pathname;

test("the layer reports a buffer that outlives its device", async () => {
  const said = await saidOf(["run", "-A", at("mistake.ts")]);
  assert(said.includes("VUID-vkDestroyDevice-device"), said);
});

/** Those that FFmpeg, which makes its own commands, uses too. */
const FRAMES = "../ffmpeg/vulkan_frames";

/** Images stay in the layout that every API takes; the layer's advice at each copy that another may be faster is left out. */
const FLAGS: Readonly<Record<string, string>> = Object.fromEntries(
  ["image", "image_ports", "layers", FRAMES].map((file) => [file, "error,warn"]),
);

for (const file of ["context", "image", "image_ports", "kernel", "layers", "memory", "queue", FRAMES]) {
  test(`${file}_test.ts`, async () => {
    assertEquals(await saidOf(["test", "-A", "--no-check", at(`${file}_test.ts`)], FLAGS[file]), "");
  });
}
