export function version(number: number): string {
  return `${Math.floor(number / 1000)}.${Math.floor(number % 1000 / 10)}`;
}

/** Why a driver cannot use a library: it takes its own major version and older ones. Without a driver (0), any will do. */
export function tooNewForDriver(library: number, driver: number): string | undefined {
  if (driver === 0 || Math.floor(library / 1000) <= Math.floor(driver / 1000)) return undefined;
  return `it is of CUDA ${version(library)}, and the driver supports ${version(driver)}.`;
}
