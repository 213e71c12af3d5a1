const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** `"6.3 GiB"`. */
export function bytes(count: number): string {
  const power = Math.max(0, Math.min(UNITS.length - 1, Math.floor(Math.log2(count) / 10)));
  const value = count / 1024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${UNITS[power]}`;
}
