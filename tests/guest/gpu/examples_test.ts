/** The examples with surfaces of video: in the guest with a GPU. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { guestTest } from "../needs.ts";

const SAYS = {
  "vaapi-to-opencl": ["vaapi→host: copy", "host→opencl: alias", "sum "],
  "vaapi-to-vulkan": ["vaapi→host: copy", "host→vulkan: alias", "the same 307200 bytes", "the same 153600 bytes"],
};

for (const [name, lines] of Object.entries(SAYS)) {
  guestTest(`example ${name}`, async () => {
    const args = ["run", "-A", "--no-check", `examples/${name}/main.ts`];
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
    const said = new TextDecoder().decode(stdout);
    assertEquals(code, 0, said + new TextDecoder().decode(stderr));
    for (const line of [...lines, "nothing: every native object was given back"]) assertStringIncludes(said, line);
  }, ["/dev/dri/renderD128"]);
}
