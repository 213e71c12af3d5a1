/**
 * What the tests of the page allocator share.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { CV_8U } from "../../ffi/opencv_core/constants.ts";
import { fillEmpty, matIn, setReallocation } from "../../src/opencv/header.ts";
import { core } from "../../src/opencv/library.ts";
import { viewAt } from "../../src/opencv/memory.ts";
import { giveSlot, type Slot, takeSlot, viewOf } from "../../src/opencv/slots.ts";
import { compile, guardTest } from "../guard/cxx.ts";
import { dataAt, present, testMat } from "./help.ts";

/** A Mat that OpenCV makes and owns. */
export class Own implements Disposable {
  readonly slot: Slot = takeSlot();

  constructor(sizes: readonly number[] = [], type: number = CV_8U) {
    fillEmpty(this.slot, "mat");
    setReallocation(this.slot, true);
    if (sizes.length > 0) core().Mat_create(this.slot.header, sizes.length, Int32Array.from(sizes), type);
  }

  get header() {
    return matIn(viewOf(this.slot));
  }

  get data() {
    return dataAt(this.header.u);
  }

  get bytes(): Uint8Array {
    return new Uint8Array(viewAt(this.header.data, Number(this.data.size)).buffer);
  }

  [Symbol.dispose](): void {
    core().Mat_destruct(this.slot.header);
    giveSlot(this.slot);
  }
}

/** All that OpenCV says of a Mat, but for addresses that cannot be the same. */
export function said({ header, data, slot }: Own) {
  const { data: at, datastart, dataend, datalimit, size_p, step_p, u: _, ...rest } = header;
  const { currAllocator, prevAllocator, data: block, origdata, ...kept } = data;
  return {
    ...rest,
    ...kept,
    extents: [datastart - at, dataend - at, datalimit - at, block - at, origdata - at],
    grid: rest.dims > 2 ? size_p - step_p : [size_p - slot.header, step_p - slot.header],
    sameAllocator: currAllocator === prevAllocator,
  };
}

/** True where machine code of ours can run. */
export const isX86 = Deno.build.arch === "x86_64";

/** A test that needs OpenCV on x86-64. */
export function testPages(name: string, run: () => void | Promise<void>): void {
  if (isX86) testMat(name, run);
  else Deno.test.ignore(`${name} (not here: needs x86-64)`, run);
}

/** True while OpenCV's default allocator is another than its standard one. */
export const isDefault = () => core().Mat_getDefaultAllocator() !== core().Mat_getStdAllocator();

/** True where a Mat begins on a page. */
export const isPaged = (mat: Own) => mat.header.data % 4096n === 0n;

/** A test that compiles C++ beside OpenCV. */
export const cxxTest = present ? guardTest : testMat;

const SYMBOLS = {
  make_in_parallel: { parameters: ["i32", "bool"], result: "i32" },
  thread_count: { parameters: [], result: "i32" },
  kept_count: { parameters: [], result: "i32" },
  drop_kept: { parameters: [], result: "void" },
  call_all: { parameters: [], result: "i32" },
  allocated: { parameters: [], result: "usize" },
  take_nothing: { type: "pointer" },
  count_given: { type: "pointer" },
  given_count: { parameters: [], result: "i32" },
} as const;

let compiled: Promise<string> | undefined;

/** The file, compiled once. */
export function library(): Promise<string> {
  const file = fromFileUrl(new URL("allocator.cpp", import.meta.url));
  return compiled ??= compile(file, "-I/usr/include/opencv4", "-lopencv_core");
}

/** The functions of allocator.cpp. */
export async function cxx() {
  return Deno.dlopen(await library(), SYMBOLS).symbols;
}

/** For modules of their own. */
export const PRELUDE = `
  import { OpenCVContext } from "@samepage/interop/opencv";
  import { core } from "./src/opencv/library.ts";
  import { fillEmpty, matIn } from "./src/opencv/header.ts";
  import { giveSlot, takeSlot, viewOf } from "./src/opencv/slots.ts";
  function make(sizes) {
    const slot = takeSlot();
    fillEmpty(slot, "mat");
    core().Mat_create(slot.header, sizes.length, Int32Array.from(sizes), 0);
    return slot;
  }
  function drop(slot) {
    core().Mat_destruct(slot.header);
    giveSlot(slot);
  }
  const paged = (slot) => matIn(viewOf(slot)).data % 4096n === 0n;
  const isDefault = () => core().Mat_getDefaultAllocator() !== core().Mat_getStdAllocator();
`;
