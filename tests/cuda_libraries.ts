const FOLDER = new URL("../.cuda/nvidia/", import.meta.url);

/** Where `deno task setup test` unpacks CUDA's libraries. */
export const CUDA_FOLDER: string = new URL("cu13/lib/", FOLDER).pathname;

/** Where it unpacks CUDA 12.0's runtime: headers and libcudart. */
export const CUDA_12_FOLDER: string = new URL("cuda_runtime/", FOLDER).pathname;

/**
 * The path of a library of CUDA that `deno task setup test` has unpacked, by its file's name: `libcudart.so.13`,
 * `libcudart.so.12`, `libnvrtc.so.13`. It is undefined if no file is found. There is no libcuda among them: that is part
 * of the driver.
 */
export function cudaLibrary(name: string): string | undefined {
  return [`${CUDA_FOLDER}${name}`, `${CUDA_12_FOLDER}lib/${name}`].find(isFile);
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The libraries that need no driver, by the variables that name them to samepage. */
const VARIABLES = { SAMEPAGE_LIB_CUDART: "libcudart.so.13", SAMEPAGE_LIB_NVRTC: "libnvrtc.so.13" };

/** From now on samepage opens those that were unpacked here, unless variables name others: the system may have none. */
export function useCudaLibraries(): void {
  for (const [variable, name] of Object.entries(VARIABLES)) {
    const path = cudaLibrary(name);
    if (path !== undefined && Deno.env.get(variable) === undefined) Deno.env.set(variable, path);
  }
}
