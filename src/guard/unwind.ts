/**
 * What the unwinder reads about a piece of code: how to unwind each frame (.eh_frame, with .eh_frame_hdr to find it),
 * and where exceptions land (.gcc_except_table). By the DWARF standard, chapter 6.4, the Linux Standard Base's chapter
 * on exception frames, and "Itanium C++ ABI: Exception Handling".
 *
 * @module
 */
import { SHT_PROGBITS } from "../../ffi/elf/constants.ts";
import { Bytes } from "./bytes.ts";
import type { SharedObject } from "./elf.ts";
import { CAUGHT } from "./record.ts";
import type { Code, FrameRow } from "./x86_64.ts";

export interface PlacedCode extends Code {
  readonly at: number;
}

// How pointers in these tables are written (DW_EH_PE_…).
const OMITTED = 0xff;
const UDATA4 = 0x03; // a number of four bytes
const RELATIVE = 0x1b; // pcrel | sdata4: four bytes, from where they stand
const INDIRECT = 0x9b; // indirect | pcrel | sdata4: from where they stand to a word that holds the address
const FROM_HEADER = 0x3b; // datarel | sdata4: four bytes, from the start of .eh_frame_hdr

// Registers by DWARF's numbers for x86-64.
const RBP = 6;
const RSP = 7;
const RETURN_ADDRESS = 16;

// Instructions for the call frame. The register is a part of the last one.
const ADVANCE_LOC4 = 0x04;
const DEF_CFA = 0x0c;
const DEF_CFA_OFFSET = 0x0e;
const OFFSET = 0x80;

/** The unit in which offsets of saved registers count: a word, downwards. */
const DATA_ALIGNMENT = 0x78; // -8 as a signed LEB128

/** The rules at the beginning of each state of a frame. The CFA is the stack pointer before the call. */
const RULES: Readonly<Record<FrameRow[1], readonly number[]>> = {
  pushed: [DEF_CFA_OFFSET, 16, OFFSET | RBP, 2],
  framed: [DEF_CFA, RBP, 16],
  left: [DEF_CFA, RSP, 8],
};

const TYPES_SIZE = 8;

/**
 * The actions of every function, in the order in which they are tried: a clause, then the distance to the next action.
 */
const ACTIONS = [CAUGHT.STD_EXCEPTION, 1, CAUGHT.ANY, 0];

export interface Words {
  readonly personality: number;
  readonly stdException: number;
}

/**
 * Adds the tables for these functions, which are in the order of their addresses.
 * @param words the words that catching needs; undefined for functions that let every exception pass
 */
export function addUnwindTables(image: SharedObject, codes: readonly PlacedCode[], words?: Words): void {
  const add = (name: string, bytes: (at: number) => Bytes) =>
    image.add({ name, type: SHT_PROGBITS, align: 4, bytes: (at) => bytes(at).done() });
  const parts: number[] = [];
  const entries: number[] = [];
  if (words !== undefined) add(".gcc_except_table", (at) => exceptTable(codes, at, words.stdException, parts));
  const frames = add(".eh_frame", (at) => frameTable(codes, at, parts, words?.personality, entries));
  add(".eh_frame_hdr", (at) => frameIndex(codes, at, frames.at, entries));
}

/** All exceptions of a function land on its landing pad, by one of two clauses. Adds to `parts` where each part lies. */
function exceptTable(codes: readonly PlacedCode[], at: number, stdException: number, parts: number[]): Bytes {
  const table = new Bytes();
  for (const code of codes) {
    parts.push(at + table.length);
    const callSites = new Bytes().u32(0).u32(code.bytes.length).u32(code.landingPad!).uleb(1); // 1: the first action
    const rules = new Bytes().raw(UDATA4).uleb(callSites.length).add(callSites.done()).raw(...ACTIONS);
    table.raw(OMITTED); // landing pads count from the function's start
    table.raw(INDIRECT).uleb(rules.length + TYPES_SIZE).add(rules.done()); // types count backwards from the part's end
    table.u32(0); // clause 2: any type
    table.u32(stdException - (at + table.length)); // clause 1
  }
  return table;
}

/**
 * How to unwind each function's frame, and where its part of .gcc_except_table lies. Adds to `entries` where each lies.
 */
function frameTable(
  codes: readonly PlacedCode[],
  at: number,
  parts: readonly number[],
  personality: number | undefined,
  entries: number[],
): Bytes {
  const table = new Bytes();
  const entry = (write: (entry: Bytes, at: number) => void) => {
    const bytes = new Bytes();
    write(bytes, at + table.length + 4);
    while ((bytes.length + 4) % 8 !== 0) bytes.raw(0); // DW_CFA_nop
    table.u32(bytes.length).add(bytes.done());
  };
  entry((cie, here) => {
    const catches = personality !== undefined;
    cie.u32(0).raw(1); // a CIE, version 1
    cie.add(new TextEncoder().encode(catches ? "zPLR\0" : "zR\0")); // its augmentation
    cie.uleb(1).raw(DATA_ALIGNMENT).uleb(RETURN_ADDRESS);
    cie.uleb(catches ? 1 + 4 + 1 + 1 : 1); // the bytes of P, L and R
    if (catches) cie.raw(INDIRECT).u32(personality - (here + cie.length)).raw(RELATIVE); // L: how they point to parts
    cie.raw(RELATIVE); // R: how they point to functions
    cie.raw(DEF_CFA, RSP, 8, OFFSET | RETURN_ADDRESS, 1);
  });
  codes.forEach((code, i) => {
    entries.push(at + table.length);
    entry((fde, here) => {
      fde.u32(here - at); // back to the CIE
      fde.u32(code.at - (here + fde.length)).u32(code.bytes.length);
      if (personality === undefined) fde.uleb(0);
      else fde.uleb(4).u32(parts[i] - (here + fde.length));
      let said = 0;
      for (const [offset, state] of code.frame) {
        fde.raw(ADVANCE_LOC4).u32(offset - said).raw(...RULES[state]);
        said = offset;
      }
    });
  });
  return table.u32(0); // the end
}

function frameIndex(codes: readonly PlacedCode[], at: number, frames: number, entries: readonly number[]): Bytes {
  const index = new Bytes().raw(1, RELATIVE, UDATA4, FROM_HEADER);
  index.u32(frames - (at + index.length)).u32(codes.length);
  codes.forEach((code, i) => index.u32(code.at - at).u32(entries[i] - at));
  return index;
}
