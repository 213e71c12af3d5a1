import { SHF_EXECINSTR, SHF_WRITE, SHT_DYNAMIC, SHT_PROGBITS } from "../../ffi/elf/constants.ts";
import { Bytes } from "./bytes.ts";
import { DYNAMIC_SIZE } from "./dynamic.ts";
import type { Section, SharedObject } from "./elf.ts";
import type { PlacedCode } from "./unwind.ts";
import { type Code, INT3 } from "./x86_64.ts";

/** The section that the loader reads first; `addDynamicTables` writes it, last of all. */
export function addDynamicSection(image: SharedObject): Section {
  return image.add({
    name: ".dynamic",
    type: SHT_DYNAMIC,
    flags: SHF_WRITE,
    bytes: () => new Uint8Array(DYNAMIC_SIZE),
    link: ".dynstr",
    entrySize: 16,
  });
}

export function addText(
  image: SharedObject,
  functions: readonly ((at: number) => Code)[],
): { readonly text: Section; readonly codes: readonly PlacedCode[] } {
  const codes: PlacedCode[] = [];
  const text = image.add({
    name: ".text",
    type: SHT_PROGBITS,
    flags: SHF_EXECINSTR,
    align: 16,
    bytes: (start) => {
      const bytes = new Bytes();
      for (const make of functions) {
        const at = start + bytes.align(16, INT3).length;
        const code = make(at);
        codes.push({ ...code, at });
        bytes.add(code.bytes);
      }
      return bytes.done();
    },
  });
  return { text, codes };
}
