import type { Address } from "../../ffi/address.ts";
import { addDynamicTables } from "./dynamic.ts";
import { SharedObject } from "./elf.ts";
import { loadImage, symbolIn } from "./load.ts";
import { addDynamicSection, addText } from "./sections.ts";
import { addUnwindTables } from "./unwind.ts";
import type { Code } from "./x86_64.ts";

/**
 * Loads machine code, and returns the address of each function. It is never unloaded, because other threads may run it.
 * C++ exceptions pass through functions that describe their frame.
 * @param prefix the beginning of the image's name
 * @throws {NativeCallError} if the system does not allow new machine code.
 */
export function loadFunctions<Name extends string>(
  prefix: string,
  functions: Readonly<Record<Name, Code>>,
): Record<Name, Address> {
  const names = Object.keys(functions) as Name[];
  const image = loadImage(prefix, (soname) => imageOf(soname, functions));
  return Object.fromEntries(names.map((name) => [name, symbolIn(image, symbolOf(name))])) as Record<Name, Address>;
}

function imageOf(soname: string, functions: Readonly<Record<string, Code>>): Uint8Array<ArrayBuffer> {
  const names = Object.keys(functions);
  const image = new SharedObject();
  const dynamic = addDynamicSection(image);
  const { text, codes } = addText(image, Object.values(functions).map((code) => () => code));
  addUnwindTables(image, codes);
  addDynamicTables(image, dynamic.bytes, {
    soname,
    needed: "libc.so.6",
    text,
    exports: codes.map(({ at, bytes }, i) => ({ name: symbolOf(names[i]), at, size: bytes.length })),
  });
  return image.write();
}

function symbolOf(name: string): string {
  return `samepage_${name}`;
}
