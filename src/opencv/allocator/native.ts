import type { Address } from "../../../ffi/address.ts";
import { InteropError } from "../../core/errors.ts";
import { openingOf } from "../../core/native/library.ts";
import { loadFunctions } from "../../guard/functions.ts";
import { assertMachine } from "../../guard/machine.ts";
import { symbolIn } from "../../guard/load.ts";
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

const LIBC = "libc.so.6";

export interface AllocatorClass {
  readonly typeInfo: bigint;
  readonly functions: Readonly<Record<Virtual, bigint>>;
}

export function functionsOf(allocator: Address): Record<Virtual, bigint> {
  const table = viewAt(viewAt(allocator, 8).getBigUint64(0, true) as Address, VIRTUAL.length * 8);
  const entries = VIRTUAL.map((name, i) => [name, table.getBigUint64(i * 8, true)] as const);
  return Object.fromEntries(entries) as Record<Virtual, bigint>;
}

/** The functions by which a class takes and returns its blocks. */
export type Blocks = Pick<Callees, "take" | "give">;

let pages: Blocks | undefined;

/** Blocks of posix_memalign. */
export function pageBlocks(): Blocks {
  return pages ??= { take: symbolIn(LIBC, "posix_memalign"), give: symbolIn(LIBC, "free") };
}

const classes = new Map<string, AllocatorClass>();

/**
 * OpenCV's standard class with two functions replaced by our machine code. Returns the same class each time.
 * @throws {InteropError} on another processor, or for another OpenCV.
 * @throws {NativeCallError} if the system allows no machine code.
 */
export function allocatorClass(blocks: Blocks): AllocatorClass {
  const key = `${blocks.take} ${blocks.give}`;
  let known = classes.get(key);
  if (known === undefined) classes.set(key, known = makeClass(blocks));
  return known;
}

function makeClass(blocks: Blocks): AllocatorClass {
  assertMachine("What replaces OpenCV's allocators", { api: "opencv", fn: "MatAllocator" });
  const standard = core().Mat_getStdAllocator();
  const functions = functionsOf(standard);
  const opencv = openingOf("opencv_core")!.path!;
  for (const [name, symbol] of Object.entries(EXPORTED)) {
    if (functions[name as Virtual] === symbolIn(opencv, symbol)) continue;
    throw impossible(`OpenCV's standard allocator has something else for ${name} than Debian's.`);
  }
  const { allocate, deallocate, destruct } = functions;
  const callees = { standard, allocate, deallocate, ...blocks };
  const own = loadFunctions("opencv-allocator", {
    allocate: allocateCode(callees),
    deallocate: deallocateCode(callees),
  });
  return {
    typeInfo: symbolIn(opencv, TYPE_INFO),
    functions: { ...functions, ...own, delete: destruct }, // `delete` must not free the object, whose memory is ours
  };
}

function impossible(message: string): InteropError {
  return new InteropError(message, { api: "opencv", fn: "MatAllocator" });
}
