import type { Library } from "../library.ts";
import type { Model } from "../model.ts";
import { constants, errors } from "./constants.ts";
import { header, imports } from "./file.ts";
import { functions } from "./functions.ts";
import { handles } from "./handles.ts";
import { structs } from "./structs.ts";
import { symbols } from "./symbols.ts";

/** Writes a library: file name to formatted text. */
export async function write(library: Library, model: Model): Promise<Map<string, string>> {
  const bodies = Object.entries({
    "symbols.ts": symbols(library, model),
    "functions.ts": functions(library, model),
    "handles.ts": handles(model),
    "constants.ts": constants(model),
    "errors.ts": errors(model),
    "structs.ts": structs(library, model),
  }).filter(([, body]) => body !== "");
  const files = bodies.map(([name, body]) => [name, header(library) + imports(body, model) + body]);
  files.push(["mod.ts", header(library) + index(library, bodies.map(([name]) => name))]);
  return await formatted(files);
}

function index({ interface: name, cxx }: Library, files: readonly string[]): string {
  const shared = ["brand.ts", "address.ts", "layout.ts"].map((file) => `../${file}`);
  return `
/**
 * The ${
    cxx ? "C++" : "C"
  } side of ${name}: symbols, constants, error names and struct layouts. Importing it loads no library.
 *
 * @module
 */

${[...shared, ...files.map((file) => `./${file}`)].map((file) => `export * from "${file}";`).join("\n")}
`;
}

/** Files as `deno fmt` writes them. */
async function formatted(files: readonly (readonly string[])[]): Promise<Map<string, string>> {
  const folder = await Deno.makeTempDir({ prefix: "samepage-ffi-" });
  try {
    for (const [name, text] of files) await Deno.writeTextFile(`${folder}/${name}`, text);
    const config = new URL("../../../deno.json", import.meta.url).pathname;
    const args = ["fmt", "--quiet", "--config", config, folder];
    const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, stdin: "null" }).output();
    if (!success) throw new Error(`deno fmt: ${new TextDecoder().decode(stderr)}`);
    return new Map(
      await Promise.all(files.map(async ([name]) => [name, await Deno.readTextFile(`${folder}/${name}`)] as const)),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
