import { assertEquals, assertThrows } from "@std/assert";
import type { Address, Branded } from "../../ffi/libc/mod.ts";
import * as libc from "../../ffi/libc/mod.ts";
import * as opencl from "../../ffi/opencl/mod.ts";
import type * as cxxabi from "../../ffi/cxxabi/mod.ts";
import type * as core from "../../ffi/opencv_core/mod.ts";
import type * as imgcodecs from "../../ffi/opencv_imgcodecs/mod.ts";
import type * as imgproc from "../../ffi/opencv_imgproc/mod.ts";
import type * as driver from "../../ffi/cuda_driver/mod.ts";
import * as runtime from "../../ffi/cuda_runtime/mod.ts";
import * as nvrtc from "../../ffi/nvrtc/mod.ts";
import type * as semaphore from "../../ffi/opencl_semaphore/mod.ts";
import type * as usm from "../../ffi/opencl_usm/mod.ts";

/** A typed function as the FFI sees it: without brands. */
type Plain<T> = T extends Branded<infer _> ? bigint
  : T extends (...args: infer A) => infer R ? (...args: { [K in keyof A]: Plain<A[K]> }) => Plain<R>
  : T extends Promise<infer R> ? Promise<Plain<R>>
  : T;
type PlainLibrary<T> = { [K in keyof T]: Plain<T[K]> };
type Symbols<T extends Deno.ForeignLibraryInterface> = Deno.DynamicLibrary<T>["symbols"];

/** Compiles only where `Table` has every function of `Typed`, with types that fit. */
function agree<_Table extends _Typed, _Typed>(): void {}

Deno.test("the typed interfaces are those of the symbol tables, brands apart (checked by the compiler)", () => {
  agree<Symbols<typeof opencl.SYMBOLS>, PlainLibrary<opencl.OpenCL>>();
  agree<Symbols<typeof libc.SYMBOLS>, PlainLibrary<libc.LibC>>();
  // @ts-expect-error: a table that says otherwise does not compile
  agree<Symbols<{ getpid: { parameters: ["u32"]; result: "u64" } }>, PlainLibrary<Pick<libc.LibC, "getpid">>>();
  agree<keyof opencl.OpenCL, keyof typeof opencl.SYMBOLS>();
  agree<keyof libc.LibC, keyof typeof libc.SYMBOLS>();
  agree<Symbols<typeof usm.SYMBOLS>, PlainLibrary<usm.Usm>>();
  agree<Symbols<typeof semaphore.SYMBOLS>, PlainLibrary<semaphore.Semaphores>>();
  agree<keyof usm.Usm, keyof typeof usm.SYMBOLS>();
  agree<keyof semaphore.Semaphores, keyof typeof semaphore.SYMBOLS>();
  agree<Symbols<typeof core.SYMBOLS>, PlainLibrary<core.OpenCVCore>>();
  agree<keyof core.OpenCVCore, keyof typeof core.SYMBOLS>();
  agree<Symbols<typeof imgproc.SYMBOLS>, PlainLibrary<imgproc.OpenCVImgproc>>();
  agree<keyof imgproc.OpenCVImgproc, keyof typeof imgproc.SYMBOLS>();
  agree<Symbols<typeof imgcodecs.SYMBOLS>, PlainLibrary<imgcodecs.OpenCVImgcodecs>>();
  agree<keyof imgcodecs.OpenCVImgcodecs, keyof typeof imgcodecs.SYMBOLS>();
  agree<Symbols<typeof cxxabi.SYMBOLS>, PlainLibrary<cxxabi.CxxAbi>>();
  agree<keyof cxxabi.CxxAbi, keyof typeof cxxabi.SYMBOLS>();
  agree<Symbols<typeof runtime.SYMBOLS>, PlainLibrary<runtime.CudaRuntime>>();
  agree<keyof runtime.CudaRuntime, keyof typeof runtime.SYMBOLS>();
  agree<Symbols<typeof driver.SYMBOLS>, PlainLibrary<driver.CudaDriver>>();
  agree<keyof driver.CudaDriver, keyof typeof driver.SYMBOLS>();
  agree<Symbols<typeof nvrtc.SYMBOLS>, PlainLibrary<nvrtc.Nvrtc>>();
  agree<keyof nvrtc.Nvrtc, keyof typeof nvrtc.SYMBOLS>();
});

Deno.test("handles of two kinds, addresses and plain bigints are not mixed up (checked by the compiler)", () => {
  const mem = 1n as opencl.ClMem;
  // @ts-expect-error: a cl_mem is not a cl_event
  const _event: opencl.ClEvent = mem;
  // @ts-expect-error: a cl_mem is not an address
  const _address: Address = mem;
  // @ts-expect-error: a bigint is not a handle
  const _handle: opencl.ClMem = 1n;
});

Deno.test("structs are written and read at their offsets", () => {
  const bytes = new Uint8Array(40);
  const view = new DataView(bytes.buffer);
  const region = { origin: 0x1122334455667788n, size: 0x99n };
  opencl.writeClBufferRegion(view, 16, region);
  assertEquals(view.getBigUint64(16, true), region.origin);
  assertEquals(view.getBigUint64(16 + opencl.cl_buffer_region.fields.size.offset, true), region.size);
  assertEquals(opencl.readClBufferRegion(view, 16), region);
  assertEquals(bytes.subarray(0, 16), new Uint8Array(16));
  assertEquals(bytes.subarray(32), new Uint8Array(8));

  const vector = { iov_base: 0x7f00_0000_1000n as Address, iov_len: 4096n };
  libc.writeIovec(view, 0, vector);
  assertEquals(libc.readIovec(view, 0), vector);
  assertThrows(() => libc.writeIovec(view, 32, vector), RangeError);
});

Deno.test("error codes have names", () => {
  assertEquals(opencl.ERROR_NAMES.get(-37), "CL_INVALID_HOST_PTR");
  assertEquals(opencl.ERROR_NAMES.get(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
  assertEquals(opencl.ERROR_NAMES.has(0), false);
  assertEquals(libc.ERROR_NAMES.get(11), "EAGAIN");
  assertEquals(runtime.ERROR_NAMES.get(2), "cudaErrorMemoryAllocation");
  assertEquals(nvrtc.ERROR_NAMES.get(6), "NVRTC_ERROR_COMPILATION");
});
