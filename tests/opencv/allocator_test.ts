// The page allocator: what OpenCV itself creates, in memory that any other API can use in place.

import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { host, ledger, MapperGraph } from "@samepage/interop";
import { OpenCVContext, OpenCVError } from "@samepage/interop/opencv";
import { CV_16S, CV_64F, CV_8U } from "../../ffi/opencv_core/constants.ts";
import { Mat } from "../../ffi/opencv_core/structs.ts";
import { COLOR_BGR2GRAY } from "../../ffi/opencv_imgproc/constants.ts";
import { core, imgcodecs, imgproc } from "../../src/opencv/library.ts";
import { viewAt, withString } from "../../src/opencv/memory.ts";
import { noArray, viewOf } from "../../src/opencv/slots.ts";
import { typeOf } from "../../src/opencv/type.ts";
import { runModule } from "../process.ts";
import { isDefault, isPaged, isX86, Own, said, testPages } from "./allocator_help.ts";
import { openPoCL, pattern, testUMat } from "./help.ts";

testPages("allocator: what OpenCV makes lies on pages, and all that it says of it is as ever", () => {
  using cv = OpenCVContext.open();
  for (const depth of [CV_8U, CV_16S, CV_64F]) {
    for (const channels of [1, 3, 4, 512]) {
      for (const sizes of [[1, 1], [3, 5], [48, 64], [1, 4097], [7, 1], [2, 3, 4], [5, 1, 1, 3, 2]]) {
        const type = typeOf(depth, channels);
        using standard = new Own(sizes, type);
        using pages = cv.pageAllocator();
        using paged = new Own(sizes, type);
        assertEquals(said(paged), said(standard), `${sizes} of type ${type}`);
        assertEquals([paged.data.currAllocator, isPaged(paged)], [pages.address, true]);
        // The last of the 64 bytes is there.
        const length = Math.ceil(Number(paged.data.size) / 64) * 64;
        new Uint8Array(viewAt(paged.header.data, length).buffer).fill(255);
      }
    }
  }
});

testPages("allocator: it is OpenCV's default while anybody holds it; Mats outlive that", () => {
  const before = ledger.alive;
  using cv = OpenCVContext.open();
  assertEquals(isDefault(), false);
  const first = cv.pageAllocator();
  using mat = new Own([40, 50]);
  mat.bytes.set(pattern(2000));
  {
    using other = OpenCVContext.open();
    const second = other.pageAllocator();
    assertStrictEquals(second.address, first.address);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    assert(isDefault());
    other.pageAllocator();
    second[Symbol.dispose]();
    assert(isDefault());
  } // the context ends its own
  assertEquals(isDefault(), false);
  assertEquals(ledger.alive, before);
  assertEquals(mat.bytes, pattern(2000));
  using later = new Own([40, 50]);
  assertEquals(later.data.currAllocator, core().Mat_getStdAllocator());
  cv[Symbol.dispose]();
  assertThrows(() => cv.pageAllocator());
});

testPages("allocator: one that somebody else has set meanwhile stays", () => {
  using cv = OpenCVContext.open();
  const pages = cv.pageAllocator();
  core().Mat_setDefaultAllocator(core().Mat_getStdAllocator());
  using again = cv.pageAllocator();
  assert(again.address !== pages.address);
  using mat = new Own([10, 10]);
  assertEquals(mat.data.currAllocator, again.address);
  pages[Symbol.dispose]();
  assertEquals(core().Mat_getDefaultAllocator(), again.address);
});

testPages("allocator: a single Mat may have it as its own, and OpenCV's default is as ever", () => {
  using cv = OpenCVContext.open();
  const { address } = takeDown(cv);
  assertEquals(isDefault(), false);
  using mat = new Own();
  viewOf(mat.slot).setBigUint64(Mat.fields.allocator.offset, address, true);
  core().Mat_create(mat.slot.header, 2, Int32Array.of(33, 44), CV_8U);
  assertEquals([mat.data.currAllocator, isPaged(mat)], [address, true]);
  core().Mat_create(mat.slot.header, 2, Int32Array.of(330, 440), CV_8U);
  assertEquals([mat.data.currAllocator, isPaged(mat)], [address, true]);
});

