/** A version of CUDA in words: `13.0` for 13000. */
export function version(number: number): string {
  return `${Math.floor(number / 1000)}.${Math.floor(number % 1000 / 10)}`;
}

/**
 * Why a library of CUDA's is of no use with a driver; undefined where it is. A driver takes what is of its own major version,
 * and of older ones. Where there is none (0), no other library is of more use.
 */
export function tooNewForDriver(library: number, driver: number): string | undefined {
  if (driver === 0 || Math.floor(library / 1000) <= Math.floor(driver / 1000)) return undefined;
  return `it is of CUDA ${version(library)}, and the driver supports ${version(driver)}.`;
}
