/** The table of failures is complete, so that no call goes by uncounted. */
import { assertEquals } from "@std/assert";
import { SYMBOLS as CXXABI } from "../../ffi/cxxabi/symbols.ts";
import { SYMBOLS as LIBC } from "../../ffi/libc/symbols.ts";
import { SYMBOLS as OPENCL } from "../../ffi/opencl/symbols.ts";
import { SYMBOLS as OPENCL_USM } from "../../ffi/opencl_usm/symbols.ts";
import { SYMBOLS as OPENCV_CORE } from "../../ffi/opencv_core/symbols.ts";
import { SYMBOLS as OPENCV_IMGCODECS } from "../../ffi/opencv_imgcodecs/symbols.ts";
import { SYMBOLS as OPENCV_IMGPROC } from "../../ffi/opencv_imgproc/symbols.ts";
import { FAILURES } from "./failures.ts";

const TABLES = {
  libc: LIBC,
  cxxabi: CXXABI,
  opencl: OPENCL,
  opencl_usm: OPENCL_USM,
  opencv_core: OPENCV_CORE,
  opencv_imgproc: OPENCV_IMGPROC,
  opencv_imgcodecs: OPENCV_IMGCODECS,
};

for (const [api, symbols] of Object.entries(TABLES)) {
  Deno.test(`faults: how each function of ${api} fails is in the table`, () => {
    assertEquals(Object.keys(symbols).filter((name) => !(name in FAILURES[api])), []);
  });
}
