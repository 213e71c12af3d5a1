import { ELFCLASS64, ELFDATA2LSB, ELFMAG0, PT_LOAD } from "../../../ffi/elf/constants.ts";
import { Elf64_Ehdr, Elf64_Phdr, readElf64Ehdr, readElf64Phdr } from "../../../ffi/elf/structs.ts";
import { O_CLOEXEC, O_NONBLOCK, O_RDONLY, SEEK_END, SEEK_SET } from "../../../ffi/libc/constants.ts";
import type { LibC } from "../../../ffi/libc/functions.ts";
import { SYMBOLS } from "../../../ffi/libc/symbols.ts";

/** The process's own C library: the one that SAMEPAGE_LIB_LIBC names may be the file in question. */
const LIBC = "libc.so.6";

type Files = Pick<LibC, "open" | "read" | "lseek" | "close">;

/** Undefined without the permission; opening the library itself will ask for it. */
function opened(): Files | undefined {
  const { open, read, lseek, close } = SYMBOLS;
  try {
    return Deno.dlopen(LIBC, { open, read, lseek, close }).symbols as unknown as Files;
  } catch {
    return undefined;
  }
}

/**
 * What is wrong with a library's file that the loader does not notice: it waits at a pipe, and the process ends by SIGBUS
 * if a part that the file's header promises is cut off. Undefined if nothing is wrong, or the loader reports it itself.
 * @param path a path with a slash in it; the loader alone knows the file of a bare name
 */
export function faultOf(path: string): string | undefined {
  const files = opened();
  const fd = files?.open(new TextEncoder().encode(`${path}\0`), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0) ?? -1;
  if (files === undefined || fd < 0) return undefined;
  try {
    const size = files.lseek(fd, 0n, SEEK_END);
    if (size < 0n) return "it is not a regular file.";
    const end = endOf((at, length) => bytesAt(files, fd, at, length));
    return end <= size ? undefined : `it is cut off: it has ${size} bytes, and its parts reach to byte ${end}.`;
  } finally {
    files.close(fd);
  }
}

type Read = (at: bigint, length: number) => DataView | undefined;

/** The end of the parts that the loader maps; 0 for a file that is no library for this machine: the loader says so. */
function endOf(read: Read): bigint {
  const header = read(0n, Elf64_Ehdr.size);
  if (header === undefined || header.getUint32(0) !== ELF_MAGIC) return 0n;
  if (header.getUint8(CLASS_AT) !== ELFCLASS64 || header.getUint8(DATA_AT) !== ELFDATA2LSB) return 0n;
  const { e_phoff, e_phentsize, e_phnum } = readElf64Ehdr(header, 0);
  if (e_phentsize !== Elf64_Phdr.size) return 0n;
  const segments = read(e_phoff, e_phnum * Elf64_Phdr.size);
  if (segments === undefined) return e_phoff + BigInt(e_phnum * Elf64_Phdr.size);
  let end = 0n;
  for (let i = 0; i < e_phnum; i++) {
    const { p_type, p_offset, p_filesz } = readElf64Phdr(segments, i * Elf64_Phdr.size);
    if (p_type === PT_LOAD && p_offset + p_filesz > end) end = p_offset + p_filesz;
  }
  return end;
}

/** The first bytes of an ELF file: 0x7f, "ELF". */
const ELF_MAGIC = ELFMAG0 << 24 | 0x454c46;

/** Where an ELF file says how many bits it is for, and in which order its bytes are (elf.h). */
const [CLASS_AT, DATA_AT] = [4, 5];

function bytesAt(files: Files, fd: number, at: bigint, length: number): DataView | undefined {
  const bytes = new Uint8Array(length);
  if (files.lseek(fd, at, SEEK_SET) !== at) return undefined;
  return files.read(fd, bytes, BigInt(length)) === BigInt(length) ? new DataView(bytes.buffer) : undefined;
}
