import type { Library } from "../library.ts";

/** The format of shared objects, as `src/guard` writes it: no functions. What the core reads of it is in `libc`. */
export const elf: Library = {
  name: "elf",
  interface: "Elf",
  headers: ["elf.h"],
  defines: {},
  functions: [],
  constants: [
    {
      type: "unsigned int",
      names: [
        ...["ELFOSABI_SYSV", "EV_CURRENT", "ET_DYN", "EM_X86_64"],
        ...["PT_DYNAMIC", "PT_TLS", "PT_GNU_EH_FRAME", "PT_GNU_RELRO", "PT_GNU_STACK"],
        ...["PF_R", "PF_W", "PF_X"],
        ...["SHT_NULL", "SHT_PROGBITS", "SHT_NOBITS", "SHT_STRTAB", "SHT_DYNSYM", "SHT_HASH", "SHT_RELA"],
        ...["SHT_DYNAMIC", "SHF_WRITE", "SHF_ALLOC", "SHF_EXECINSTR", "SHF_TLS"],
        ...["DT_NULL", "DT_NEEDED", "DT_SONAME", "DT_HASH", "DT_STRTAB", "DT_STRSZ", "DT_SYMTAB", "DT_SYMENT"],
        ...["DT_RELA", "DT_RELASZ", "DT_RELAENT", "R_X86_64_64", "R_X86_64_DTPMOD64"],
        ...["STB_GLOBAL", "STT_NOTYPE", "STT_FUNC"],
      ],
    },
  ],
  structs: ["Elf64_Shdr", "Elf64_Sym", "Elf64_Rela"],
};
