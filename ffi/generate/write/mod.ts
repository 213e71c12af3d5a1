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
  return new Map(await Promise.all(files.map(async ([name, text]) => [name, await format(text)] as const)));
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

async function format(text: string): Promise<string> {
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  const process = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", "--config", config, "--ext", "ts", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = process.output();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout, stderr } = await output;
  if (!success) throw new Error(`deno fmt: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}
