/** A text as XML has it, which allows no control characters, not even escaped. */
export function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[\p{Cc}\p{Cs}]/gu, " ").replace(/[&<>"]/g, (letter) => names[letter]);
}
