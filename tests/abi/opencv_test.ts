import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Address } from "../../ffi/address.ts";
import * as core from "../../ffi/opencv_core/mod.ts";
import * as imgcodecs from "../../ffi/opencv_imgcodecs/mod.ts";
import * as imgproc from "../../ffi/opencv_imgproc/mod.ts";

/** Whether a library is here: the runtime package is enough. */
function present(file: string): boolean {
  try {
    Deno.dlopen(file, {}).close();
    return true;
  } catch {
    return false;
  }
}

/** Debian 12's, or Debian 13's. */
const version = present("libopencv_core.so.406") ? "406" : "410";

/** Registers a test that calls OpenCV through the committed tables; ignored, with the reason, where it can not run. */
function opencvTest(name: string, fn: () => void, everywhere = true): void {
  const missing = ["core", "imgproc", "imgcodecs"].map((part) => `libopencv_${part}.so.${version}`)
    .filter((file) => !present(file));
  const needed = [...missing, ...everywhere || Deno.build.arch === "x86_64" ? [] : ["x86-64"]];
  const ignore = needed.length > 0;
  Deno.test({ name: ignore ? `${name} (needs ${needed.join(", ")})` : name, ignore, fn });
}

function open<Typed>(part: string, symbols: Deno.ForeignLibraryInterface): { call: Typed; close(): void } {
  const library = Deno.dlopen(`libopencv_${part}.so.${version}`, symbols);
  return { call: library.symbols as unknown as Typed, close: () => library.close() };
}

/** Memory whose address C++ knows, which no collection may take while these tests run. */
const KEPT: Uint8Array[] = [];

function addressOf(bytes: Uint8Array<ArrayBuffer>): Address {
  KEPT.push(bytes);
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes)) as Address;
}

function viewAt(address: bigint, length: number): DataView {
  return new DataView(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, length));
}

/** Memory for an object of C++. */
function object({ size }: { size: number }): { view: DataView; address: Address } {
  const bytes = new Uint8Array(size);
  return { view: new DataView(bytes.buffer), address: addressOf(bytes) };
}

/** What a function takes as InputArray or OutputArray for a Mat. */
function arrayOf(mat: Address): { view: DataView; address: Address } {
  const array = object(core.InputArray);
  core.writeInputArray(array.view, 0, { flags: core.INPUT_ARRAY_MAT, obj: mat, sz_width: 0, sz_height: 0 });
  return array;
}

opencvTest("a std::string of OpenCV is read by its layout", () => {
  const { call, close } = open<core.OpenCVCore>("core", core.SYMBOLS);
  const string = core.readStdString(viewAt(call.getBuildInformation(), core.std_string.size), 0);
  const text = new TextDecoder().decode(viewAt(string.pointer, Number(string.length)));
  assertStringIncludes(text, `OpenCV ${call.getVersionMajor()}.${call.getVersionMinor()}.${call.getVersionRevision()}`);
  close();
});

opencvTest("a constructor fills a Mat, and a Size by value arrives", () => {
  const { call, close } = open<core.OpenCVCore>("core", core.SYMBOLS);
  const { call: process, close: closeProcess } = open<imgproc.OpenCVImgproc>("imgproc", imgproc.SYMBOLS);
  const pixels = new Uint8Array(64).fill(7);
  const [source, result] = [object(core.Mat), object(core.Mat)];
  call.Mat_construct2D(source.address, 4, 5, core.CV_8U, addressOf(pixels), 16n);
  call.Mat_construct(result.address);
  const { step_buf_0, step_buf_1, ...mat } = core.readMat(source.view, 0);
  assertEquals([mat.rows, mat.cols, mat.dims, mat.data, step_buf_0, step_buf_1], [
    ...[4, 5, 2],
    ...[addressOf(pixels), 16n, 1n],
  ]);
  assertEquals([mat.size_p - source.address, mat.step_p - source.address], [
    BigInt(core.Mat.fields.rows.offset),
    BigInt(core.Mat.fields.step_buf_0.offset),
  ]);
  assertEquals(mat.flags, (core.MAT_MAGIC_VAL & core.MAT_MAGIC_MASK) | core.CV_8U);

  const [input, output] = [arrayOf(source.address), arrayOf(result.address)];
  const width = 2n, height = 3n;
  process.resize(input.address, output.address, width | height << 32n, 0, 0, imgproc.INTER_LINEAR);
  const resized = core.readMat(result.view, 0);
  assertEquals([resized.rows, resized.cols], [3, 2]);
  assertEquals(new Uint8Array(viewAt(resized.data, 6).buffer), new Uint8Array(6).fill(7));

  call.Mat_destruct(result.address);
  assertEquals(core.readMat(result.view, 0).data, 0n);
  call.Mat_destruct(source.address);
  closeProcess();
  close();
});

opencvTest("a Mat that is returned goes to the first parameter; a std::vector is read by its layout", () => {
  const { call, close } = open<core.OpenCVCore>("core", core.SYMBOLS);
  const { call: codecs, close: closeCodecs } = open<imgcodecs.OpenCVImgcodecs>("imgcodecs", imgcodecs.SYMBOLS);
  const pixels = Uint8Array.from({ length: 12 }, (_, i) => 20 * i);
  const [source, file, decoded] = [object(core.Mat), object(core.Mat), object(core.Mat)];
  call.Mat_construct2D(source.address, 3, 4, core.CV_8U, addressOf(pixels), 4n);

  const [extension, encoded, options] = [object(core.std_string), object(core.std_vector), object(core.std_vector)];
  const characters = new TextEncoder().encode(".bmp\0");
  core.writeStdString(extension.view, 0, { pointer: addressOf(characters), length: 4n, capacity: 4n });
  assertEquals(
    codecs.imencode(extension.address, arrayOf(source.address).address, encoded.address, options.address),
    1,
  );
  const { begin, end } = core.readStdVector(encoded.view, 0);
  assert(end - begin > 12n);

  call.Mat_construct2D(file.address, 1, Number(end - begin), core.CV_8U, begin, end - begin);
  codecs.imdecode(decoded.address, arrayOf(file.address).address, imgcodecs.IMREAD_GRAYSCALE);
  const { rows, cols, data } = core.readMat(decoded.view, 0);
  assertEquals([rows, cols], [3, 4]);
  assertEquals(new Uint8Array(viewAt(data, 12).buffer), pixels);

  for (const { address } of [decoded, file, source]) call.Mat_destruct(address);
  const libc = Deno.dlopen("libc.so.6", { free: { parameters: ["u64"], result: "void" } });
  libc.symbols.free(begin);
  libc.close();
  closeCodecs();
  close();
}, false);
