/**
 * Writes a shared object: 64-bit ELF for x86-64, by the System V gABI. Constants and structs are those of elf.h.
 *
 * @module
 */
import {
  ELFOSABI_SYSV,
  EM_X86_64,
  ET_DYN,
  EV_CURRENT,
  PF_R,
  PF_W,
  PF_X,
  PT_DYNAMIC,
  PT_GNU_EH_FRAME,
  PT_GNU_RELRO,
  PT_GNU_STACK,
  PT_TLS,
  SHF_ALLOC,
  SHF_EXECINSTR,
  SHF_WRITE,
  SHT_NULL,
  SHT_STRTAB,
} from "../../ffi/elf/constants.ts";
import { Elf64_Shdr, writeElf64Shdr } from "../../ffi/elf/structs.ts";
import { ELFCLASS64, ELFDATA2LSB, ELFMAG0, PT_LOAD } from "../../ffi/libc/constants.ts";
import { Elf64_Ehdr, Elf64_Phdr, type Elf64Phdr, writeElf64Phdr } from "../../ffi/libc/structs.ts";
import { Bytes } from "./bytes.ts";

/** Sections with different permissions begin on pages of their own. */
const PAGE = 4096;

/** The types of segments that consist of one section, by the section's name. */
const SEGMENTS: Readonly<Record<string, number>> = {
  ".dynamic": PT_DYNAMIC,
  ".eh_frame_hdr": PT_GNU_EH_FRAME,
  ".tbss": PT_TLS,
};

export interface SectionInit {
  readonly name: string;
  readonly type: number;
  /** `SHF_…`, beside `SHF_ALLOC`. */
  readonly flags?: number;
  readonly bytes: (at: number) => Uint8Array;
  /** Its size in memory, if that differs from its size in the file. */
  readonly size?: number;
  /** Its alignment; eight if left out. */
  readonly align?: number;
  /** The name of the section that it refers to: the strings of symbols, the symbols of relocations. */
  readonly link?: string;
  readonly info?: number;
  readonly entrySize?: number;
}

/** A section with its place. */
export interface Section extends Omit<SectionInit, "bytes"> {
  readonly flags: number;
  readonly align: number;
  readonly index: number;
  /** Its address, from where the image is loaded: the same as its place in the file. */
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly size: number;
}

export class SharedObject {
  readonly #sections: Section[] = [];
  #end: number;

  /** Leaves the first page for the headers. */
  constructor() {
    this.#end = PAGE;
  }

  /** Adds a section after the others. Sections with the same permissions have to follow each other. */
  add(init: SectionInit): Section {
    const { flags = 0, align = 8 } = init;
    const previous = this.#sections.at(-1);
    const apart = previous !== undefined && permissionsOf(previous) !== permissionsOf({ flags });
    const at = alignUp(this.#end, apart ? PAGE : align);
    const bytes = init.bytes(at);
    const section = {
      ...init,
      flags,
      align,
      index: this.#sections.length + 1,
      at,
      bytes,
      size: init.size ?? bytes.length,
    };
    this.#end = at + bytes.length;
    this.#sections.push(section);
    return section;
  }

  write(): Uint8Array<ArrayBuffer> {
    const names = new Bytes().raw(0);
    const named = this.#sections.map((section) => ({ ...section, nameAt: names.cString(section.name) }));
    const namesName = names.cString(".shstrtab");
    const namesAt = this.#end;
    const headersAt = alignUp(namesAt + names.length, 8);
    const count = named.length + 2; // with the null section, and that of the names
    const file = new Uint8Array(headersAt + count * Elf64_Shdr.size);
    const view = new DataView(file.buffer);

    const segments = this.#segments();
    file.set(fileHeader(segments.length, headersAt, count));
    segments.forEach((segment, i) => writeElf64Phdr(view, Elf64_Ehdr.size + i * Elf64_Phdr.size, segment));
    for (const { at, bytes } of named) file.set(bytes, at);
    file.set(names.done(), namesAt);

    const header = (index: number, name: number, type: number, section: Partial<Section>) =>
      writeElf64Shdr(view, headersAt + index * Elf64_Shdr.size, {
        sh_name: name,
        sh_type: type,
        sh_flags: BigInt(section.flags ?? 0),
        sh_addr: BigInt(section.flags === undefined ? 0 : section.at!),
        sh_offset: BigInt(section.at ?? 0),
        sh_size: BigInt(section.size ?? 0),
        sh_link: named.find(({ name }) => name === section.link)?.index ?? 0,
        sh_info: section.info ?? 0,
        sh_addralign: BigInt(section.align ?? 0),
        sh_entsize: BigInt(section.entrySize ?? 0),
      });
    header(0, 0, SHT_NULL, {});
    for (const section of named) {
      header(section.index, section.nameAt, section.type, { ...section, flags: section.flags! | SHF_ALLOC });
    }
    header(count - 1, namesName, SHT_STRTAB, { at: namesAt, size: names.length, align: 1 });
    return file;
  }

  #segments(): Elf64Phdr[] {
    const loads = Map.groupBy(this.#sections, permissionsOf);
    const own = this.#sections.filter(({ name }) => name in SEGMENTS);
    const size = Elf64_Ehdr.size + (1 + loads.size + own.length + 2) * Elf64_Phdr.size;
    const segments = [segment(PT_LOAD, PF_R, { at: 0, size, align: PAGE })]; // the headers
    for (const [permissions, sections] of loads) {
      const { at } = sections[0];
      const size = sections.at(-1)!.at + sections.at(-1)!.bytes.length - at;
      segments.push(segment(PT_LOAD, permissions, { at, size, align: PAGE }));
      // Only the loader writes. It makes whole pages read-only afterwards.
      if (permissions & PF_W) segments.push(segment(PT_GNU_RELRO, PF_R, { at, size: alignUp(size, PAGE), align: 1 }));
    }
    for (const section of own) segments.push(segment(SEGMENTS[section.name], permissionsOf(section), section));
    segments.push(segment(PT_GNU_STACK, PF_R | PF_W, { at: 0, size: 0, align: 16 })); // not executable
    return segments;
  }
}

function permissionsOf({ flags = 0 }: { readonly flags?: number }): number {
  return PF_R | (flags & SHF_WRITE ? PF_W : 0) | (flags & SHF_EXECINSTR ? PF_X : 0);
}

function segment(
  type: number,
  flags: number,
  place: Pick<Section, "at" | "size" | "align"> & Partial<Pick<Section, "bytes">>,
): Elf64Phdr {
  const at = BigInt(place.at);
  return {
    p_type: type,
    p_flags: flags,
    p_offset: at,
    p_vaddr: at,
    p_paddr: at,
    p_filesz: BigInt(place.bytes?.length ?? place.size),
    p_memsz: BigInt(place.size),
    p_align: BigInt(place.align),
  };
}

function fileHeader(segments: number, sectionsAt: number, sections: number): Uint8Array {
  const header = new Bytes();
  header.raw(ELFMAG0).add(new TextEncoder().encode("ELF"));
  header.raw(ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_SYSV).align(16);
  header.u16(ET_DYN).u16(EM_X86_64).u32(EV_CURRENT);
  header.u64(0n).u64(BigInt(Elf64_Ehdr.size)).u64(BigInt(sectionsAt)); // no entry; where the program headers lie, and the section headers
  header.u32(0).u16(Elf64_Ehdr.size); // no flags
  header.u16(Elf64_Phdr.size).u16(segments);
  header.u16(Elf64_Shdr.size).u16(sections).u16(sections - 1); // the last holds the sections' names
  return header.done();
}

function alignUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}
