// The page allocator as C++ sees it: its virtual functions, other threads, exceptions.

import { viewOf } from "../../src/opencv/slots.ts";
import { assert, assertEquals } from "@std/assert";
import { OpenCVContext } from "@samepage/interop/opencv";
import { CV_16S, CV_8U } from "../../ffi/opencv_core/constants.ts";
import { Mat, UMatData } from "../../ffi/opencv_core/structs.ts";
import { allocatorClass } from "../../src/opencv/allocator/native.ts";
import { makeAllocator } from "../../src/opencv/allocator/object.ts";
import { core } from "../../src/opencv/library.ts";
import { typeOf } from "../../src/opencv/type.ts";
import { compileText } from "../guard/cxx.ts";
import { runModule } from "../process.ts";
import { cxx, cxxTest, isPaged, Own, PRELUDE, said } from "./allocator_help.ts";

cxxTest("allocator: 100,000 Mats leave nothing behind", async () => {
  using cv = OpenCVContext.open();
  const { allocated } = await cxx();
  using _pages = cv.pageAllocator();
  const turn = () => {
    for (let i = 0; i < 5000; i++) {
      using mat = new Own([1 + i % 90, 100], typeOf(CV_8U, 1 + i % 3));
      assert(isPaged(mat));
    }
  };
  turn();
  const before = allocated();
  for (let i = 0; i < 20; i++) turn();
  const grown = Number(allocated() - before);
  assert(grown < 8e6, `${grown} bytes more`); // their own would be 900 million
});

cxxTest("allocator: each virtual function does what C++ calls it for", async () => {
  using cv = OpenCVContext.open();
  const { call_all } = await cxx();
  using _pages = cv.pageAllocator();
  for (let i = 0; i < 1000; i++) assertEquals(call_all(), 0);
});

cxxTest("allocator: OpenCV's threads use it, and what they made is given up after it, by another", async () => {
  using cv = OpenCVContext.open();
  const { make_in_parallel, thread_count, kept_count, drop_kept } = await cxx();
  {
    using _pages = cv.pageAllocator();
    for (let i = 0; i < 5; i++) assertEquals(make_in_parallel(20_000, false), 0);
  }
  assert(thread_count() > 1 || navigator.hardwareConcurrency === 1, `${thread_count()} threads`);
  assertEquals(kept_count(), 10_000);
  drop_kept();
});

cxxTest("allocator: where no block can be had the Mat is of OpenCV's own", async () => {
  using _cv = OpenCVContext.open();
  const { take_nothing, count_given, given_count } = await cxx();
  const [take, give] = [take_nothing, count_given].map((it) => BigInt(Deno.UnsafePointer.value(it)));
  const { address } = makeAllocator(allocatorClass({ take, give }));
  const standard = core().Mat_getStdAllocator();
  for (const sizes of [[3, 5], [300, 500], [2, 3, 4]]) {
    using expected = new Own(sizes, CV_16S);
    for (let i = 0; i < 1000; i++) {
      using mat = new Own();
      viewOf(mat.slot).setBigUint64(Mat.fields.allocator.offset, address, true);
      core().Mat_create(mat.slot.header, sizes.length, Int32Array.from(sizes), CV_16S);
      assertEquals(said(mat), { ...said(expected), allocator: address });
      assertEquals(mat.data.currAllocator, standard);
    }
  }
  assertEquals(given_count(), 0);
});

/** Fails to make a UMatData, where it is told to. */
const NO_UMATDATA = `
  #include <cstdlib>
  #include <malloc.h>
  #include <new>
  static bool armed;
  extern "C" void arm(int on) { armed = on; }
  extern "C" size_t allocated() { return mallinfo2().uordblks + mallinfo2().hblkhd; }
  void *operator new(size_t size) {
    if (armed && size == ${UMatData.size}) throw std::bad_alloc();
    if (void *memory = malloc(size)) return memory;
    throw std::bad_alloc();
  }
  void operator delete(void *memory) noexcept { free(memory); }
  void operator delete(void *memory, size_t) noexcept { free(memory); }
`;

cxxTest("allocator: an exception passes through it, and leaves nothing behind", async () => {
  const preloaded = await compileText(NO_UMATDATA);
  const { stdout, stderr, code } = await runModule(
    `
    ${PRELUDE}
    const { arm, allocated } = Deno.dlopen(${JSON.stringify(preloaded)}, {
      arm: { parameters: ["i32"], result: "void" },
      allocated: { parameters: [], result: "usize" },
    }).symbols;
    using cv = OpenCVContext.open();
    using pages = cv.pageAllocator();
    const fail = () => {
      try {
        arm(1);
        make([1000, 1000]);
      } catch (error) {
        return error.name + " " + error.codeName;
      } finally {
        arm(0);
      }
    };
    fail();
    const before = allocated();
    const seen = new Set(Array.from({ length: 20_000 }, fail));
    console.log(...seen, allocated() - before < 8_000_000n, paged(make([10, 10])));
  `,
    { env: { LD_PRELOAD: preloaded } },
  );
  assertEquals([stdout, stderr, code], ["NativeCallError std::bad_alloc true true\n", "", 0]);
});
