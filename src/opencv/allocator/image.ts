import { addDynamicTables } from "../../guard/dynamic.ts";
import { SharedObject } from "../../guard/elf.ts";
import { addDynamicSection, addText } from "../../guard/sections.ts";
import { addUnwindTables } from "../../guard/unwind.ts";
import { allocateCode, type Callees, deallocateCode } from "./code.ts";

/** The names of the image's functions. */
export const FUNCTIONS = { allocate: "samepage_allocate", deallocate: "samepage_deallocate" } as const;

/** A shared object of the two functions. What OpenCV throws passes through them. */
export function allocatorImage(soname: string, callees: Callees): Uint8Array<ArrayBuffer> {
  const image = new SharedObject();
  const dynamic = addDynamicSection(image);
  const { text, codes } = addText(image, [() => allocateCode(callees), () => deallocateCode(callees)]);
  addUnwindTables(image, codes);
  addDynamicTables(image, dynamic.bytes, {
    soname,
    needed: "libc.so.6",
    text,
    exports: Object.values(FUNCTIONS).map((name, i) => ({ name, at: codes[i].at, size: codes[i].bytes.length })),
    relocations: [],
  });
  return image.write();
}
