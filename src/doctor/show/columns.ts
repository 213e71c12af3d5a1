export const WIDTH = 80;

/** A text of a driver without control characters, which a terminal would obey. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
}

function lengthOf(text: string): number {
  return [...text].length;
}

/** Lines of at most so many characters, broken at spaces; a longer word is cut. */
export function wrap(text: string, width: number = WIDTH): string[] {
  const words = printable(text).split(/\s+/).filter((word) => word !== "").flatMap((word) => cut(word, width));
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.length - 1;
    const longer = `${lines[last]} ${word}`;
    if (last >= 0 && lengthOf(longer) <= width) lines[last] = longer;
    else lines.push(word);
  }
  return lines;
}

function cut(word: string, width: number): string[] {
  const letters = [...word];
  const parts = Array.from({ length: Math.ceil(letters.length / width) });
  return parts.map((_, i) => letters.slice(i * width, (i + 1) * width).join(""));
}

/** The last cell fills the line and wraps below itself, on a new line if a cell before it is too long. */
export function row(widths: readonly number[], ...cells: readonly string[]): string[] {
  const indent = widths.reduce((sum, width) => sum + width, 0);
  const start = widths.map((width, i) => printable(cells[i]).padEnd(width)).join("");
  const below = wrap(cells[widths.length] ?? "", WIDTH - indent).map((line) => " ".repeat(indent) + line);
  if (lengthOf(start) <= indent && below.length > 0) below[0] = start + below[0].slice(indent);
  else below.unshift(...wrap(start));
  return below.map((line) => line.trimEnd());
}

/** A table, split into as many columns as fit. The first column, the names of the rows, is repeated. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const columns = head.map((name, i) => 2 + Math.max(lengthOf(name), ...rows.map((cells) => lengthOf(cells[i]))));
  const lines: string[] = [];
  for (let from = 1; from < head.length;) {
    let to = from + 1;
    for (let width = columns[0] + columns[from]; to < head.length; to++) {
      width += columns[to];
      if (width > WIDTH) break;
    }
    const line = (cells: readonly string[]) =>
      [0, ...Array.from({ length: to - from }, (_, i) => from + i)]
        .map((i) => cells[i].padEnd(columns[i])).join("").trimEnd();
    if (lines.length > 0) lines.push("");
    lines.push(line(head), ...rows.map(line));
    from = to;
  }
  return lines;
}
