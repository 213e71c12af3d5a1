/**
 * What the loader reads in a shared object: names, symbols, relocations.
 *
 * @module
 */
import {
  DT_HASH,
  DT_NEEDED,
  DT_NULL,
  DT_RELA,
  DT_RELAENT,
  DT_RELASZ,
  DT_SONAME,
  DT_STRSZ,
  DT_STRTAB,
  DT_SYMENT,
  DT_SYMTAB,
  SHT_DYNSYM,
  SHT_HASH,
  SHT_RELA,
  SHT_STRTAB,
  STB_GLOBAL,
  STT_FUNC,
  STT_NOTYPE,
} from "../../ffi/elf/constants.ts";
import { Elf64_Rela, Elf64_Sym, writeElf64Rela, writeElf64Sym } from "../../ffi/elf/structs.ts";
import { Bytes } from "./bytes.ts";
import type { Section, SharedObject } from "./elf.ts";

/** Eleven entries of two words. */
export const DYNAMIC_SIZE = 11 * 16;

export interface Export {
  readonly name: string;
  readonly at: number;
  readonly size: number;
}

export interface Relocation {
  readonly at: number;
  readonly type: number;
  /** The symbol of another library that it refers to; undefined if it refers to the object itself. */
  readonly symbol?: string;
}

export interface DynamicInit {
  readonly soname: string;
  readonly needed?: string;
  readonly text: Section;
  readonly exports: readonly Export[];
  readonly relocations?: readonly Relocation[];
}

export function addDynamicTables(image: SharedObject, dynamic: Uint8Array, init: DynamicInit): void {
  const { relocations = [] } = init;
  const names = new Bytes().raw(0);
  const soname = names.cString(init.soname);
  const needed = init.needed === undefined ? undefined : names.cString(init.needed);
  const imports = relocations.flatMap(({ symbol }) => symbol ?? []);
  const symbols = symbolTable(imports, init.exports, init.text.index, names);

  const dynstr = image.add({ name: ".dynstr", type: SHT_STRTAB, align: 1, bytes: () => names.done() });
  const dynsym = image.add({
    name: ".dynsym",
    type: SHT_DYNSYM,
    bytes: () => symbols,
    link: ".dynstr",
    info: 1, // the index of the first symbol that is not local
    entrySize: Elf64_Sym.size,
  });
  const count = symbols.length / Elf64_Sym.size;
  const hash = image.add({
    name: ".hash",
    type: SHT_HASH,
    bytes: () => hashTable(count),
    link: ".dynsym",
    entrySize: 4,
  });
  const rela = image.add({
    name: ".rela.dyn",
    type: SHT_RELA,
    bytes: () => relocationTable(relocations, imports),
    link: ".dynsym",
    entrySize: Elf64_Rela.size,
  });

  const entries: readonly (readonly [tag: number, value: number])[] = [
    ...(needed === undefined ? [] : [[DT_NEEDED, needed] as const]),
    [DT_SONAME, soname],
    [DT_HASH, hash.at],
    [DT_STRTAB, dynstr.at],
    [DT_STRSZ, dynstr.size],
    [DT_SYMTAB, dynsym.at],
    [DT_SYMENT, Elf64_Sym.size],
    [DT_RELA, rela.at],
    [DT_RELASZ, rela.size],
    [DT_RELAENT, Elf64_Rela.size],
    [DT_NULL, 0],
  ];
  new BigUint64Array(dynamic.buffer).set(entries.flat().map(BigInt));
}

/** The symbol table: the null symbol, then symbols of other libraries, then the object's own. */
function symbolTable(
  imports: readonly string[],
  exports: readonly Export[],
  section: number,
  names: Bytes,
): Uint8Array {
  const table = new Uint8Array((1 + imports.length + exports.length) * Elf64_Sym.size);
  const view = new DataView(table.buffer);
  let index = 1;
  const write = (name: string, type: number, place: { shndx: number; at: number; size: number }) =>
    writeElf64Sym(view, index++ * Elf64_Sym.size, {
      st_name: names.cString(name),
      st_info: STB_GLOBAL << 4 | type,
      st_other: 0, // visible
      st_shndx: place.shndx,
      st_value: BigInt(place.at),
      st_size: BigInt(place.size),
    });
  for (const name of imports) write(name, STT_NOTYPE, { shndx: 0, at: 0, size: 0 });
  for (const { name, at, size } of exports) write(name, STT_FUNC, { shndx: section, at, size });
  return table;
}

/** One bucket, so that names need no hash: the loader compares them all, which is quick for some hundreds. */
function hashTable(symbols: number): Uint8Array {
  const table = new Bytes().u32(1).u32(symbols).u32(1); // number of buckets, number of chain links; the bucket's first symbol
  for (let i = 0; i < symbols; i++) table.u32(i === 0 || i === symbols - 1 ? 0 : i + 1); // each symbol's successor
  return table.done();
}

function relocationTable(relocations: readonly Relocation[], imports: readonly string[]): Uint8Array {
  const table = new Uint8Array(relocations.length * Elf64_Rela.size);
  const view = new DataView(table.buffer);
  relocations.forEach(({ at, type, symbol }, i) => {
    const index = symbol === undefined ? 0 : 1 + imports.indexOf(symbol);
    const r_info = BigInt(index) << 32n | BigInt(type);
    writeElf64Rela(view, i * Elf64_Rela.size, { r_offset: BigInt(at), r_info, r_addend: 0n });
  });
  return table;
}
