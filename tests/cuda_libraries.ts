const FOLDER = new URL("../.cuda/nvidia/cu13/lib/", import.meta.url);

/**
 * The path of a library of CUDA that `deno task setup test` has unpacked, by its file's name: `libcudart.so.13`,
 * `libnvrtc.so.13`. It is undefined where there is none. There is no libcuda among them: that is part of the driver.
 */
export function cudaLibrary(name: string): string | undefined {
  const { pathname } = new URL(name, FOLDER);
  try {
    return Deno.statSync(pathname).isFile ? pathname : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