/** One that is over; its address stays. */
function takeDown(cv: OpenCVContext) {
  using pages = cv.pageAllocator();
  return pages;
}

testPages("allocator: what imread returns and what an operation makes can be used in place", () => {
  using cv = OpenCVContext.open();
  using pages = cv.pageAllocator();
  using graph = new MapperGraph([host, cv]);
  using photo = new Own();
  const file = fromFileUrl(new URL("../../examples/edges/photo.jpg", import.meta.url));
  core().Mat_destruct(photo.slot.header);
  withString(file, (name) => imgcodecs().imread(photo.slot.header, name, 1));
  assertEquals([photo.data.currAllocator, isPaged(photo)], [pages.address, true]);
  using grey = new Own();
  imgproc().cvtColor(photo.slot.input, grey.slot.output, COLOR_BGR2GRAY, 0);
  assertEquals([grey.data.currAllocator, isPaged(grey)], [pages.address, true]);
  using mat = cv.mat.attach(grey.slot.header);
  using tensor = graph.map(mat, host, { access: "read" });
  assertEquals(tensor.address, grey.header.data);
  assert(tensor.view().some((value) => value !== 0));
});

testPages("allocator: where there is no memory OpenCV says so, as without it", () => {
  using cv = OpenCVContext.open();
  const failure = (sizes: readonly number[], type: number) => {
    const { message, codeName } = assertThrows(() => new Own(sizes, type)[Symbol.dispose](), OpenCVError);
    return [message, codeName];
  };
  const most = 2 ** 31 - 1;
  for (const sizes of [[2 ** 20, 2 ** 20], [most, most], [most, most, 2], [1, 2 ** 30, 2 ** 10]]) {
    const standard = failure(sizes, typeOf(CV_64F, 4));
    using _pages = cv.pageAllocator();
    for (let i = 0; i < 100; i++) assertEquals(failure(sizes, typeOf(CV_64F, 4)), standard);
    assertEquals(standard[1], "StsNoMem");
    using mat = new Own([10, 10]);
    assert(isPaged(mat));
  }
});

(isX86 ? testUMat : testPages)("allocator: UMats take its Mats, and Mats of its memory take their results", () => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using pages = cv.pageAllocator();
  for (const size of [[64, 64], [13, 17], [480, 640]]) {
    using source = new Own(size);
    using result = new Own();
    const bytes = pattern(size[0] * size[1]);
    source.bytes.set(bytes);
    using buffer = cl.allocate({ shape: size, dtype: "u8" });
    {
      using umat = graph.map(buffer, cv.umat);
      const execution = umat.buffer.execution!;
      execution.run(() => {
        core().bitwise_not(source.slot.input, umat.slot.output, noArray());
        core().UMat_copyTo(umat.slot.header, result.slot.output); // blocks
      });
      umat.usedBy(execution.queue.line.waitFor([]));
    }
    assertEquals(result.bytes, bytes.map((value) => 255 - value));
    assertEquals([result.data.currAllocator, isPaged(result)], [pages.address, true]);
    assertEquals(source.data, { ...source.data, refcount: 1, urefcount: 0, flags: 0, currAllocator: pages.address });
    // The device has it in place.
    using mat = cv.mat.attach(source.slot.header);
    using mapped = graph.map(mat, cl);
    assertEquals(mapped.route.steps.map(({ transfer }) => transfer), ["alias", "alias"]);
  }
});

testPages("allocator: on another processor it is a typed error", async () => {
  const { stdout, stderr, code } = await runModule(`
    Object.defineProperty(Deno, "build", { value: { ...Deno.build, arch: "aarch64" } });
    const { OpenCVContext } = await import("@samepage/interop/opencv");
    using cv = OpenCVContext.open();
    try {
      cv.pageAllocator();
    } catch (error) {
      console.log(error.name, error.api, error.fn);
    }
  `);
  assertEquals([stdout, stderr, code], ["InteropError opencv MatAllocator\n", "", 0]);
});
