import { assertEquals } from "@std/assert";
import { type Target, TARGETS } from "../../ffi/generate/clang.ts";
import type { Library } from "../../ffi/generate/library.ts";
import { LIBRARIES } from "../../ffi/generate/lists/mod.ts";
import { opencvCore } from "../../ffi/generate/lists/opencv_core.ts";
import { opencvImgproc } from "../../ffi/generate/lists/opencv_imgproc.ts";
import { failingAssertions } from "./checker.ts";
import { committed } from "./claims.ts";
import { headers, type Listed, listed, manglings, signatureAssertion } from "./cxx.ts";
import { abiTest } from "./tools.ts";

/** The file of each library, of which a machine that has its headers has some version. */
const FILES: Readonly<Record<string, string>> = {
  cxxabi: "libstdc++.so.6",
  opencv_core: "libopencv_core.so",
  opencv_imgproc: "libopencv_imgproc.so",
  opencv_imgcodecs: "libopencv_imgcodecs.so",
};

/** Compares symbol tables with what C++ deduces of the functions themselves. */
async function contradicted(target: Target, library: Library, functions: readonly Listed[]): Promise<string[]> {
  const preamble = await headers("signature.hpp", "signature_cxx.hpp", "overload.hpp");
  const assertions = functions.map(signatureAssertion);
  return await failingAssertions("clang++", ["-x", "c++", "-std=c++14"], target, library, preamble, assertions);
}

async function committedFunctions(library: Library): Promise<Listed[]> {
  const { SYMBOLS } = await committed(library);
  return listed(library, SYMBOLS as Record<string, Deno.ForeignFunction>);
}

for (const library of LIBRARIES.filter(({ cxx }) => cxx)) {
  for (const target of TARGETS) {
    abiTest(`ffi/${library.name}: every symbol has its function's parameters and result on ${target}`, async () => {
      const all = await committedFunctions(library);
      // An object that is returned goes where its first parameter says on x86-64 only.
      const functions = all.filter(({ entry }) => target === "x86_64-linux-gnu" || !entry.sret);
      assertEquals(await contradicted(target, library, functions), []);
    }, "c++");
  }

  abiTest(`ffi/${library.name}: every symbol is what g++ calls the function (g++ compiles a use of each)`, async () => {
    const functions = await committedFunctions(library);
    const used = await manglings(library, functions);
    assertEquals(
      functions.filter(({ name, symbol }, i) => !used[i].has(symbol.name ?? name)).map(({ name }) => name),
      [],
    );
  }, "c++");

  const file = FILES[library.name];
  abiTest(`ffi/${library.name}: ${file} exports every symbol`, async () => {
    const { SYMBOLS } = await committed(library);
    Deno.dlopen(file, SYMBOLS as Record<string, Deno.ForeignFunction>).close();
  }, "c++");
}

abiTest("the C++ checkers find a wrong number, size, sign, class and overload", async () => {
  const functions = (await committedFunctions(opencvCore)).map((one): Listed => {
    const { parameters } = one.symbol;
    const wrong: Record<string, Partial<Deno.ForeignFunction>> = {
      Mat_release: { parameters: [] },
      Mat_create: { parameters: [...parameters.slice(0, -1), "i64"] },
      UMat_construct: { parameters: ["u64", "i32"] },
      ocl_convertFromBuffer: { parameters: [...parameters.slice(0, -1), "i32"] },
      UMat_getMat: { parameters: parameters.slice(1), result: "u64" },
      Context_ptr: { result: "void" },
      getNumThreads: { result: "u32" },
      Mat_copy: { name: "_ZN2cv3MatC1EOS0_" },
      Mat_copyTo: { name: "_ZNK2cv3Mat6copyToERKNS_12_OutputArrayERKNS_11_InputArrayE" },
      Mat_destruct: { name: "_ZN2cv4UMatD1Ev" },
    };
    return { ...one, symbol: { ...one.symbol, ...wrong[one.name] } as Deno.ForeignFunction };
  });
  assertEquals(
    await contradicted("x86_64-linux-gnu", opencvCore, functions),
    [
      "getNumThreads",
      "Mat_release",
      "Mat_create",
      "UMat_construct",
      "UMat_getMat",
      "ocl_convertFromBuffer",
      "Context_ptr",
    ].sort((a, b) => order(functions, a) - order(functions, b)),
  );
  const used = await manglings(opencvCore, functions);
  assertEquals(
    functions.filter(({ name, symbol }, i) => !used[i].has(symbol.name ?? name)).map(({ name }) => name),
    [
      "Mat_copy",
      "Mat_destruct",
      "Mat_copyTo",
    ].sort((a, b) => order(functions, a) - order(functions, b)),
  );
}, "c++");

abiTest("the C++ checkers find an object that is passed in one register as something else", async () => {
  const functions = (await committedFunctions(opencvImgproc)).filter(({ name }) => name === "resize").map((one) => ({
    ...one,
    symbol: { ...one.symbol, parameters: one.symbol.parameters.with(2, "i64") },
  }));
  for (const target of TARGETS) assertEquals(await contradicted(target, opencvImgproc, functions), ["resize"]);
}, "c++");

function order(functions: readonly Listed[], name: string): number {
  return functions.findIndex((one) => one.name === name);
}
