import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import * as driver from "../../ffi/cuda_driver/mod.ts";
import * as runtime from "../../ffi/cuda_runtime/mod.ts";
import * as nvrtc from "../../ffi/nvrtc/mod.ts";
import { TARGETS } from "../../ffi/generate/clang.ts";
import { cuda } from "../../ffi/generate/lists/cuda.ts";
import { cudaDriver } from "../../ffi/generate/lists/cuda_driver.ts";
import { cudaRuntime } from "../../ffi/generate/lists/cuda_runtime.ts";
import { readMacros } from "../../ffi/generate/read/macros.ts";
import { STICKY } from "../../src/cuda/errors.ts";
import type { Library } from "../../ffi/generate/library.ts";
import { CUDA_12_FOLDER, cudaLibrary } from "../cuda_libraries.ts";
import { claims } from "./claims.ts";
import { compileHere, contradictedOn, knownTo } from "./checker.ts";
import { abiTest } from "./tools.ts";

type Table = Readonly<Record<string, Deno.ForeignFunction>>;

/** A test of an unpacked library, which is ignored where there is none. */
function libraryTest(file: string, what: string, symbols: Table, fn: (path: string, symbols: Table) => void): void {
  const path = cudaLibrary(file);
  Deno.test({
    name: `${file} ${what}${path === undefined ? ` (needs ${file})` : ""}`,
    ignore: path === undefined,
    fn: () => fn(path!, symbols),
  });
}

for (const [file, symbols] of [["libcudart.so.13", runtime.SYMBOLS], ["libnvrtc.so.13", nvrtc.SYMBOLS]] as const) {
  libraryTest(file, "exports every symbol, what is newer than 12.0 too", symbols, (path) => {
    const table = Object.entries(symbols as Table).map(([name, symbol]) => [name, { ...symbol, optional: false }]);
    Deno.dlopen(path, Object.fromEntries(table)).close();
  });
}

libraryTest("libcudart.so.12", "(12.0) lacks exactly what is optional", runtime.SYMBOLS, (path, symbols) => {
  const library = Deno.dlopen(path, symbols as Deno.ForeignLibraryInterface);
  for (const [name, { optional = false }] of Object.entries(symbols)) {
    assertEquals([name, library.symbols[name] === null], [name, optional]);
  }
  library.close();
});

/** CUDA 12.0's headers; those that they include from another package are 13's. */
function of12(library: Library): Library {
  return { ...library, folders: [`${CUDA_12_FOLDER}include`, ...cuda.folders] };
}

/** What has grown since: CUDA 12 reads the beginning. */
const GROWN = [
  "cudaResourceDesc",
  "cudaExternalMemoryHandleDesc",
  "cudaExternalMemoryBufferDesc",
  "cudaExternalMemoryMipmappedArrayDesc",
  "cudaExternalSemaphoreHandleDesc",
] as const;

/** What is of another size: of the first, room is made for any version and its beginning read. */
const SIZES = ["cudaDeviceProp", ...GROWN].map((name) => `sizeof(struct ${name})`);

abiTest(
  "what CUDA 12.0 has of constants and structs is as CUDA 13 has it",
  async () => {
    for (const target of TARGETS) {
      for (const library of [cudaRuntime, cudaDriver]) {
        const known = await knownTo(target, of12(library), await claims(library));
        assert(known.length > 400, `${known.length}`);
        assertEquals(await contradictedOn(target, of12(library), known), library === cudaRuntime ? SIZES : []);
      }
      const grown = GROWN.map((name) => ({ expression: `sizeof(struct ${name}) < ${runtime[name].size}`, value: 1n }));
      assertEquals(await contradictedOn(target, of12(cudaRuntime), grown), []);
    }
  },
  "cuda",
  "cuda 12",
);

abiTest("libcuda's symbols are none that a macro of cuda.h makes another of", async () => {
  const names = Object.keys(driver.SYMBOLS);
  for (const target of TARGETS) {
    const macros = await readMacros(cudaDriver, target);
    assertEquals(macros.filter(({ name }) => names.includes(name)), []);
    const renamed = macros.find(({ name }) => name === "cuMemAdvise");
    assertEquals(renamed?.text, "cuMemAdvise_v2");
  }
}, "cuda");

/** The text of a header of CUDA's. */
async function headerText(name: string): Promise<string> {
  const headers = await Promise.all(
    cuda.folders.map((folder) => Deno.readTextFile(`${folder}/${name}`).catch(() => "")),
  );
  return headers.find((header) => header !== "") ?? "";
}

/** In which version of CUDA (12020 is 12.2) each of libcuda's functions is new, by cudaTypedefs.h. */
async function introduced(): Promise<(symbol: string) => number> {
  const text = await headerText("cudaTypedefs.h");
  return (symbol) => {
    const [, name, variant = "1"] = symbol.match(/^(\w+?)(?:_v(\d))?$/)!;
    const versions = new Set([...text.matchAll(RegExp(`\\*PFN_${name}_v(\\d+)\\)`, "g"))].map(([, v]) => Number(v)));
    return [...versions].sort((a, b) => a - b)[Number(variant) - 1];
  };
}

