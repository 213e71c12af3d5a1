import { SHF_EXECINSTR, SHF_WRITE, SHT_DYNAMIC, SHT_PROGBITS } from "../../../ffi/elf/constants.ts";
import { Bytes } from "../../core/native/bytes.ts";
import { addDynamicTables, DYNAMIC_SIZE } from "../../core/native/dynamic.ts";
import { SharedObject } from "../../core/native/elf.ts";
import { addUnwindTables, type PlacedCode } from "../../core/native/unwind.ts";
import { INT3 } from "../../core/native/x86_64.ts";
import { allocateCode, type Callees, deallocateCode } from "./code.ts";

/** The names of the image's functions. */
export const FUNCTIONS = { allocate: "samepage_allocate", deallocate: "samepage_deallocate" } as const;

/** A shared object of the two functions. What OpenCV throws passes through them. */
export function allocatorImage(soname: string, callees: Callees): Uint8Array<ArrayBuffer> {
  const image = new SharedObject();
  const dynamic = image.add({
    name: ".dynamic",
    type: SHT_DYNAMIC,
    flags: SHF_WRITE,
    bytes: () => new Uint8Array(DYNAMIC_SIZE), // written last
    link: ".dynstr",
    entrySize: 16,
  });
  const codes: PlacedCode[] = [];
  const text = image.add({
    name: ".text",
    type: SHT_PROGBITS,
    flags: SHF_EXECINSTR,
    align: 16,
    bytes: (at) => {
      const bytes = new Bytes();
      for (const code of [allocateCode(callees), deallocateCode(callees)]) {
        codes.push({ ...code, at: at + bytes.align(16, INT3).length });
        bytes.add(code.bytes);
      }
      return bytes.done();
    },
  });
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
