/**
 * Functions that drivers hand out by their addresses, on Deno's fast path. A call by a pointer takes Deno 1.7 µs; a
 * library's function costs some nanoseconds. So a library is made: a shared object in memory, with a jump to each address.
 *
 * @module
 */
import { PermissionError } from "../core/errors.ts";
import type { AddressLink } from "../core/native/library.ts";
import { addDynamicTables } from "./dynamic.ts";
import { SharedObject } from "./elf.ts";
import { loadImage } from "./load.ts";
import { addDynamicSection, addText } from "./sections.ts";
import { jump } from "./x86_64.ts";

/** What the image for some addresses offers: an API asks for the same functions again with each device. */
const opened = new Map<string, Record<string, unknown>>();

/** Makes functions of addresses; undefined where there is no machine code for this machine, or it refuses ours. */
export const byStubs: AddressLink = (api, symbols, addresses) => {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64" || addresses.size === 0) return undefined;
  try {
    const key = [api, ...addresses].join();
    const known = opened.get(key);
    if (known !== undefined) return known;
    const image = loadImage(`stubs-${api}`, (soname) => stubImage(soname, addresses));
    const there = Array.from(addresses.keys(), (name) => [name, { ...symbols[name], name }] as const);
    const functions = Deno.dlopen(image, Object.fromEntries(there)).symbols;
    opened.set(key, functions);
    return functions;
  } catch (error) {
    if (error instanceof PermissionError || error instanceof Deno.errors.NotCapable) throw error;
    return undefined; // no memfd, or none that may be executed
  }
};

function stubImage(soname: string, addresses: ReadonlyMap<string, bigint>): Uint8Array<ArrayBuffer> {
  const image = new SharedObject();
  const dynamic = addDynamicSection(image);
  const { text, codes } = addText(image, Array.from(addresses.values(), (address) => () => jump(address)));
  const names = [...addresses.keys()];
  const exports = codes.map(({ at, bytes }, i) => ({ name: names[i], at, size: bytes.length }));
  addDynamicTables(image, dynamic.bytes, { soname, text, exports });
  return image.write();
}
