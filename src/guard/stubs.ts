/**
 * Functions that drivers hand out by address, on Deno's fast path. A call by pointer takes Deno 1.7 µs, and a library's
 * function some nanoseconds. So this makes a library: a shared object in memory, with a jump to each address.
 *
 * @module
 */
import { PermissionError } from "../core/errors.ts";
import type { AddressLink } from "../core/native/library.ts";
import { addDynamicTables } from "./dynamic.ts";
import { SharedObject } from "./elf.ts";
import { loadImage } from "./load.ts";
import { isMachine } from "./machine.ts";
import { addDynamicSection, addText } from "./sections.ts";
import { jump } from "./x86_64.ts";

/** The functions of each image: an API asks for the same addresses again with each device. */
const opened = new Map<string, Record<string, unknown>>();

/** Makes functions of addresses; undefined if there is no machine code for this machine, or the system refuses it. */
export const byStubs: AddressLink = (api, symbols, addresses) => {
  if (!isMachine() || addresses.size === 0) return undefined;
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