abiTest("of libcuda's symbols what is newer than 12.0 is optional, and nothing else", async () => {
  const since = await introduced();
  assertEquals([since("cuInit"), since("cuMemAdvise_v2")], [2000, 12020]);
  for (const [name, { optional = false }] of Object.entries(driver.SYMBOLS as Table)) {
    assertEquals([name, optional], [name, since(name) > 12000]);
  }
}, "cuda");

abiTest("CUDA is given up after the codes of which the header says that the process is to be relaunched", async () => {
  const commented = /\/\*\*((?:(?!\*\/).)*)\*\/\s*cudaError\w+\s*=\s*(\d+)/gs;
  const comments = new Map([...(await headerText("driver_types.h")).matchAll(commented)].map(([, comment, code]) => {
    return [Number(code), comment.replace(/[\s*]+/g, " ")];
  }));
  const isFinal = (comment = "") => comment.includes("the process must be terminated and relaunched");
  assertEquals(
    [...comments].filter(([, comment]) => isFinal(comment)).map(([code]) => code),
    [...STICKY].sort((a, b) => a - b),
  );
  // Uncorrectable errors of memory (ECC) and of NVLink: of them it says no more than that they were detected.
  for (const code of [214, 220]) {
    assertStringIncludes(comments.get(code) ?? "", "error was detected during");
    assert(!STICKY.has(code));
  }
}, "cuda");

/** Functions of CUDA's prototypes that tell what they were given by value, and the lowest bits of what follows it. */
const TELLERS = `
#include <string.h>
#include <cuda_runtime_api.h>
#include <cuda.h>
cudaError_t cudaIpcOpenMemHandle(void **told, cudaIpcMemHandle_t handle, unsigned int flags) {
  memcpy(told, &handle, sizeof handle);
  return flags;
}
cudaError_t cudaMalloc3DArray(cudaArray_t *told, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                              unsigned int flags) {
  memcpy(told, &extent, sizeof extent);
  return flags;
}
cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **told, size_t shared, cudaStream_t stream) {
  memcpy(told, &grid, sizeof grid);
  memcpy((char *) told + sizeof grid, &block, sizeof block);
  return shared;
}
CUresult cuMemAdvise_v2(CUdeviceptr told, size_t count, CUmem_advise advice, CUmemLocation location) {
  memcpy((void *) told, &location, sizeof location);
  return advice;
}
`;

abiTest("a struct by value arrives whole, and so does what follows it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "samepage-abi-" });
  try {
    await Deno.writeTextFile(`${folder}/tellers.txt`, TELLERS);
    await compileHere(cudaRuntime, ["-shared", "-fPIC", "-o", `${folder}/tellers.so`, `${folder}/tellers.txt`]);
    const { cudaIpcOpenMemHandle, cudaMalloc3DArray, cudaLaunchKernel } = runtime.SYMBOLS;
    const symbols = { cudaIpcOpenMemHandle, cudaMalloc3DArray, cudaLaunchKernel };
    const library = Deno.dlopen(`${folder}/tellers.so`, {
      ...symbols,
      cuMemAdvise_v2: { ...driver.SYMBOLS.cuMemAdvise_v2, optional: false },
    });
    const call = library.symbols;
    const told = new Uint8Array(64);
    const wrote = (bytes: ArrayBuffer) => new Uint8Array(bytes).every((byte, i) => byte === told[i]);

    const handle = Uint8Array.from(told, (_, i) => 255 - i);
    assertEquals(call.cudaIpcOpenMemHandle(told, handle, 7), 7);
    assert(wrote(handle.buffer));

    const extent = BigUint64Array.of(3n, 2n ** 40n, 5n);
    assertEquals(call.cudaMalloc3DArray(told, null, extent, 9), 9);
    assert(wrote(extent.buffer));

    const both = Uint32Array.of(1, 2, 3, 0xffff_ffff, 5, 6);
    assertEquals(call.cudaLaunchKernel(0n, both.slice(0, 3), both.slice(3), told, 11n, 0n), 11);
    assert(wrote(both.buffer));

    const location = new ArrayBuffer(driver.CUmemLocation.size);
    const value = { type: driver.CU_MEM_LOCATION_TYPE_HOST_NUMA, id: -3 };
    driver.writeCUmemLocation(new DataView(location), 0, value);
    const pointer = Deno.UnsafePointer.value(Deno.UnsafePointer.of(told));
    assertEquals(call.cuMemAdvise_v2(pointer, 8n, driver.CU_MEM_ADVISE_SET_ACCESSED_BY, location), 5);
    assertEquals(driver.readCUmemLocation(new DataView(told.buffer), 0), value);
    library.close();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}, "cuda");
