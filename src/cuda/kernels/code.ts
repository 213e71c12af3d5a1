import { cString } from "../../core/native/text.ts";
import { checks } from "../check.ts";

export interface Code {
  readonly isPtx: boolean;
  /** A private copy of the bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The white space and comments before PTX's first directive. */
const BEFORE_PTX = /^(?:\s|\/\/[^\n]*(?:\n|$)|\/\*[^]*?\*\/)*/;

export function ptxIn(text: string): Code {
  checks.assertText(text, "text");
  const directive = text.slice(BEFORE_PTX.exec(text)![0].length, -1).slice(0, 9);
  if (!/^\.version\s/.test(directive)) throw checks.wrong("text", "expected PTX, which begins with .version.");
  return { isPtx: true, bytes: cString(text) };
}

/** The code of a cubin or a fatbin. @throws {ArgumentError} for other bytes, and code that is cut off. */
export function cubinIn(given: Uint8Array): Code {
  const bytes = checks.bytesIn(given, "bytes", "a Uint8Array").slice(); // a copy cannot change before the driver reads it
  const view = new DataView(bytes.buffer);
  if (bytes.length >= 4 && view.getUint32(0) === ELF.magic) assertWholeElf(view);
  else if (bytes.length >= 4 && view.getUint32(0, true) === FATBIN.magic) assertWholeFatbin(view);
  else throw damaged("it is neither a cubin, which is an ELF file, nor a fatbin.");
  return { isPtx: false, bytes };
}

/** The offsets of fields in a 64-bit ELF header, and their values in a cubin (elf.h). */
const ELF = {
  magic: 0x7f454c46,
  class: { at: 4, is64: 2 },
  data: { at: 5, isLittle: 1 },
  machine: { at: 18, isCuda: 190 },
  segments: { at: 32, size: 54, count: 56, least: 56 },
  sections: { at: 40, size: 58, count: 60, least: 64 },
  length: 64,
};

/** The offsets of a section's type, offset and size; and the type without bytes in the file. */
const SECTION = { type: 4, offset: 24, size: 32, noBytes: 8 };

/** Checks that all parts lie within the file, because the driver does not. */
function assertWholeElf(view: DataView): void {
  if (view.byteLength < ELF.length) throw damaged("it is cut off.");
  const isElf64 = view.getUint8(ELF.class.at) === ELF.class.is64 && view.getUint8(ELF.data.at) === ELF.data.isLittle;
  if (!isElf64 || view.getUint16(ELF.machine.at, true) !== ELF.machine.isCuda) {
    throw damaged("it is an ELF file for another machine, not for CUDA.");
  }
  for (const table of [ELF.segments, ELF.sections]) {
    const [size, count] = [view.getUint16(table.size, true), view.getUint16(table.count, true)];
    if (count > 0 && size < table.least) throw damaged("its header is damaged.");
    assertInside(view, view.getBigUint64(table.at, true), BigInt(size * count));
  }
  const first = Number(view.getBigUint64(ELF.sections.at, true));
  const size = view.getUint16(ELF.sections.size, true);
  for (let i = 0; i < view.getUint16(ELF.sections.count, true); i++) {
    const at = first + i * size;
    if (view.getUint32(at + SECTION.type, true) === SECTION.noBytes) continue;
    assertInside(view, view.getBigUint64(at + SECTION.offset, true), view.getBigUint64(at + SECTION.size, true));
  }
}

/** The header of a fatbin: magic, version, its own size, and the size of the rest (fatbinary.h). */
const FATBIN = { magic: 0xba55ed50, headerSize: 6, size: 8, length: 16 };

function assertWholeFatbin(view: DataView): void {
  if (view.byteLength < FATBIN.length) throw damaged("it is cut off.");
  const header = view.getUint16(FATBIN.headerSize, true);
  if (header < FATBIN.length) throw damaged("its header is damaged.");
  assertInside(view, BigInt(header), view.getBigUint64(FATBIN.size, true));
}

function assertInside({ byteLength }: DataView, offset: bigint, size: bigint): void {
  if (offset + size > BigInt(byteLength)) throw damaged("it is cut off, or its header is damaged.");
}

function damaged(what: string): Error {
  return checks.wrong("bytes", what, "Compile it again: nvcc -cubin, or cuda.program(source).");
}
