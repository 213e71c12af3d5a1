import type { Import } from "./modules.ts";

/**
 * The circles of imports, largest first: groups of files that all lead to each other. A file that is in none is left out.
 */
export function circlesOf(imports: readonly Import[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of imports) next.set(from, [...next.get(from) ?? [], to]);

  // Tarjan's algorithm: a circle ends at the file from which all of its files were reached.
  const found = new Map<string, number>();
  const path: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    const own = found.size;
    found.set(file, own);
    path.push(file);
    let earliest = own;
    for (const to of next.get(file) ?? []) {
      if (!found.has(to)) earliest = Math.min(earliest, visit(to));
      else if (path.includes(to)) earliest = Math.min(earliest, found.get(to)!);
    }
    if (earliest === own) {
      const circle = path.splice(path.indexOf(file));
      if (circle.length > 1) circles.push(circle.sort());
    }
    return earliest;
  };
  for (const file of next.keys()) if (!found.has(file)) visit(file);
  return circles.sort((a, b) => b.length - a.length);
}
