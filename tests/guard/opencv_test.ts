/** OpenCV itself through the guard: what it throws is a typed error, again and again. */
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import type { Address } from "../../ffi/address.ts";
import { COLOR_BGR2GRAY } from "../../ffi/opencv_imgproc/constants.ts";
import { CV_64F, CV_8U, INPUT_ARRAY_KIND_SHIFT } from "../../ffi/opencv_core/constants.ts";
import type { OpenCVCore } from "../../ffi/opencv_core/functions.ts";
import { Exception, InputArray, Mat, readException, writeInputArray } from "../../ffi/opencv_core/structs.ts";
import { SYMBOLS as CORE } from "../../ffi/opencv_core/symbols.ts";
import type { OpenCVImgproc } from "../../ffi/opencv_imgproc/functions.ts";
import { SYMBOLS as IMGPROC } from "../../ffi/opencv_imgproc/symbols.ts";
import { LibraryNotFoundError, NativeCallError } from "../../src/core/errors.ts";
import { lazyLibrary, type LibrarySpec } from "../../src/core/native/library.ts";
import type { Thrown } from "../../src/guard/exception.ts";
import { guarded, guardOf } from "../../src/guard/guard.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { assertFlat } from "../gc.ts";

/** `_InputArray::MAT`, read and written: the kind of a plain Mat. */
const MAT = 1 << INPUT_ARRAY_KIND_SHIFT;

const thrown: (Thrown & { code: number; line: number })[] = [];

/** Reads a cv::Exception as OpenCV's own room does. */
function errorOf(seen: Thrown): Error {
  const pointer = Deno.UnsafePointer.create(seen.object)!;
  const fields = readException(new DataView(Deno.UnsafePointerView.getArrayBuffer(pointer, Exception.size)), 0);
  thrown.push({ ...seen, code: fields.code, line: fields.line });
  return new NativeCallError(seen.what!, { api: seen.api, fn: seen.fn, code: fields.code });
}

function module<F>(name: string, symbols: Deno.ForeignLibraryInterface): () => F {
  const spec = {
    api: `guarded_${name}`,
    candidates: ["406", "410"].map((version) => `libopencv_${name}.so.${version}`),
    symbols,
    hint: "",
  };
  return lazyLibrary<F>({ ...spec, link: guarded(errorOf) } satisfies LibrarySpec<typeof symbols>);
}

const core = module<OpenCVCore>("core", CORE);
const imgproc = module<OpenCVImgproc>("imgproc", IMGPROC);

const isThere = opens(core) && opens(imgproc) && Deno.build.arch === "x86_64";

function opens(library: () => unknown): boolean {
  try {
    return library() !== undefined;
  } catch (error) {
    if (error instanceof LibraryNotFoundError) return false;
    throw error;
  }
}

function opencvTest(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: isThere ? name : `${name} (skipped: needs OpenCV on x86-64)`, ignore: !isThere, fn });
}

/** Memory at an address, where it stays for as long as this object is reachable. */
interface Memory {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly address: Address;
}

function memory(size: number): Memory {
  const bytes = new Uint8Array(new ArrayBuffer(size));
  return { bytes, address: addressOf(bytes, "test") };
}

/** A Mat of some type over bytes of its own, and an _InputArray of it. */
function matOf(type: number, size: number): { mat: Memory; array: Memory; data: Memory } {
  const [mat, array, data] = [memory(Mat.size), memory(InputArray.size), memory(16 * 16 * size)];
  core().Mat_construct2D(mat.address, 16, 16, type, data.address, BigInt(16 * size));
  writeInputArray(new DataView(array.bytes.buffer), 0, { flags: MAT, obj: mat.address, sz_width: 0, sz_height: 0 });
  return { mat, array, data };
}

const channels = (depth: number, count: number) => depth + (count - 1 << 3);

opencvTest(
  "cvtColor of a type that it does not take is a typed error, 100,000 times, and works before and after",
  async () => {
    assertEquals([guardOf("guarded_core"), guardOf("guarded_imgproc")], [{ guarded: true }, { guarded: true }]);
    const [good, wrong, grey] = [matOf(channels(CV_8U, 3), 3), matOf(channels(CV_64F, 3), 24), matOf(CV_8U, 1)];
    const convert = ({ array }: { array: Memory }) =>
      imgproc().cvtColor(array.address, grey.array.address, COLOR_BGR2GRAY, 0);
    good.data.bytes.fill(200);
    convert(good);
    assert(grey.data.bytes.every((value) => value === 200));

    const error = assertThrows(() => convert(wrong), NativeCallError);
    assertEquals([error.api, error.fn], ["guarded_imgproc", "cvtColor"]);
    assertMatch(error.message, /OpenCV\(4\.\d+\.\d+\)/);
    assertStringIncludes(error.message, "depth");
    const [{ type, code, line, what }] = thrown;
    assertEquals([type, code], ["cv::Exception", error.code]);
    assert(code < 0);
    assertStringIncludes(what!, `:${line}: error: (${code}:`);

    const throwMany = (count: number) => {
      for (let i = 0; i < count; i++) {
        try {
          convert(wrong);
        } catch (error) {
          if (error instanceof NativeCallError && error.code === code) continue;
          throw error;
        }
        throw new Error("nothing was thrown");
      }
    };
    throwMany(50_000);
    await assertFlat(32 * 1024 * 1024, () => { // each exception is far above 500 bytes
      for (let i = 0; i < 2; i++) {
        throwMany(50_000);
        thrown.length = 0;
      }
    });

    grey.data.bytes.fill(0);
    convert(good);
    assert(grey.data.bytes.every((value) => value === 200));
    for (const { mat } of [good, wrong, grey]) core().Mat_destruct(mat.address);
  },
);
