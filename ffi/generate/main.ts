/**
 * `deno task ffi [--check] [--out=DIR] [LIBRARY…]` writes the folders of `ffi/` that describe C and C++ libraries. With
 * `--check` it only compares: it names each file that differs and exits with 1.
 *
 * @module
 */
import { toFileUrl } from "@std/path";
import type { Library } from "./library.ts";
import { LIBRARIES } from "./lists/mod.ts";
import { readModel } from "./read/mod.ts";
import { write } from "./write/mod.ts";

const check = Deno.args.includes("--check");
const out = Deno.args.find((arg) => arg.startsWith("--out="))?.slice("--out=".length);
const names = Deno.args.filter((arg) => !arg.startsWith("--"));
const root = out === undefined ? new URL("../", import.meta.url) : toFileUrl(`${Deno.realPathSync(out)}/`);

for await (const { name } of Deno.readDir(new URL("lists/", import.meta.url))) {
  const lists: readonly unknown[] = Object.values(await import(`./lists/${name}`));
  if (lists.some((list) => isLibrary(list) && !LIBRARIES.includes(list))) {
    console.error(`lists/${name} is not in the table. Add it to LIBRARIES in ffi/generate/lists/mod.ts.`);
    Deno.exit(2);
  }
}

const unknown = names.find((name) => !LIBRARIES.some((library) => library.name === name));
if (unknown !== undefined) {
  console.error(`There is no list for ${unknown}; there are ${LIBRARIES.map(({ name }) => name).join(", ")}.`);
  Deno.exit(2);
}

let differs = false;
for (const library of LIBRARIES.filter(({ name }) => names.length === 0 || names.includes(name))) {
  if (library.mayLack && !await isThere(library.folders![0])) {
    console.error(`${library.name}: left out, its headers are not in ${library.folders![0]}.`);
    continue;
  }
  const folder = new URL(`${library.name}/`, root);
  if (!check) await Deno.mkdir(folder, { recursive: true });
  const files = await write(library, await orExit(library.name, readModel(library)));
  for (const name of new Set([...files.keys(), ...await listing(folder)])) {
    const file = new URL(name, folder);
    const text = files.get(name);
    if (await current(file) === text) continue;
    differs = true;
    if (check) console.error(`${file.pathname} is not what the headers say. Run: deno task ffi ${library.name}`);
    else if (text === undefined) await Deno.remove(file);
    else await Deno.writeTextFile(file, text);
    if (!check) console.log(`${text === undefined ? "removed" : "wrote"} ${file.pathname}`);
  }
}
if (check && differs) Deno.exit(1);

async function isThere(folder: string): Promise<boolean> {
  return await orUndefined(Deno.stat(folder)) !== undefined;
}

/** Is it a list? Others are what several lists have in common. */
function isLibrary(value: unknown): value is Library {
  return typeof value === "object" && value !== null && "functions" in value;
}

/** The promise's result. A failure is printed and ends the process. */
async function orExit<T>(library: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    console.error(`${library}: ${error instanceof Error ? error.message : error}`);
    Deno.exit(1);
  }
}

/** The names in a folder; none where it does not exist. */
async function listing(folder: URL): Promise<string[]> {
  return await orUndefined(Array.fromAsync(Deno.readDir(folder), ({ name }) => name)) ?? [];
}

/** The text of a file, if it exists. */
async function current(file: URL): Promise<string | undefined> {
  return await orUndefined(Deno.readTextFile(file));
}

async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
