import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, InteropError, ledger } from "../../../mod.ts";
import { CudaBuildError, type ProgramOptions } from "../../../src/cuda/mod.ts";
import { architectureFor, compile, type Compiled } from "../../../src/cuda/kernels/compile.ts";
import { cubinIn, ptxIn } from "../../../src/cuda/kernels/code.ts";
import { sourceIn } from "../../../src/cuda/kernels/source.ts";
import { compilerTest } from "./compiler.ts";

const H200 = { name: "H200", computeCapability: { major: 9, minor: 0 } };
const KERNEL = `extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }`;

function compiled(text: string, options: ProgramOptions = {}, target = H200): Compiled {
  const before = ledger.alive;
  try {
    return compile(sourceIn(text, options), target);
  } finally {
    assertEquals(ledger.alive, before, "the compiler's program is gone");
  }
}

function textOf({ code }: Compiled): string {
  return new TextDecoder().decode(code.bytes);
}

compilerTest("nvrtc: an architecture that it knows gets a cubin, a later one PTX, one that is too old an error", () => {
  const known = compiled(KERNEL);
  assert(!known.code.isPtx);
  assertEquals(cubinIn(known.code.bytes).bytes, known.code.bytes);
  assertEquals(architectureFor(H200), "sm_90");

  const later = compiled(KERNEL, {}, { name: "later", computeCapability: { major: 99, minor: 0 } });
  assert(later.code.isPtx);
  assertEquals(later.code.bytes.at(-1), 0, "it ends as C ends a text");
  assertEquals(ptxIn(textOf(later).slice(0, -1)).bytes, later.code.bytes);
  assertStringIncludes(textOf(later), ".entry twice(");

  const old = assertThrows(
    () => compiled(KERNEL, {}, { name: "old", computeCapability: { major: 2, minor: 0 } }),
    InteropError,
  );
  assertStringIncludes(old.message, "old is sm_20");
});

compilerTest("nvrtc: a program may name another architecture", () => {
  const ptx = compiled(KERNEL, { options: ["--gpu-architecture=compute_90a"] });
  assertStringIncludes(textOf(ptx), ".target sm_90a");
  assert(compiled(KERNEL, { options: ["-arch=compute_90"] }).code.isPtx);
});

compilerTest("nvrtc: what does not compile is an error with the compiler's log", () => {
  const error = assertThrows(
    () => compiled("__global__ void k() { undeclared = 1; }", { name: "mine.cu" }),
    CudaBuildError,
  );
  assertStringIncludes(error.log, `mine.cu(1): error: identifier "undeclared" is undefined`);
  assertStringIncludes(error.message, `identifier "undeclared" is undefined`);
  assertEquals([error.api, error.fn, error.codeName], ["nvrtc", "nvrtcCompileProgram", "NVRTC_ERROR_COMPILATION"]);
  const lacking = assertThrows(() => compiled("#include <nowhere.h>"), CudaBuildError);
  assertStringIncludes(lacking.hint!, "-I");
  const unresolved = `extern "C" __device__ int f(int); extern "C" __global__ void k(int* x) { x[0] = f(1); }`;
  assertStringIncludes(assertThrows(() => compiled(unresolved), CudaBuildError).log, "Unresolved extern");
});

compilerTest("nvrtc: warnings are kept", () => {
  const { log } = compiled(`extern "C" __global__ void k(int* x) { int unused = 1; x[0] = 2; }`);
  assertStringIncludes(log, "unused");
  assertEquals(compiled(KERNEL).log, "");
});

compilerTest("nvrtc: C++ names are lowered", () => {
  const source = `
    template <class T> __global__ void fill(T* x, T value) { x[0] = value; }
    namespace image { __global__ void blur(unsigned char* x) { x[0] = 0; } }`;
  const { lowered } = compiled(source, { names: ["fill<float>", "fill<int>", "image::blur"] });
  assertEquals([...lowered], [
    ["fill<float>", "_Z4fillIfEvPT_S0_"],
    ["fill<int>", "_Z4fillIiEvPT_S0_"],
    ["image::blur", "_ZN5image4blurEPh"],
  ]);
  assertThrows(() => compiled(source, { names: ["fill<nothing>"] }), CudaBuildError, "nothing");
});

compilerTest("nvrtc: macros reach the source", () => {
  const source = `extern "C" __global__ void k(int* x) {
    #if !defined(SET) || defined(UNSET)
    #error wrong
    #endif
    x[0] = NUMBER; x[1] = SUM; }`;
  const { code } = compiled(source, {
    defines: { SET: true, UNSET: false, NUMBER: 4711, SUM: "(1 + 2)" },
    options: ["--gpu-architecture=compute_90"],
  });
  assertStringIncludes(new TextDecoder().decode(code.bytes), "4711");
  const refused: [NonNullable<ProgramOptions["defines"]>, string][] = [
    [{ "a b": 1 }, "defines.a b"],
    [{ "1": 1 }, "defines.1"],
    [{ A: NaN }, "defines.A"],
    [{ A: "a\0b" }, "defines.A"],
    [{ A: null as never }, "defines.A"],
    [{ A: "x".repeat(10_000) }, "defines.A"],
    [7 as never, "defines"],
  ];
  for (const [defines, argument] of refused) {
    assertEquals(assertThrows(() => compiled(source, { defines }), ArgumentError).argument, argument);
  }
});

compilerTest("nvrtc: options that end the process are refused, others go to the compiler", () => {
  const fatal = [
    "",
    "fast",
    "--ptxas-options=",
    "-Xptxas= ",
    "--split-compile=-",
    "--split-compile=99999999999999999",
    "--jump-table-density=-",
    "-dopt=",
    "-fdevice-time-trace=/nowhere/trace",
    "--fdevice-time-trace=/nowhere/trace",
    `--ptxas-options=-${"x".repeat(100_000)}`,
    "-D\0",
    7 as never,
  ];
  for (const option of fatal) {
    const error = assertThrows(() => compiled(KERNEL, { options: ["-lineinfo", option] }), ArgumentError);
    assertEquals(error.argument, "options[1]");
  }
  assertEquals(assertThrows(() => compiled(KERNEL, { options: "-G" as never }), ArgumentError).argument, "options");
  const unknown = assertThrows(() => compiled(KERNEL, { options: ["--no-such-thing"] }), CudaBuildError);
  assertEquals([unknown.argument, unknown.codeName], ["options", "NVRTC_ERROR_INVALID_OPTION"]);
  assertStringIncludes(unknown.log, "--no-such-thing");
  for (const option of ["--use_fast_math", "-DX=", "-I/nowhere", "-std=c++20", "--maxrregcount=32", "-G"]) {
    compiled(KERNEL, { options: [option] });
  }
  for (const option of ["-dlto", "-optix-ir"]) {
    assertEquals(assertThrows(() => compiled(KERNEL, { options: [option] }), InteropError).argument, "options");
  }
});

compilerTest("nvrtc: a source is a text that C can take", () => {
  for (const text of ["", "  \n", `${KERNEL}\0`, 7 as never, null as never]) {
    assertEquals(assertThrows(() => compiled(text), ArgumentError).argument, "source");
  }
  assertEquals(assertThrows(() => compiled(KERNEL, { name: "a\0" }), ArgumentError).argument, "name");
  assertEquals(assertThrows(() => compiled(KERNEL, { names: ["a\0"] }), ArgumentError).argument, "names[0]");
  assertEquals(assertThrows(() => compiled(KERNEL, null as never), ArgumentError).argument, "options");
});
