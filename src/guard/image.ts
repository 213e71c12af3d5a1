/**
 * The guard's image: a shared object with a thunk for each function.
 *
 * @module
 */
import {
  R_X86_64_64,
  R_X86_64_DTPMOD64,
  SHF_TLS,
  SHF_WRITE,
  SHT_NOBITS,
  SHT_PROGBITS,
} from "../../ffi/elf/constants.ts";
import { addDynamicTables } from "./dynamic.ts";
import { SharedObject } from "./elf.ts";
import { RECORD_SIZE } from "./record.ts";
import { addDynamicSection, addText } from "./sections.ts";
import { addUnwindTables } from "./unwind.ts";
import { recordFunction, thunk } from "./x86_64.ts";

export interface GuardTarget {
  readonly name: string;
  readonly address: bigint;
  readonly onStack: number;
}

/** The image's own function, which returns the address of the calling thread's record. */
export const RECORD_FUNCTION = "samepage_guard_record";

const RUNTIME = "libstdc++.so.6";

/** How many words the loader fills in. The last two are a `tls_index`. */
const WORDS = 5;

export function guardImage(soname: string, targets: readonly GuardTarget[]): Uint8Array<ArrayBuffer> {
  const image = new SharedObject();
  const dynamic = addDynamicSection(image);
  const words = image.add({
    name: ".got",
    type: SHT_PROGBITS,
    flags: SHF_WRITE,
    bytes: () => new Uint8Array(WORDS * 8), // the loader writes them
    entrySize: 8,
  });
  const [personality, stdException, tlsGetAddr, recordIndex] = Array.from(
    { length: WORDS },
    (_, i) => words.at + 8 * i,
  );
  image.add({
    name: ".tbss",
    type: SHT_NOBITS,
    flags: SHF_WRITE | SHF_TLS,
    bytes: () => new Uint8Array(),
    size: RECORD_SIZE,
  });

  const { text, codes } = addText(image, [
    ...targets.map(({ address, onStack }) => (at: number) => thunk(address, onStack, at, { recordIndex, tlsGetAddr })),
    (at) => recordFunction(at, { recordIndex, tlsGetAddr }),
  ]);
  addUnwindTables(image, codes.slice(0, -1), { personality, stdException });

  const names = [...targets.map(({ name }) => name), RECORD_FUNCTION];
  addDynamicTables(image, dynamic.bytes, {
    soname,
    needed: RUNTIME,
    text,
    exports: codes.map(({ at, bytes }, i) => ({ name: names[i], at, size: bytes.length })),
    relocations: [
      { at: personality, type: R_X86_64_64, symbol: "__gxx_personality_v0" },
      { at: stdException, type: R_X86_64_64, symbol: "_ZTISt9exception" },
      { at: tlsGetAddr, type: R_X86_64_64, symbol: "__tls_get_addr" },
      { at: recordIndex, type: R_X86_64_DTPMOD64 }, // of this image; the record is its first variable, so the offset that follows is 0
    ],
  });
  return image.write();
}
