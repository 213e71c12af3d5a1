/**
 * Native objects of CUDA's, counted where they are made and given back, whatever the ledger says. Importing this taps the
 * libraries: it has to come before whatever opens one.
 *
 * @module
 */
import { setTap } from "../../src/core/native/library.ts";
import { useCudaLibraries } from "../cuda_libraries.ts";
import { tapped } from "./tap.ts";

/** What makes each kind of object, and what gives it back. */
const KINDS: { readonly [kind: string]: { readonly made: readonly string[]; readonly givenBack: readonly string[] } } =
  {
    "device memory": {
      made: [
        "cudaMalloc",
        "cudaMallocPitch",
        "cudaMallocManaged",
        "cudaMallocAsync",
        "cudaMallocFromPoolAsync",
        "cudaExternalMemoryGetMappedBuffer",
      ],
      givenBack: ["cudaFree", "cudaFreeAsync"],
    },
    "pinned memory": { made: ["cudaHostAlloc", "cudaMallocHost"], givenBack: ["cudaFreeHost"] },
    "registered memory": { made: ["cudaHostRegister"], givenBack: ["cudaHostUnregister"] },
    "opened memory": { made: ["cudaIpcOpenMemHandle"], givenBack: ["cudaIpcCloseMemHandle"] },
    "external memory": { made: ["cudaImportExternalMemory"], givenBack: ["cudaDestroyExternalMemory"] },
    "external semaphores": { made: ["cudaImportExternalSemaphore"], givenBack: ["cudaDestroyExternalSemaphore"] },
    "streams": {
      made: ["cudaStreamCreateWithPriority", "cudaStreamCreateWithFlags"],
      givenBack: ["cudaStreamDestroy"],
    },
    "events": { made: ["cudaEventCreateWithFlags", "cudaIpcOpenEventHandle"], givenBack: ["cudaEventDestroy"] },
    "pools": { made: ["cudaMemPoolCreate"], givenBack: ["cudaMemPoolDestroy"] },
    "arrays": { made: ["cudaMalloc3DArray"], givenBack: ["cudaFreeArray"] },
    "external arrays": { made: ["cudaExternalMemoryGetMappedMipmappedArray"], givenBack: ["cudaFreeMipmappedArray"] },
    "textures": { made: ["cudaCreateTextureObject"], givenBack: ["cudaDestroyTextureObject"] },
    "surfaces": { made: ["cudaCreateSurfaceObject"], givenBack: ["cudaDestroySurfaceObject"] },
    "libraries": { made: ["cudaLibraryLoadData"], givenBack: ["cudaLibraryUnload"] },
    "primary contexts": { made: ["cuDevicePrimaryCtxRetain"], givenBack: ["cuDevicePrimaryCtxRelease_v2"] },
    "virtual memory": {
      made: ["cuMemCreate", "cuMemImportFromShareableHandle"],
      givenBack: ["cuMemRelease"],
    },
    "addresses": { made: ["cuMemAddressReserve"], givenBack: ["cuMemAddressFree"] },
    "mappings": { made: ["cuMemMap"], givenBack: ["cuMemUnmap"] },
    "compilations": { made: ["nvrtcCreateProgram"], givenBack: ["nvrtcDestroyProgram"] },
  };

const counts = new Map<string, number>();

/** How many of each kind there are now; kinds without an object are left out. */
export function natives(): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].filter(([, count]) => count !== 0).sort());
}

// deno-lint-ignore no-explicit-any -- a native function of any signature
type Native = (...args: any[]) => number;

function counting(real: Native, kind: string, by: number): Native {
  return (...args) => {
    const code = real(...args);
    if (code === 0) counts.set(kind, (counts.get(kind) ?? 0) + by);
    return code;
  };
}

/** The functions themselves, those that make something and give it back counted. */
function counted(functions: Record<string, unknown>): Record<string, unknown> {
  const all = { ...functions };
  for (const [kind, { made, givenBack }] of Object.entries(KINDS)) {
    for (const [names, by] of [[made, 1], [givenBack, -1]] as const) {
      for (const name of names) {
        if (typeof all[name] === "function") all[name] = counting(all[name] as Native, kind, by);
      }
    }
  }
  return all;
}

// What is made to fail does not come here, but for releases, which are done.
setTap((api, functions) => tapped(api, counted(functions)));
useCudaLibraries();
