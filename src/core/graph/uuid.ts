/** A device's UUID as drivers' are kept here: 32 hexadecimal digits, without the dashes and the `GPU-` of nvidia-smi. */
export function plainUuid(text: string): string {
  return text.replace(/^GPU-/i, "").replaceAll("-", "").toLowerCase();
}
