import type { Address } from "../../../ffi/address.ts";
import { RTLD_NOLOAD } from "../../../ffi/libc/constants.ts";
import { InteropError } from "../../core/errors.ts";
import { openingOf } from "../../core/native/library.ts";
import { addDynamicTables } from "../../guard/dynamic.ts";
import { SharedObject } from "../../guard/elf.ts";
import { addressOfSymbol, loadImage, openLibrary } from "../../guard/load.ts";
import { addDynamicSection, addText } from "../../guard/sections.ts";
import { addUnwindTables } from "../../guard/unwind.ts";
import { core } from "../library.ts";
import { viewAt } from "../memory.ts";
import { allocateCode, type Callees, deallocateCode } from "./code.ts";

/** The virtual functions of `cv::MatAllocator`, in the order of their declaration. A destructor counts as two. */
export const VIRTUAL = [
  ...["destruct", "delete", "allocate", "allocateFor", "deallocate"] as const,
  ...["map", "unmap", "download", "upload", "copy", "getBufferPoolController"] as const,
] as const;

export type Virtual = typeof VIRTUAL[number];

/** `cv::MatAllocator` implements these and libopencv_core exports them: they identify its virtual table. */
const EXPORTED: Readonly<Partial<Record<Virtual, string>>> = {
  map: "_ZNK2cv12MatAllocator3mapEPNS_8UMatDataENS_10AccessFlagE",
  unmap: "_ZNK2cv12MatAllocator5unmapEPNS_8UMatDataE",
  download: "_ZNK2cv12MatAllocator8downloadEPNS_8UMatDataEPviPKmS5_S5_S5_",
  upload: "_ZNK2cv12MatAllocator6uploadEPNS_8UMatDataEPKviPKmS6_S6_S6_",
  copy: "_ZNK2cv12MatAllocator4copyEPNS_8UMatDataES2_iPKmS4_S4_S4_S4_b",
  getBufferPoolController: "_ZNK2cv12MatAllocator23getBufferPoolControllerEPKc",
};

const TYPE_INFO = "_ZTIN2cv12MatAllocatorE";

const FUNCTIONS = { allocate: "samepage_allocate", deallocate: "samepage_deallocate" } as const;

export interface AllocatorClass {
  readonly typeInfo: bigint;
  readonly functions: Readonly<Record<Virtual, bigint>>;
}

export function functionsOf(allocator: Address): Record<Virtual, bigint> {
  const table = viewAt(viewAt(allocator, 8).getBigUint64(0, true) as Address, VIRTUAL.length * 8);
  const entries = VIRTUAL.map((name, i) => [name, table.getBigUint64(i * 8, true)] as const);
  return Object.fromEntries(entries) as Record<Virtual, bigint>;
}

export type Blocks = Pick<Callees, "take" | "give">;

let pages: AllocatorClass | undefined;

/**
 * The page allocator's class: its blocks are malloc's.
 * @throws {InteropError} where there can be none: another processor, or another OpenCV.
 * @throws {NativeCallError} where the system lets no machine code in.
 */
export function pageAllocatorClass(): AllocatorClass {
  if (pages !== undefined) return pages;
  const libc = loaded("libc.so.6");
  return pages = allocatorClass({ take: symbolIn(libc, "posix_memalign"), give: symbolIn(libc, "free") });
}

/** OpenCV's standard class, but for two functions, which are machine code of ours. @throws as above. */
export function allocatorClass(blocks: Blocks): AllocatorClass {
  const { os, arch } = Deno.build;
  if (os !== "linux" || arch !== "x86_64") {
    throw impossible(`OpenCV's allocators can be replaced on Linux on x86-64, and this is ${os} on ${arch}.`);
  }
  const standard = core().Mat_getStdAllocator();
  const functions = functionsOf(standard);
  const opencv = loaded(openingOf("opencv_core")!.path!);
  for (const [name, symbol] of Object.entries(EXPORTED)) {
    if (functions[name as Virtual] === addressOfSymbol(opencv, symbol)) continue;
    throw impossible(`OpenCV's standard allocator has something else for ${name} than OpenCV 4.6.`);
  }
  const { allocate, deallocate, destruct } = functions;
  const callees = { standard, allocate, deallocate, ...blocks };
  const image = loaded(loadImage("opencv-allocator", (soname) => allocatorImage(soname, callees)));
  return {
    typeInfo: symbolIn(opencv, TYPE_INFO),
    functions: {
      ...functions,
      delete: destruct, // its memory is ours
      allocate: symbolIn(image, FUNCTIONS.allocate),
      deallocate: symbolIn(image, FUNCTIONS.deallocate),
    },
  };
}

/** A shared object of the two functions. What OpenCV throws passes through them. */
function allocatorImage(soname: string, callees: Callees): Uint8Array<ArrayBuffer> {
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

/** A library that is open already: it stays so. */
function loaded(path: string): Address {
  const library = openLibrary(path, RTLD_NOLOAD);
  if (library === undefined) throw impossible(`The loader does not find ${path} again.`);
  return library;
}

function symbolIn(library: Address, name: string): Address {
  const address = addressOfSymbol(library, name);
  if (address === undefined) throw impossible(`There is no ${name}.`);
  return address;
}

function impossible(message: string): InteropError {
  return new InteropError(message, { api: "opencv", fn: "MatAllocator" });
}
